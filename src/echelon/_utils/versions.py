"""Versions of installed packages."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version


def package_version(name: str) -> str | None:
    """Version of a package; None where it is not installed or runs from its source.

    Examples
    --------
    >>> package_version("no-such-package") is None
    True
    """
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def package_versions(names: Iterable[str]) -> dict[str, str]:
    """Versions of those packages that are installed.

    Examples
    --------
    >>> list(package_versions(["numpy", "no-such-package"]))
    ['numpy']
    """
    found = ((name, package_version(name)) for name in names)
    return {name: number for name, number in found if number is not None}

"""Other packages: what is missing, and which versions are there."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version


def require_extra(use: str, extra: str, *packages: str) -> None:
    """Say in one sentence what to install where a package is missing.

    Examples
    --------
    >>> require_extra("Tables need", "cli", "no_such_package")
    Traceback (most recent call last):
    ...
    ModuleNotFoundError: Tables need no_such_package; install it with the cli extra: \
pip install 'echelon[cli]'.
    """
    for name in packages:
        try:
            import_module(name)
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"{use} {name}; install it with the {extra} extra: pip install 'echelon[{extra}]'.",
                name=name,
            ) from error


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

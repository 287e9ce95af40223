"""Packages that come with an extra, asked for where they are used."""

from __future__ import annotations

from importlib import import_module


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

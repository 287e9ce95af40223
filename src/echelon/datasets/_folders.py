"""Where benchmark files are looked for, and what is said when they are not there."""

from __future__ import annotations

import os
from pathlib import Path

from .._utils.files import cache_folder


def data_folders(data_home: str | os.PathLike[str] | None = None) -> list[Path]:
    """Folders to look in, the one that downloads are written to last.

    `data_home` alone if it is given, else ``$ECHELON_DATA`` (if set) and the user's cache.
    """
    if data_home is not None:
        return [Path(data_home).expanduser()]
    shared = os.environ.get("ECHELON_DATA")
    return [*([Path(shared).expanduser()] if shared else []), cache_folder()]


def find_file(file: str, folders: list[Path]) -> Path | None:
    """First place where a file exists."""
    return next((folder / file for folder in folders if (folder / file).is_file()), None)


def where_to_put(file: str, folders: list[Path]) -> str:
    """Clause that says where a missing file belongs."""
    places = " or ".join(str(folder / file) for folder in folders)
    return f"put the table at {places}, or set ECHELON_DATA to the folder that holds {file}"

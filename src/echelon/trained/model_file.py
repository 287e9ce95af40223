"""The file of a model: a zip archive with a card, estimators and their checksums.

``card.json`` says what the model is, ``model.skops`` holds fitted estimators without pickle, and
``checksums.json`` the SHA-256 of both. The checksums find damage and careless changes; they do not
say who wrote the file. What keeps a file from running code of its own is that only listed types are
built from it, by names that outlive the modules they are in, see `echelon.trained.trust`.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._utils.files import write_whole
from .._utils.packages import require_extra
from .trust import UnknownTypeError, find_types, is_trusted, name_types

KIND = "echelon model"
VERSION = 2
CARD, ESTIMATORS, CHECKSUMS = "card.json", "model.skops", "checksums.json"
_SCHEMA = "schema.json"  # of skops, inside the estimators
# A member of files of the first format, which are refused by their card.
_FORMER = "arrays.npz"

# What an archive may grow to while it is read: a file that claims more is a trap.
_MOST_GROWTH = 100
_ALWAYS_ALLOWED = 2**26
_LARGEST_CARD = 2**26


class ModelFileError(ValueError):
    """A file that is refused as a model; its text is one whole sentence for the user."""


def write_model_file(path: Path, card: dict[str, Any], estimators: Any) -> None:
    """Write a model file by replacing it in one step."""
    members = {
        CARD: json.dumps(
            {"kind": KIND, "format": VERSION, **card}, indent=2, ensure_ascii=False, allow_nan=False
        ).encode("utf-8"),
        ESTIMATORS: dump_estimators(estimators),
    }
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}
    members[CHECKSUMS] = json.dumps(sums, indent=2).encode("utf-8")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    write_whole(path, buffer.getvalue())


def dump_estimators(estimators: Any) -> bytes:
    """Estimators as bytes, with the types of this package by their stable names."""
    require_extra("Model files need", "cli", "skops")
    import skops.io

    packed = skops.io.dumps(estimators)
    try:
        _checked_types(packed)
    except UnknownTypeError as unknown:
        raise ModelFileError(
            f"The model cannot be saved, because it holds {unknown}, a type that would not be "
            "loaded again."
        ) from None
    compressed = _with_schema(packed, name_types, zipfile.ZIP_DEFLATED)
    # So many equal numbers that the archive would look like a trap are left as they are.
    return _with_schema(packed, name_types) if _too_large(compressed) else compressed


def _checked_types(packed: bytes) -> list[str]:
    """The types in a dump that skops does not know, if all are what models here are made of."""
    import skops.io

    types: list[str] = skops.io.get_untrusted_types(data=packed)
    for name in types:
        if not is_trusted(name):
            raise UnknownTypeError(name)
    return types


def _with_schema(
    packed: bytes, change: Callable[[Any], None], compression: int = zipfile.ZIP_STORED
) -> bytes:
    """A dump of skops whose schema, which names the types, was changed in place."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(packed)) as old,
        zipfile.ZipFile(buffer, "w", compression, compresslevel=6) as new,
    ):
        for entry in old.infolist():
            content = old.read(entry)
            if entry.filename == _SCHEMA:
                schema = json.loads(content)
                change(schema)
                content = json.dumps(schema).encode("utf-8")
            new.writestr(entry.filename, content)
    return buffer.getvalue()


def read_model_file(path: Path) -> tuple[dict[str, Any], bytes]:
    """The card of a model file, checked, and its estimators, which are still bytes."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = _members(path, archive)
    except FileNotFoundError:
        raise ModelFileError(f"There is no model file {path}.") from None
    except IsADirectoryError:
        raise ModelFileError(f"{path} is a folder, not a model file.") from None
    except zipfile.BadZipFile:
        raise ModelFileError(_not_an_archive(path)) from None
    except (OSError, EOFError, NotImplementedError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error).rstrip(".")
        raise ModelFileError(f"{path} cannot be read as a model file: {reason}.") from None
    _check_sums(path, members)
    card = _read_json(path, CARD, members[CARD])
    _check_kind(path, card)
    return card, members[ESTIMATORS]


def _members(path: Path, archive: zipfile.ZipFile) -> dict[str, bytes]:
    entries = archive.infolist()
    names = [entry.filename for entry in entries]
    lacking = [name for name in (CARD, ESTIMATORS, CHECKSUMS) if name not in names]
    if lacking:
        raise ModelFileError(
            f"{path} is not a model file of echelon: it is an archive without {lacking[0]}."
        )
    extra = sorted(set(names) - {CARD, ESTIMATORS, CHECKSUMS, _FORMER})
    if extra or len(names) > len(set(names)):
        found = repr(extra[0]) if extra else "one of its members twice"
        raise ModelFileError(
            f"{path} is refused, because it holds {found} besides what belongs in a model file."
        )
    for entry in entries:
        # Members are stored as they are, so that none can grow while it is read.
        if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
            raise ModelFileError(
                f"{path} is refused, because its member {entry.filename} is compressed, which "
                "echelon never does."
            )
        if entry.filename in (CARD, CHECKSUMS) and entry.file_size > _LARGEST_CARD:
            raise ModelFileError(f"{path} is refused, because its {entry.filename} is too large.")
    return {name: archive.read(name) for name in names}


def _not_an_archive(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            start = file.read(4)
    except OSError as error:
        return f"{path} cannot be read as a model file: {error.strerror}."
    if start[:2] == b"PK":
        return f"{path} is a damaged or truncated model file; copy or make it again."
    if start[:1] == b"\x80":
        return (
            f"{path} is a pickle, which could run any code when loaded; echelon loads only the "
            "files that it writes itself."
        )
    return f"{path} is not a model file of echelon."


def _check_sums(path: Path, members: dict[str, bytes]) -> None:
    sums = _read_json(path, CHECKSUMS, members[CHECKSUMS])
    for name in members.keys() - {CHECKSUMS}:
        if sums.get(name) != hashlib.sha256(members[name]).hexdigest():
            raise ModelFileError(
                f"{path} is refused, because its {name} was altered after the file was written."
            )


def _read_json(path: Path, name: str, content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ModelFileError(f"{path} is refused, because its {name} cannot be read.")
    return found


def _check_kind(path: Path, card: dict[str, Any]) -> None:
    version = card.get("format")
    if card.get("kind") != KIND or not isinstance(version, int):
        raise ModelFileError(f"{path} is not a model file of echelon: its card says otherwise.")
    if version > VERSION:
        raise ModelFileError(
            f"{path} has the format {version}, which is newer than this echelon's {VERSION}; "
            "update echelon to load it."
        )
    if version < VERSION:
        raise ModelFileError(
            f"{path} has the format {version} of an earlier echelon, which this one cannot read; "
            "train the model again and save it."
        )


def load_estimators(path: Path, packed: bytes) -> Any:
    """The estimators of a model file, if they are made of trusted types alone."""
    require_extra("Model files need", "cli", "skops")
    import skops.io

    try:
        if _too_large(packed):
            raise ModelFileError(
                f"{path} is refused, because its estimators would grow to more than "
                f"{_MOST_GROWTH} times its size when read."
            )
        packed = _with_schema(packed, find_types)
        return skops.io.loads(packed, trusted=_checked_types(packed))
    except ModelFileError:
        raise
    except UnknownTypeError as unknown:
        raise ModelFileError(
            f"{path} is refused, because it holds {unknown}, a type that no model of echelon is "
            "made of."
        ) from None
    except Exception as error:
        # The bytes are whatever a stranger wrote, and skops says in many ways that they are wrong.
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ModelFileError(
            f"The model in {path} cannot be built with the packages installed here: "
            f"{reason.rstrip('.')}."
        ) from error


def _too_large(packed: bytes) -> bool:
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        grown = sum(entry.file_size for entry in archive.infolist())
    return grown > max(_ALWAYS_ALLOWED, _MOST_GROWTH * len(packed))

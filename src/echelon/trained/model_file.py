"""The file of a model: a zip archive with a card, estimators and their checksums.

``card.json`` says what the model is; ``estimators.json`` and ``numbers.bin`` hold fitted
estimators as a tree of nodes and the numbers of its arrays, see `echelon.trained.nodes`;
``checksums.json`` has the SHA-256 of these three, and ``signature.json``, if somebody signed the
file, a signature of that. The checksums find damage and careless changes; they do not say who wrote
the file, which a signature does. What keeps any file from running code of its own is that only
listed types are built from it, from values that were checked: see `echelon.trained.trust`.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._utils.files import write_whole
from .._utils.state import StateError
from .trust import UnknownTypeError

KIND = "echelon model"
VERSION = 3
CARD, TREE, NUMBERS, CHECKSUMS = "card.json", "estimators.json", "numbers.bin", "checksums.json"
SIGNATURE = "signature.json"
_CONTENT = (CARD, TREE, NUMBERS)
# Members of the two formats before this one.
_FORMER = {"model.skops", "arrays.npz"}

# What a member may grow to while it is read: a file that claims more is a trap.
_MOST_GROWTH = 50
_ALWAYS_ALLOWED = 2**24
# The same model is the same bytes whenever it is saved.
_TIME = (1980, 1, 1, 0, 0, 0)


class ModelFileError(ValueError):
    """A file that is refused as a model; its text is one whole sentence for the user."""


def write_model_file(
    path: Path,
    card: dict[str, Any],
    estimators: tuple[bytes, bytes],
    key: str | Path | None = None,
) -> None:
    """Write a model file by replacing it in one step, signed if there is a key."""
    tree, numbers = estimators
    whole_card = {"kind": KIND, "format": VERSION, **card}
    members = {
        CARD: json.dumps(whole_card, indent=2, ensure_ascii=False, allow_nan=False).encode("utf-8"),
        TREE: tree,
        NUMBERS: numbers,
    }
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}
    members[CHECKSUMS] = json.dumps(sums, indent=2).encode("utf-8")
    if key is not None:
        from .signing import sign

        members[SIGNATURE] = json.dumps(sign(members[CHECKSUMS], key), indent=2).encode("utf-8")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            _add(archive, name, content)
    write_whole(path, buffer.getvalue())


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, _TIME)
    entry.external_attr = 0o644 << 16
    entry.compress_type = zipfile.ZIP_STORED
    if name in (TREE, NUMBERS):
        trial = io.BytesIO()
        with zipfile.ZipFile(trial, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as other:
            other.writestr(name, content)
            packed = other.infolist()[0].compress_size
        # So many equal numbers that the member would look like a trap are left as they are.
        if not _too_large(len(content), packed):
            entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, content, compresslevel=6)


def _too_large(size: int, packed: int) -> bool:
    return size > max(_ALWAYS_ALLOWED, _MOST_GROWTH * packed)


def dump_estimators(estimators: Any) -> tuple[bytes, bytes]:
    """Estimators as a tree of nodes and the numbers of its arrays."""
    from .nodes import NotSaveableError, Packer

    packer = Packer()
    try:
        tree = packer.node(estimators)
    except (UnknownTypeError, NotSaveableError) as unknown:
        raise ModelFileError(
            f"The model cannot be saved, because it holds {unknown}, a type that would not be "
            "loaded again."
        ) from None
    except StateError as error:
        raise ModelFileError(f"The model cannot be saved, because {error}.") from None
    text = json.dumps(tree, separators=(",", ":"), allow_nan=False)
    return text.encode("ascii"), packer.numbers


def read_model_file(
    path: Path, trusted_keys: Sequence[str | Path] | None = None
) -> tuple[dict[str, Any], tuple[bytes, bytes]]:
    """The card of a model file, checked, and its estimators, which are still bytes.

    With `trusted_keys`, the file must be signed by one of them.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = _members(path, archive)
    except FileNotFoundError:
        raise ModelFileError(f"There is no model file {path}.") from None
    except IsADirectoryError:
        raise ModelFileError(f"{path} is a folder, not a model file.") from None
    except (zipfile.BadZipFile, zlib.error):
        raise ModelFileError(_not_an_archive(path)) from None
    except (OSError, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        reason = getattr(error, "strerror", None) or str(error).rstrip(".")
        raise ModelFileError(f"{path} cannot be read as a model file: {reason}.") from None
    if trusted_keys is not None:
        _require_signature(path, members, trusted_keys)
    _check_sums(path, members)
    card = _read_object(path, CARD, members[CARD])
    _check_kind(path, card)
    return card, (members[TREE], members[NUMBERS])


def _members(path: Path, archive: zipfile.ZipFile) -> dict[str, bytes]:
    entries = archive.infolist()
    names = [entry.filename for entry in entries]
    if _FORMER & set(names):
        raise ModelFileError(
            f"{path} was written by an earlier echelon, in a format that this one cannot check and "
            "does not read; train the model again and save it."
        )
    lacking = [name for name in (*_CONTENT, CHECKSUMS) if name not in names]
    if lacking:
        raise ModelFileError(
            f"{path} is not a model file of echelon: it is an archive without {lacking[0]}."
        )
    extra = sorted(set(names) - {*_CONTENT, CHECKSUMS, SIGNATURE})
    if extra or len(names) > len(set(names)):
        found = repr(extra[0]) if extra else "one of its members twice"
        raise ModelFileError(
            f"{path} is refused, because it holds {found} besides what belongs in a model file."
        )
    for entry in entries:
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ModelFileError(
                f"{path} is refused, because its {entry.filename} is compressed in a way that "
                "echelon never does."
            )
        if _too_large(entry.file_size, entry.compress_size):
            raise ModelFileError(
                f"{path} is refused, because its {entry.filename} would grow to more than "
                f"{_MOST_GROWTH} times its size when read."
            )
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


def _require_signature(
    path: Path, members: dict[str, bytes], trusted_keys: Sequence[str | Path]
) -> None:
    from .signing import is_signed

    if SIGNATURE not in members:
        raise ModelFileError(f"{path} is refused, because it is not signed.")
    stored = _read_object(path, SIGNATURE, members[SIGNATURE])
    if not is_signed(members[CHECKSUMS], stored, trusted_keys):
        raise ModelFileError(
            f"{path} is refused, because none of the trusted keys has signed it as it is."
        )


def _check_sums(path: Path, members: dict[str, bytes]) -> None:
    sums = _read_object(path, CHECKSUMS, members[CHECKSUMS])
    for name in _CONTENT:
        if sums.get(name) != hashlib.sha256(members[name]).hexdigest():
            raise ModelFileError(
                f"{path} is refused, because its {name} was altered after the file was written."
            )


def _read_object(path: Path, name: str, content: bytes) -> dict[str, Any]:
    found = _read_json(content)
    if not isinstance(found, dict):
        raise ModelFileError(f"{path} is refused, because its {name} cannot be read.")
    return found


def _read_json(content: bytes) -> Any:
    """What a member says; None where it cannot be read."""
    try:
        return json.loads(content, object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an entry stands there twice")
    return found


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")


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


def load_estimators(refusal: str, tree: bytes, numbers: bytes) -> Any:
    """The estimators of a model file, if they are made of trusted types alone and are whole.

    `refusal` begins the sentence of an error: "model.echelon is refused".
    """
    from .grammar import check_tree
    from .nodes import Unpacker

    found = _read_json(tree)
    if found is None:
        raise ModelFileError(f"{refusal}, because its {TREE} cannot be read.")
    try:
        check_tree(found)
        unpacker = Unpacker(numbers)
        estimators = unpacker.value(found)
        unpacker.finish()
        return estimators
    except UnknownTypeError as unknown:
        raise ModelFileError(
            f"{refusal}, because it holds {unknown}, a type that no model of echelon is made of."
        ) from None
    except StateError as error:
        raise ModelFileError(f"{refusal}, because {one_line(error)}.") from None
    except ModuleNotFoundError as error:
        raise ModelFileError(
            f"{refusal}, because it needs {error.name}, which is not installed here."
        ) from error
    except Exception as error:
        # The values are whatever a stranger wrote, and other packages say in many ways that they
        # are wrong.
        raise ModelFileError(
            f"{refusal}, because no model can be built from it: {one_line(error)}."
        ) from error


def one_line(error: Exception) -> str:
    """What an error of another package says, for a place inside a sentence."""
    reason = " ".join(str(error).split()).rstrip(".")
    return (reason if len(reason) <= 300 else f"{reason[:300]}…") or type(error).__name__

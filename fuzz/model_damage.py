"""Ways to spoil a model file: bytes, the archive, the card, the tree of nodes, the numbers.

Every function takes the file and a generator of random numbers. Those of `DAMAGE` leave the
checksums as they were, as an accident does; those of `CRAFT` make them anew, as somebody does who
knows the format.
"""

from __future__ import annotations

import hashlib
import io
import json
import struct
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

Spoiler = Callable[[bytes, np.random.Generator], bytes]

CARD, TREE, NUMBERS = "card.json", "estimators.json", "numbers.bin"
SUMS, SIGNATURE = "checksums.json", "signature.json"
_TYPES = (
    "os.system",
    "builtins.eval",
    "subprocess.Popen",
    "lightgbm.basic.Booster",
    "lightgbm.Booster",
    "sklearn.feature_extraction.text.CountVectorizer",
    "sklearn.preprocessing.FunctionTransformer",
    "echelon.trained.TrainedModel",
    "echelon.train",
    "numpy.load",
    "sklearn.tree.Tree",
    "sklearn.ensemble.TreePredictor",
    "sklearn.svm.SVC",
    "sklearn.pipeline.Pipeline",
    "echelon.tree.OrdinalTree",
    "echelon.rules.Interval",
    "echelon.SVOR",
    "echelon.ORTree",
    "lightgbm.LGBMClassifier",
    "lightgbm.LGBMRegressor",
)
_LEAVES: tuple[Any, ...] = (
    -1,
    0,
    1,
    255,
    2**31 - 1,
    -(2**31),
    2**63,
    10**30,
    0.5,
    -1e308,
    1e-320,
    None,
    True,
    "",
    "/dev/zero",
    "../../../etc/passwd",
    "__import__('os').system('true')",
    "numpy",
    "é" * 300,
    [],
    {},
    {"is": "float", "value": "nan"},
    {"is": "float", "value": "-inf"},
    {"is": "tuple", "items": []},
    {"is": "class", "name": "float"},
    {"is": "slice", "items": [None, 10**9, None]},
)
_NAMES = (
    "predict",
    "transform",
    "__class__",
    "__dict__",
    "_in_fit",
    "_impl",
    "_tables",
    "rules_",
    "table",
    "n_jobs",
    "memory",
    "classes_",
    "n_features_in_",
    "check_state",
    "x y",
    "",
)
_KINDS = (
    "float",
    "tuple",
    "dict",
    "array",
    "texts",
    "objects",
    "scalar",
    "text",
    "dtype",
    "class",
    "random",
    "sparse",
    "object",
    "pickle",
    "function",
    5,
    None,
)
_NUMBERS = (-1, 0, 1, 2, 127, 255, 4096, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63))
_FLOATS = (np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-320, 0.0, 1e9)


def members(content: bytes) -> dict[str, bytes]:
    """The members of an archive by name."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def archive_of(found: dict[str, bytes], *more: tuple[Any, bytes], compress: int = 0) -> bytes:
    """An archive of members, and of some more with names or entries of their own."""
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", compress) as archive:
        warnings.simplefilter("ignore")
        for name, value in [*found.items(), *more]:
            archive.writestr(name, value)
    return buffer.getvalue()


def with_sums(found: dict[str, bytes]) -> dict[str, bytes]:
    """Members with checksums that fit them."""
    kept = {name: value for name, value in found.items() if name not in (SUMS, SIGNATURE)}
    sums = {name: hashlib.sha256(value).hexdigest() for name, value in kept.items()}
    return {**found, SUMS: json.dumps(sums).encode()}


# --------------------------------------------------------------------------------- bytes, archive


def flip(content: bytes, rng: np.random.Generator) -> bytes:
    """One to eight bytes are others."""
    spoilt = bytearray(content)
    for place in rng.integers(len(spoilt), size=rng.integers(1, 9)):
        spoilt[place] ^= int(rng.integers(1, 256))
    return bytes(spoilt)


def cut(content: bytes, rng: np.random.Generator) -> bytes:
    """The end, or a piece in the middle, is lost, or something follows."""
    place, length = int(rng.integers(len(content))), int(rng.integers(1, 200))
    return (
        content[:place],
        content[:place] + content[place + length :],
        content[:place] + bytes(length) + content[place:],
        content + rng.bytes(length),
    )[rng.integers(4)]


def members_lost(content: bytes, rng: np.random.Generator) -> bytes:
    """A member is altered, lost or exchanged, and the checksums are the old ones."""
    found = members(content)
    name = str(rng.choice(list(found)))
    how = rng.integers(3)
    if how == 0:
        del found[name]
    elif how == 1:
        found[name] = flip(found[name], rng) if found[name] else b"x"
    else:
        found[name] = found[str(rng.choice(list(found)))]
    return archive_of(found)


def odd_archive(content: bytes, rng: np.random.Generator) -> bytes:
    """Names, entries and sizes that a zip archive can have and a model file has not."""
    found = with_sums(members(content))
    name = str(rng.choice(list(found)))
    link = zipfile.ZipInfo(name)
    link.external_attr = 0o120777 << 16
    oddities: list[Callable[[], bytes]] = [
        lambda: archive_of(found, (name, found[name])),
        lambda: archive_of(found, (name, b"something else")),
        lambda: archive_of(found, ("../../evil.py", b"raise SystemExit")),
        lambda: archive_of(found, ("/etc/evil", b"")),
        lambda: archive_of({n: v for n, v in found.items() if n != name}, (link, b"/etc/passwd")),
        lambda: archive_of({**found, name: bytes(2**26)}, compress=zipfile.ZIP_DEFLATED),
        lambda: archive_of(found, compress=zipfile.ZIP_BZIP2),
        lambda: archive_of(found, compress=zipfile.ZIP_LZMA),
        lambda: _patched(archive_of(found), b"PK\x01\x02", 24, struct.pack("<I", 2**32 - 2), rng),
        lambda: _patched(archive_of(found), b"PK\x01\x02", 20, struct.pack("<I", 2**32 - 2), rng),
        lambda: _patched(archive_of(found), b"PK\x01\x02", 8, b"\x01\x00", rng),
        lambda: _patched(archive_of(found), b"PK\x01\x02", 10, b"\x63\x00", rng),
        lambda: _patched(archive_of(found), b"PK\x01\x02", 42, struct.pack("<I", 2**31), rng),
        lambda: archive_of({**found, TREE: b"[" * 10**6}, compress=zipfile.ZIP_DEFLATED),
        lambda: archive_of(with_sums({**found, TREE: b'{"a":' * 10**5}), compress=8),
        lambda: archive_of({"readme.txt": b"hello"}),
        lambda: archive_of({**found, "model.skops": b"PK"}),
    ]
    return oddities[rng.integers(len(oddities))]()


def _patched(
    content: bytes, mark: bytes, offset: int, value: bytes, rng: np.random.Generator
) -> bytes:
    places = [i for i in range(len(content)) if content.startswith(mark, i)]
    place = places[rng.integers(len(places))] + offset
    return content[:place] + value + content[place + len(value) :]


# ------------------------------------------------------------------------------------- what it says


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every container of a tree with each of its keys."""
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        keys = (
            part if isinstance(part, dict) else range(len(part)) if isinstance(part, list) else ()
        )
        for key in keys:
            yield part, key
            waiting.append(part[key])


def _nodes(tree: Any, *kinds: str) -> list[dict[str, Any]]:
    found = [tree, *(holder[key] for holder, key in _places(tree))]
    return [n for n in found if isinstance(n, dict) and n.get("is") in kinds]


def _states(tree: Any) -> list[dict[str, Any]]:
    found = [node.get("state") for node in _nodes(tree, "object")]
    return [state for state in found if isinstance(state, dict) and state]


def _pick(rng: np.random.Generator, choices: Any) -> Any:
    if not len(choices):
        raise LookupError("There is nothing of this kind to spoil.")
    return choices[int(rng.integers(len(choices)))]


def _new_leaf(tree: Any, rng: np.random.Generator) -> None:
    places = list(_places(tree))
    holder, key = _pick(rng, places)
    other, other_key = _pick(rng, places)
    graft = json.loads(json.dumps(other[other_key]))
    holder[key] = graft if rng.random() < 0.3 else _pick(rng, _LEAVES)


def _new_scalar(tree: Any, rng: np.random.Generator) -> None:
    places = [(h, k) for h, k in _places(tree) if not isinstance(h[k], dict | list) and k != "is"]
    holder, key = _pick(rng, places)
    holder[key] = _pick(rng, _LEAVES)


def _new_type(tree: Any, rng: np.random.Generator) -> None:
    node = _pick(rng, _nodes(tree, "object"))
    node["type"] = _pick(rng, _TYPES)


def _new_kind(tree: Any, rng: np.random.Generator) -> None:
    node = _pick(rng, _nodes(tree, *(k for k in _KINDS if isinstance(k, str))))
    node["is"] = _pick(rng, _KINDS)


def _attribute(tree: Any, rng: np.random.Generator) -> None:
    state = _pick(rng, _states(tree))
    name = _pick(rng, list(state))
    how = rng.integers(3)
    if how == 0:
        del state[name]
    elif how == 1:
        state[_pick(rng, _NAMES)] = state.pop(name)
    else:
        state[_pick(rng, _NAMES)] = _pick(rng, _LEAVES)


def _shape(tree: Any, rng: np.random.Generator) -> None:
    node = _pick(rng, _nodes(tree, "array", "texts", "objects") or [tree])
    shape = node.get("shape", [1]) if isinstance(node, dict) else [1]
    choices = [
        shape[::-1],
        [*shape, 1],
        [-1],
        [0, 10**9],
        [2**62],
        [1] * 40,
        [int(np.prod(shape))],
        [],
        "shape",
        [0.5],
        [True],
    ]
    if isinstance(node, dict):
        node["shape"] = _pick(rng, choices)


def _dtype(tree: Any, rng: np.random.Generator) -> None:
    node = _pick(rng, _nodes(tree, "array", "scalar"))
    node["dtype"] = _pick(
        rng,
        [
            "f8",
            "i8",
            "u8",
            "f4",
            "i4",
            "u4",
            "b1",
            "i1",
            "O",
            "V8",
            "U2",
            "f8,f8",
            "object",
            8,
            "M8",
        ],
    )


def _list(tree: Any, rng: np.random.Generator) -> None:
    found = [h[k] for h, k in _places(tree) if isinstance(h[k], list) and h[k]]
    part = _pick(rng, found)
    how = rng.integers(4)
    if how == 0:
        del part[rng.integers(len(part))]
    elif how == 1:
        part.append(json.loads(json.dumps(_pick(rng, part))))
    elif how == 2:
        rng.shuffle(part)
    else:
        deep: Any = []
        for _ in range(int(_pick(rng, [90, 200, 400]))):
            deep = [deep]
        part[int(rng.integers(len(part)))] = deep


def _text(tree: Any, rng: np.random.Generator) -> None:
    """Another number in a text of LightGBM; another leaf where there is none."""
    states = [state for state in _states(tree) if isinstance(state.get("text"), str)]
    if not states:
        return _new_scalar(tree, rng)
    state = _pick(rng, states)
    words = state["text"].split(" ")
    words[int(rng.integers(len(words)))] = str(_pick(rng, [*_NUMBERS, *_FLOATS, "x", "a\nb=1"]))
    state["text"] = " ".join(words)
    return None


def nodes(content: bytes, rng: np.random.Generator) -> bytes:
    """One to three nodes of the tree are others."""
    found = members(content)
    tree = json.loads(found[TREE])
    ways = [
        _new_leaf,
        _new_scalar,
        _new_scalar,
        _new_type,
        _new_kind,
        _attribute,
        _attribute,
        _shape,
        _dtype,
        _list,
        _text,
        _text,
    ]
    for _ in range(int(rng.integers(1, 4))):
        # A change before may have taken away, or made something else of, what this one would spoil.
        with suppress(LookupError, TypeError):
            _pick(rng, ways)(tree, rng)
    return archive_of(with_sums({**found, TREE: json.dumps(tree).encode()}))


def _arrays(tree: Any) -> Iterator[tuple[str, int, int]]:
    """Type of numbers, first byte and number of elements of every array, in the file's order."""
    at = 0

    def walk(node: Any) -> Iterator[tuple[str, int, int]]:
        nonlocal at
        if isinstance(node, list):
            for part in node:
                yield from walk(part)
        elif isinstance(node, dict):
            if node.get("is") in ("array", "scalar"):
                count = int(np.prod(node.get("shape", []), dtype=np.int64))
                yield node["dtype"], at, count
                at += count * int(node["dtype"][1])
            for part in node.values():
                yield from walk(part)

    return walk(tree)


def numbers(content: bytes, rng: np.random.Generator) -> bytes:
    """Some elements of arrays are others: far, negative, huge, infinite or no number."""
    found = members(content)
    arrays = [a for a in _arrays(json.loads(found[TREE])) if a[2]]
    spoilt = bytearray(found[NUMBERS])
    for _ in range(int(rng.integers(1, 4))):
        code, at, count = _pick(rng, arrays)
        size = int(code[1])
        values = np.frombuffer(bytes(spoilt[at : at + size * count]), f"<{code}").copy()
        places = rng.integers(count, size=int(_pick(rng, [1, 1, 3, count])))
        if code[0] == "f":
            values[places] = _pick(rng, _FLOATS)
        elif code == "b1":
            values.view(np.uint8)[places] = _pick(rng, [2, 255, 0, 1])
        else:
            kind = np.iinfo(values.dtype)
            values[places] = np.clip(_pick(rng, _NUMBERS), kind.min, kind.max)
        spoilt[at : at + size * count] = values.tobytes()
    kept = {**found, NUMBERS: bytes(spoilt)}
    if rng.random() < 0.05:
        kept[NUMBERS] = _pick(rng, [kept[NUMBERS][:-3], kept[NUMBERS] + bytes(9), b""])
    return archive_of(with_sums(kept))


def card(content: bytes, rng: np.random.Generator) -> bytes:
    """The card says something else."""
    found = members(content)
    said = json.loads(found[CARD])
    how = rng.integers(4)
    if how == 0 and said["classes"]:
        said["classes"] = said["classes"][::-1]
    elif how == 1:
        columns = said["schema"]["columns"]
        _pick(rng, [columns.pop, columns.reverse, lambda: columns.append(dict(columns[0]))])()
    else:
        _pick(rng, [_new_leaf, _new_scalar, _list])(said, rng)
    return archive_of(with_sums({**found, CARD: json.dumps(said).encode()}))


DAMAGE: dict[str, Spoiler] = {"flipped": flip, "cut": cut, "members altered": members_lost}
CRAFT: dict[str, Spoiler] = {
    "odd archive": odd_archive,
    "other nodes": nodes,
    "other numbers": numbers,
    "other card": card,
}

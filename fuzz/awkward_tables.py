"""Tables of every kind: what is written is read again, and what cannot be read is one sentence.

Hypothesis draws tables and bytes. Where atheris is installed, every fourth case lets it look for
bytes that lead a reader of text somewhere new; elsewhere ``coverage_guided`` says that it is left
out.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from echelon.tables import TableError, TableWriter, read_chunks, read_labelled_table, read_table
from fuzz.campaign import ANSWERED, REFUSED, Case

WRITTEN = ("csv", "tsv", "parquet", "arrow", "jsonl", "csv.gz", "jsonl.gz")
TEXTS = ("csv", "tsv", "jsonl", "svmlight")
LEFT_OUT = "atheris is not installed, so that no coverage-guided cases are run."
EXAMPLES = 40
_WITH_ATHERIS = importlib.util.find_spec("atheris") is not None

# Characters that have been trouble somewhere: of formulas, quotations, ends of lines, directions.
_LETTERS = st.sampled_from(
    list("ab1=+-@\t\r\n\"',;|{}[]:#\\ é\u202e\u200b\ufeff\x00\x1b\x7f\x85\u2028😀")
)
_WORDS = st.one_of(
    st.text(_LETTERS, max_size=6),
    st.sampled_from(["NA", "nan", "null", "true", "no", "1e999", "0x1", "2024-01-31", "1_0", "-0"]),
)
_COLUMNS = {
    "texts": st.lists(_WORDS, min_size=1, max_size=8),
    "integers": st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=8),
    "numbers": st.lists(st.floats(allow_infinity=False), min_size=1, max_size=8),
    "truths": st.lists(st.booleans(), min_size=1, max_size=8),
    "dates": st.lists(
        st.datetimes(pd.Timestamp("1700-01-01"), pd.Timestamp("2200-01-01")), min_size=1
    ),
}
_NAMES = st.lists(st.text(_LETTERS, min_size=1, max_size=5), min_size=1, max_size=4)


@st.composite
def frames(draw: Any) -> pd.DataFrame:
    """A table with columns of any kind, and maybe with repeated or odd names."""
    names = draw(_NAMES)
    rows = draw(st.integers(0, 8))
    columns = []
    for _ in names:
        values = draw(_COLUMNS[draw(st.sampled_from(sorted(_COLUMNS)))])
        columns.append(pd.Series([values[i % len(values)] for i in range(rows)]))
    frame = pd.concat(columns, axis=1) if columns else pd.DataFrame()
    frame.columns = names
    return frame


def _line(cell: str) -> st.SearchStrategy[str]:
    return st.lists(_WORDS, min_size=1, max_size=4).map(cell.join)


_TEXTS_OF = {
    "csv": st.lists(_line(","), max_size=6).map("\n".join),
    "tsv": st.lists(_line("\t"), max_size=6).map("\r\n".join),
    "jsonl": st.lists(
        st.dictionaries(
            _WORDS,
            st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), _WORDS, st.just([1])),
            max_size=4,
        ).map(lambda row: json.dumps(row, ensure_ascii=False)),
        max_size=6,
    ).map("\n".join),
    "svmlight": st.lists(
        st.from_regex(
            r"[-+]?\d{1,3}( qid:\d{1,3})?( \d{1,4}:[-+0-9.einfa]{1,5}){0,3}( #.?)?", fullmatch=True
        ),
        max_size=6,
    ).map("\n".join),
}
_ENCODINGS = st.sampled_from(
    ["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252"]
)


@st.composite
def files(draw: Any, format: str) -> bytes:
    """Bytes that are nearly a table of a format."""
    text = draw(_TEXTS_OF[format])
    content = text.encode(draw(_ENCODINGS), "replace")
    place = draw(st.integers(0, len(content)))
    return content[:place] + draw(st.binary(max_size=3)) + content[place:]


def case(seed: int) -> Case:
    """Some dozens of tables that are written and read, or of files that may be tables."""
    kind, number = seed % 4, seed // 4
    if kind == 3:
        return coverage_guided(TEXTS[number % len(TEXTS)], seed)
    found: list[Case] = []
    with tempfile.TemporaryDirectory(prefix="fuzz-tables-") as folder:
        if kind == 0:
            format = TEXTS[number % len(TEXTS)]
            _each(seed, files(format), lambda c: found.append(read_bytes(format, c, Path(folder))))
        else:
            if kind == 2 and number % 2:
                _each(seed, reviews(), lambda texts: found.append(read_texts(texts)))
                return _summed(found)
            suffix = WRITTEN[number % len(WRITTEN)]
            _each(seed, frames(), lambda f: found.append(round_trip(f, suffix, Path(folder))))
    return _summed(found)


def _summed(found: list[Case]) -> Case:
    bad = [one for one in found if one.outcome not in (ANSWERED, REFUSED)]
    if bad:
        return bad[0]
    refused = sum(one.outcome == REFUSED for one in found)
    # A case has one outcome: those of the other one are not counted.
    most = max(refused, len(found) - refused)
    return Case(found[0].subject, REFUSED if refused == most else ANSWERED, count=most)


def _each(seed: int, strategy: st.SearchStrategy[Any], look: Callable[[Any], None]) -> None:
    @seeded(seed)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def run(drawn: Any) -> None:
        look(drawn)

    run()


def round_trip(frame: pd.DataFrame, suffix: str, folder: Path) -> Case:
    """What is written is read again, with names, rows and texts as they were."""
    subject, path = f"round trip, {suffix}", folder / f"table.{suffix}"

    def run() -> Case:
        with TableWriter(path, raw=True) as writer:
            writer.write(frame)
        again = read_table(path)
        difference = _difference(frame, again, suffix)
        return Case(subject, "different" if difference else ANSWERED, difference)

    return _watched(subject, run, lambda: f"{frame.to_dict('split')}")


def _difference(frame: pd.DataFrame, again: pd.DataFrame, suffix: str) -> str:
    names = [str(name) for name in frame.columns]
    if list(again.columns) != names and suffix in ("parquet", "arrow"):
        return f"names {names} became {list(again.columns)}"
    if len(again) != len(frame):
        return f"{len(frame)} rows of {frame.to_dict('split')} became {len(again)}"
    for place in range(len(names)):
        before, after = frame.iloc[:, place], again.iloc[:, place]
        numbers = before.dtype == after.dtype == np.float64
        if numbers and not np.array_equal(before, after, equal_nan=True):
            return f"numbers {before.tolist()} became {after.tolist()}"
        if before.dtype == after.dtype == np.int64 and not (before == after).all():
            return f"integers {before.tolist()} became {after.tolist()}"
        texts = suffix in ("parquet", "arrow") and before.dtype == after.dtype == object
        if texts and before.tolist() != [None if pd.isna(v) else v for v in after]:
            return f"texts {before.tolist()} became {after.tolist()}"
    return ""


@st.composite
def reviews(draw: Any) -> list[str | None]:
    """A column of texts, of which most have words of others."""
    texts = draw(st.lists(st.one_of(st.none(), st.text(max_size=30), _WORDS), min_size=1))
    said = draw(st.lists(st.sampled_from(["so good", "not bad", "😀", "سيء جدا"]), min_size=12))
    return draw(st.permutations([*texts, *said]))


def read_texts(texts: list[str | None]) -> Case:
    """Texts become finite numbers in every way, the same ones when they are seen again."""
    from echelon.model_selection import TextTerms

    def run() -> Case:
        frame, labels = pd.DataFrame({"text": texts}), np.arange(len(texts)) % 2
        for reduce in (None, "select", "svd"):
            terms = TextTerms(reduce, 3, min_rows=2)
            at_once, again = terms.fit_transform(frame, labels), terms.transform(frame)
            pair = [m.toarray() if reduce is None else m for m in (at_once, again)]
            if not np.isfinite(pair[0]).all():
                return Case("texts", "not finite", f"{reduce}: {texts!r}")
            if not np.array_equal(*pair):
                return Case("texts", "different", f"{reduce}: {texts!r}")
        return Case("texts", ANSWERED)

    return _watched("texts", run, lambda: repr(texts))


def read_bytes(format: str, content: bytes, folder: Path) -> Case:
    """A file is read whole and in parts alike, or refused with a sentence."""
    subject, path = f"reading, {format}", folder / "table"
    path.write_bytes(content)

    def run() -> Case:
        whole = read_table(path, format=format)
        parts = pd.concat(list(read_chunks(path, format=format, rows=2)))
        if list(parts.columns) != list(whole.columns) or len(parts) != len(whole):
            return Case(subject, "different", f"in parts: {content!r}")
        read_labelled_table(path, format=format)
        return Case(subject, ANSWERED)

    return _watched(subject, run, lambda: repr(content))


def _watched(subject: str, run: Callable[[], Case], drawn: Callable[[], str]) -> Case:
    try:
        with warnings.catch_warnings(action="error"):
            return run()
    except TableError as refusal:
        for words in map(str, refusal.problems):
            if not words.endswith((".", "?")) or "\n" in words.rstrip():
                return Case(subject, "foreign", f"not a sentence: {words!r} for {drawn()}")
        return Case(subject, REFUSED)
    except Exception as error:
        return Case(subject, "foreign", f"{type(error).__name__}: {error} for {drawn()}"[:1500])


def coverage_guided(format: str, seed: int, runs: int = 3000, seconds: int = 20) -> Case:
    """Let atheris look for bytes that a reader answers with anything but a table or a sentence."""
    subject = f"coverage-guided, {format}"
    if not _WITH_ATHERIS:
        return Case(subject, REFUSED, LEFT_OUT, count=0)
    words = [
        sys.executable,
        "-m",
        "fuzz.awkward_tables",
        format,
        str(runs),
        str(seconds),
        f"-seed={seed + 1}",
        "-max_len=200",
    ]
    with tempfile.TemporaryDirectory(prefix="fuzz-atheris-") as folder:
        done = subprocess.run(
            [*words, f"-artifact_prefix={folder}/"],
            capture_output=True,
            text=True,
            errors="replace",
        )
    if done.returncode:
        return Case(subject, "foreign", done.stderr[-1500:])
    done_runs = re.search(r"Done (\d+) runs", done.stderr)
    return Case(subject, ANSWERED, count=int(done_runs[1]) if done_runs else 0)


def _atheris() -> None:
    import atheris

    format, runs, seconds = (sys.argv.pop(1) for _ in range(3))
    folder = Path(tempfile.mkdtemp(prefix="fuzz-atheris-"))
    end, done = time.monotonic() + float(seconds), 0
    with atheris.instrument_imports(include=["echelon.tables"]):
        for name in ("blocks", "delimited", "json_lines", "kinds", "svmlight"):
            sys.modules.pop(f"echelon.tables.{name}", None)
            importlib.import_module(f"echelon.tables.{name}")

    def look(content: bytes) -> None:
        nonlocal done
        found = read_bytes(format, content, folder)
        if found.outcome not in (ANSWERED, REFUSED):
            raise AssertionError(found.detail)
        done += 1
        if done >= int(runs) or time.monotonic() > end:
            print(f"Done {done} runs", file=sys.stderr, flush=True)
            # libFuzzer would end the process with the interpreter's lock held, for which a thread
            # of pyarrow may wait, and for that thread the process.
            os._exit(0)

    atheris.Setup(sys.argv, look)
    atheris.Fuzz()


if __name__ == "__main__":
    _atheris()

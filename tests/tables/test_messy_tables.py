"""Kinds × missing cells × encodings × delimiters: what is written is read, whole and in parts."""

import csv
import datetime
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from echelon.tables import TableError, read_chunks, read_labelled_table

N = 24
ANSWERS = ["never", "rarely", "sometimes", "often", "always"]
START = datetime.date(2020, 1, 1)


def german(value):
    return f"{value:,.2f}".replace(",", "_").replace(".", ",").replace("_", ".")


# Each kind as it is written, from whole numbers, and as a model gets it.
KINDS = {
    "number": (lambda k: f"{k / 8}", lambda k: k / 8),
    "comma": (lambda k: german(k * 1000.25), lambda k: k * 1000.25),
    "euro": (lambda k: f"{german(k)} €", float),
    "percent": (lambda k: f"{k}%", float),
    "date": (
        lambda k: (START + datetime.timedelta(k)).strftime("%d.%m.%Y"),
        lambda k: float((START + datetime.timedelta(k) - datetime.date(1970, 1, 1)).days),
    ),
    "ordered": (lambda k: ANSWERS[k % 5].capitalize(), lambda k: ANSWERS[k % 5].capitalize()),
    "text": (
        lambda k: f'Nr. {k}, «größer» als "{k % 3}"',
        lambda k: f'Nr. {k}, «größer» als "{k % 3}"',
    ),
    "category": (lambda k: f"Größe {k % 4}", lambda k: f"Größe {k % 4}"),
}
# Of all values, so that a column of a kind shows what it is.
KEYS = [*range(1, N - 1), 40, 41]


@st.composite
def messy(draw):
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=4))
    marks = draw(st.sampled_from(["", "NA", "?", "n/a", "-99", "weiß nicht"]))
    columns = []
    for kind in kinds:
        keys = draw(st.permutations(KEYS))
        absent = draw(st.sets(st.integers(0, N - 1), max_size=3))
        columns.append((kind, [None if i in absent else k for i, k in enumerate(keys)]))
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "cp1252", "iso8859-15", "utf-16"]))
    return columns, marks, encoding, draw(st.sampled_from([",", ";", "\t", "|"]))


def written(columns, mark, delimiter):
    text = io.StringIO()
    rows = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    rows.writerow([*(f"{kind} {place}" for place, (kind, _) in enumerate(columns)), "y"])
    for i in range(N):
        cells = [mark if keys[i] is None else KINDS[kind][0](keys[i]) for kind, keys in columns]
        rows.writerow([*cells, 1 + i % 3])
    return text.getvalue()


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(messy())
def test_what_is_written_is_read_whole_and_in_parts(tmp_path, drawn):
    columns, mark, encoding, delimiter = drawn
    path = tmp_path / "t.csv"
    path.write_bytes(written(columns, mark, delimiter).encode(encoding))
    reading = {"delimiter": delimiter, "encoding": encoding.removesuffix("-sig")}
    if encoding == "utf-16":
        del reading["encoding"]
    texts = ["text *"] if any(kind == "text" for kind, _ in columns) else []
    table = read_labelled_table(path, **reading, missing=["-99, weiß nicht"], text=texts)
    for place, (kind, keys) in enumerate(columns):
        name = f"{kind} {place}"
        found = table.X[name].tolist()
        for key, value in zip(keys, found, strict=True):
            expected = np.nan if key is None else KINDS[kind][1](key)
            assert value == expected or (pd.isna(value) and key is None), (name, key, value)
    parts = read_chunks(path, **reading, schema=table.schema, rows=5)
    streamed = pd.concat([table.schema.apply(part) for part in parts])
    pd.testing.assert_frame_equal(streamed, table.X)


def test_text_of_two_encodings_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("a,y\nGröße,1\n".encode() + "Größe,2\n".encode("cp1252"))
    with pytest.raises(
        TableError,
        match=r"in line 3 that is not UTF-8, after letters that are: .* save it in one\.",
    ):
        read_labelled_table(path)
    with pytest.raises(TableError, match=r"has bytes that are not text in ascii; give another"):
        read_labelled_table(path, encoding="ascii")
    parquet = tmp_path / "t.parquet"
    pd.DataFrame({"a": [1.0, 2.0], "y": [1, 2]}).to_parquet(parquet)
    with pytest.raises(TableError, match="is of format parquet, which has no encoding"):
        read_labelled_table(parquet, encoding="ascii")

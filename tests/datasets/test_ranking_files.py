"""Ranking data in SVMlight's and TREC's formats."""

import gzip
import io
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from echelon.datasets.svmlight import dump_ranking_svmlight, load_ranking_svmlight
from echelon.datasets.trec import (
    Qrels,
    judged_run,
    read_qrels,
    read_run,
    write_qrels,
    write_run,
)
from echelon.metrics.ranking import ndcg_score, recall_at

LETOR = """\
2 qid:30 1:0.5 3:1e-3 5:-2 #docid = GX-1 inc = 1
0 qid:2 2:0.25

# a line of its own
1 qid:30 1:1 # again, query 30
"""


def test_rows_of_a_small_file():
    rows = load_ranking_svmlight(io.StringIO(LETOR))
    assert sparse.issparse(rows.data) and rows.data.format == "csr"
    np.testing.assert_array_equal(
        rows.data.toarray(), [[0.5, 0, 1e-3, 0, -2], [0, 0.25, 0, 0, 0], [1, 0, 0, 0, 0]]
    )
    assert rows.target.tolist() == [2.0, 0.0, 1.0]
    assert rows.qid.tolist() == [30, 2, 30] and rows.qid.dtype == np.int64
    assert rows.comments is None
    kept = load_ranking_svmlight(io.StringIO(LETOR), comments=True, n_features=9)
    assert kept.comments == ["docid = GX-1 inc = 1", "", "again, query 30"]
    assert kept.data.shape == (3, 9)


def test_it_reads_what_scikit_learn_reads(tmp_path):
    path = tmp_path / "rows.txt"
    path.write_text(LETOR.replace("\n", "\r\n"))
    X, y, qid = load_svmlight_file(str(path), query_id=True, zero_based=False)
    rows = load_ranking_svmlight(path)
    np.testing.assert_array_equal(rows.data.toarray(), X.toarray())
    np.testing.assert_array_equal(rows.target, y)
    np.testing.assert_array_equal(rows.qid, qid)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (["q1", "é", "q1"], ["q1", "é", "q1"]),
        (["007", "7", "007"], ["007", "7", "007"]),
        (["-3", "0", "12"], [-3, 0, 12]),
        (["12345678901234567890", "1", "1"], ["12345678901234567890", "1", "1"]),
    ],
    ids=["texts", "leading zeros", "whole", "too long"],
)
def test_ids_are_numbers_only_if_nothing_is_lost(written, expected):
    text = "".join(f"1 qid:{query} 1:2\n" for query in written)
    assert load_ranking_svmlight(io.StringIO(text)).qid.tolist() == expected


def test_a_file_without_queries():
    assert load_ranking_svmlight(io.BytesIO(b"1 1:2\n-1 2:3\n")).qid is None


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@given(
    st.integers(1, 6).flatmap(
        lambda n: st.tuples(
            st.lists(st.lists(NUMBERS, min_size=3, max_size=3), min_size=n, max_size=n),
            st.lists(NUMBERS, min_size=n, max_size=n),
            st.lists(st.sampled_from(["a", "b:1", "Σ"]), min_size=n, max_size=n),
            st.lists(st.sampled_from(["", "# twice", "d 7"]), min_size=n, max_size=n),
        )
    ),
    st.booleans(),
)
def test_what_is_written_is_read_back_exactly(rows, zero_based):
    X, y, qid, comments = rows
    file = io.BytesIO()
    dump_ranking_svmlight(file, X, y, qid, zero_based=zero_based, comments=comments)
    file.seek(0)
    found = load_ranking_svmlight(file, zero_based=zero_based, n_features=3, comments=True)
    np.testing.assert_array_equal(found.data.toarray(), np.array(X))
    np.testing.assert_array_equal(found.target, y)
    assert found.qid.tolist() == qid and found.comments == comments


def test_files_are_compressed_by_name_and_recognised_by_content(tmp_path):
    X = sparse.random(20, 7, density=0.3, format="csc", random_state=0)
    y, qid = np.arange(20) % 3, np.arange(20)[::-1] // 4
    for name in ("rows.txt", "rows.txt.gz"):
        dump_ranking_svmlight(tmp_path / name, X, y, qid)
        found = load_ranking_svmlight(str(tmp_path / name), n_features=7)
        np.testing.assert_array_equal(found.data.toarray(), X.toarray())
        assert found.qid.tolist() == qid.tolist()
    content = (tmp_path / "rows.txt.gz").read_bytes()
    assert gzip.decompress(content) == (tmp_path / "rows.txt").read_bytes()
    with gzip.open(tmp_path / "rows.txt.gz", "rt") as file:
        assert load_ranking_svmlight(file).target.tolist() == y.tolist()
    assert load_ranking_svmlight(io.BytesIO(content)).target.tolist() == y.tolist()
    (tmp_path / "cut.gz").write_bytes(content[:40])
    with pytest.raises(ValueError, match=r"cut\.gz is not readable as UTF-8 text"):
        load_ranking_svmlight(tmp_path / "cut.gz")


def test_missing_inputs_are_kept():
    file = io.StringIO()
    dump_ranking_svmlight(file, [[np.nan, 0.0, 2.0]], [1])
    assert file.getvalue() == "1 1:nan 3:2\n"
    file.seek(0)
    assert np.isnan(load_ranking_svmlight(file).data[0, 0])


def test_a_failed_write_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "rows.txt"
    dump_ranking_svmlight(path, [[1.0]], [1], ["a"])
    with pytest.raises(ValueError, match="no space and no #"):
        dump_ranking_svmlight(path, [[2.0]], [1], ["a b"])
    assert path.read_text() == "1 qid:a 1:1\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("good qid:1 1:2", "line 1: the label must be a number; found 'good'"),
        ("1 qid:1 1:2\n\n2 1:3", "line 3: a row must have its query after the label"),
        ("1 qid:1 1:2\n2 qid:1 x:3", "line 2: an input must be written index:value with numbers"),
        ("# note\n1 qid:1 1:2 3", "line 2: an input must be written index:value.*found '3'"),
        ("1 qid:1 1:2,5", "line 1: an input must be written index:value.*found '1:2,5'"),
        ("1 qid:1 3:2 2:1", "line 1: indices must rise along a row; found '2:1' after index 3"),
        ("1 qid:1 2:2 2:1", "line 1: indices must rise along a row"),
        ("1 qid:1 0:2", "line 1: an index must be at least 1; found '0:2'"),
        ("1 qid:1 4:2", "line 1: an index must be at most 3; found '4:2'"),
        ("1 1:2 qid:4", "line 1: an input must be written index:value"),
        ("# only a note\n", "must have at least one row; found none"),
    ],
)
def test_errors_name_the_line(text, message):
    with pytest.raises(ValueError, match=message) as caught:
        load_ranking_svmlight(io.StringIO(text), n_features=3)
    assert str(caught.value).count("\n") == 0


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"y": [1, 2]}, r"y must have shape \(1,\); found \(2,\)"),
        ({"qid": [""]}, "qid must have no space and no # in it; found ''"),
        ({"qid": ["a#"]}, "qid must have no space and no # in it; found 'a#'"),
        ({"X": [[1.0], [1.0]], "y": [0, 1], "qid": [1, "1"]}, "qid must differ as texts"),
        ({"comments": []}, "comments must have a text per row, 1; found 0"),
        ({"comments": ["a\nb"]}, "comments must be single lines"),
        ({"comments": ["a\n"]}, "comments must be single lines"),
        ({"X": [[math.inf]]}, "X must hold finite or missing numbers; found infinity"),
        ({"y": [math.nan]}, "y must hold finite numbers"),
        ({"y": ["a"]}, "y must hold numbers"),
    ],
)
def test_what_cannot_be_written(given_, message):
    with pytest.raises(ValueError, match=message):
        dump_ranking_svmlight(io.StringIO(), **{"X": [[1.0]], "y": [1], **given_})


def test_judgements_and_runs_go_out_and_come_back(tmp_path, rng):
    qid = rng.integers(5, size=40).astype(str)
    doc_id = np.array([f"d{k}" for k in rng.permutation(40)])
    grades, scores = rng.integers(-2, 3, size=40), rng.normal(size=40)
    for suffix in ("", ".gz"):
        write_qrels(tmp_path / f"qrels{suffix}", qid, doc_id, grades)
        qrels = read_qrels(tmp_path / f"qrels{suffix}")
        for found, expected in zip(qrels, (qid, doc_id, grades), strict=True):
            np.testing.assert_array_equal(found, expected)
        assert qrels.relevance.dtype.kind == "i"
        write_run(tmp_path / f"run{suffix}", qid, doc_id, scores, tag="mine")
        run = read_run(tmp_path / f"run{suffix}")
        assert list(dict.fromkeys(run.qid)) == list(dict.fromkeys(qid))
        for query in set(qid):
            inside = run.qid == query
            assert run.rank[inside].tolist() == list(range(1, inside.sum() + 1))
            order = np.flatnonzero(qid == query)[np.argsort(-scores[qid == query])]
            np.testing.assert_array_equal(run.doc_id[inside], doc_id[order])
            np.testing.assert_array_equal(run.score[inside], scores[order])
        assert set(run.tag) == {"mine"}
    file = io.BytesIO()
    write_qrels(file, *qrels)
    assert file.getvalue() == (tmp_path / "qrels").read_bytes()
    write_qrels(tmp_path / "parts", [1], ["d"], [0.5])
    assert read_qrels(tmp_path / "parts").relevance.tolist() == [0.5]


RUN = "q1 Q0 a 1 3 s\nq1 Q0 b 2 2 s\nq1 Q0 c 3 1 s\nq3 Q0 a 1 1 s\nq2 Q0 a 1 5 s\n"
QRELS = "q1 0 b 2\nq1 0 z 1\nq1 0 c 0\nq2 0 y 1\nq4 0 a 1\n"


@pytest.mark.parametrize("unretrieved", ["append", "drop"])
@pytest.mark.parametrize("unjudged", [0, -1, "drop"])
def test_runs_are_joined_with_judgements(unjudged, unretrieved):
    run, qrels = read_run(io.StringIO(RUN)), read_qrels(io.StringIO(QRELS))
    judged = judged_run(run, qrels, unjudged=unjudged, unretrieved=unretrieved)
    expected = [("q1", "b", 2, 2), ("q1", "c", 0, 1)]
    if unjudged != "drop":
        expected = [("q1", "a", unjudged, 3), *expected, ("q2", "a", unjudged, 5)]
    if unretrieved == "append":
        expected += [("q1", "z", 1, -np.inf), ("q2", "y", 1, -np.inf)]
    found = zip(judged.qid, judged.doc_id, judged.y_true, judged.y_score, strict=True)
    assert list(found) == expected


def test_metrics_of_a_joined_run():
    judged = judged_run(read_run(io.StringIO(RUN)), read_qrels(io.StringIO(QRELS)))
    y_true, y_score, qid, _ = judged
    ideal = 2 + 1 / np.log2(3)
    found = (2 / np.log2(3) + 1 / np.log2(5)) / ideal, 1 / np.log2(3)
    assert ndcg_score(y_true, y_score, qid=qid) == pytest.approx(np.mean(found))
    assert recall_at(y_true, y_score, qid=qid, k=1) == 0.0
    assert recall_at(y_true, y_score, qid=qid, k=3) == pytest.approx((0.5 + 1.0) / 2)


def test_relevance_beyond_whole_numbers_stays_as_it_is():
    assert read_qrels(io.StringIO("q 0 d 1e300\n")).relevance.tolist() == [1e300]
    assert read_qrels(io.StringIO("q 0 d 2.0\n")).relevance.dtype == np.int64


def test_a_run_without_common_queries_is_empty():
    judged = judged_run(read_run(io.StringIO(RUN)), Qrels(*(np.array([c]) for c in ("q9", "a", 1))))
    assert [len(column) for column in judged] == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: read_qrels(io.StringIO("\nq 0 d\n")),
            "line 2: a line must have the 4 fields query",
        ),
        (lambda: read_run(io.StringIO("q Q0 d 1 2 tag more")), "line 1: a line must have the 6"),
        (lambda: read_qrels(io.StringIO("\n")), "must have at least one line; found none"),
        (
            lambda: read_qrels(io.StringIO("q 0 d 1\n\nq 0 e x\n")),
            "line 3: the relevance must be a finite number; found 'x'",
        ),
        (
            lambda: read_run(io.StringIO("q Q0 d 1 nan t\n")),
            "line 1: the score must be a finite number; found 'nan'",
        ),
        (
            lambda: read_run(io.StringIO("q Q0 d 1.5 2 t\n")),
            "line 1: the rank must be a whole number; found '1.5'",
        ),
        (lambda: read_qrels(io.BytesIO(b"\xff\xfe")), "The file is not readable as UTF-8 text"),
        (lambda: write_qrels(io.StringIO(), ["a b"], ["d"], [1]), "qid must be without spaces"),
        (lambda: write_qrels(io.StringIO(), ["a"], [""], [1]), "doc_id must be without spaces"),
        (lambda: write_qrels(io.StringIO(), ["a"], ["d"], [1, 2]), "qid 1, doc_id 1, relevance 2"),
        (lambda: write_run(io.StringIO(), ["a"], ["d"], [np.inf]), "score must be one column of"),
        (lambda: write_run(io.StringIO(), ["a"], ["d"], [1], tag="a b"), "tag must be without"),
        (
            lambda: judged_run(read_run(io.StringIO(RUN + "q1 Q0 a 9 9 s\n")), QRELS_READ),
            "run must have a document once in a query; found 'a' twice in 'q1'",
        ),
        (
            lambda: judged_run(RUN_READ, read_qrels(io.StringIO(QRELS + "q4 1 a 2\n"))),
            "qrels must have a document once in a query; found 'a' twice in 'q4'",
        ),
        (
            lambda: judged_run(RUN_READ, QRELS_READ, unjudged="zero"),
            "unjudged must be 'drop' or a number",
        ),
        (
            lambda: judged_run(RUN_READ, QRELS_READ, unretrieved=0),
            "unretrieved must be 'append' or",
        ),
    ],
)
def test_errors_are_one_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()


RUN_READ, QRELS_READ = read_run(io.StringIO(RUN)), read_qrels(io.StringIO(QRELS))


def test_a_path_that_is_not_there(tmp_path):
    for read in (read_run, read_qrels, load_ranking_svmlight):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "absent")

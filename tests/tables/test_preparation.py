import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from echelon.model_selection import find_candidate, tune
from echelon.model_selection.preparation import candidate_pipeline, prepare, searched_settings
from echelon.tables import Schema

CODING = "prepare__ordered__levelcodes__coding"
TAILS = "prepare__numbers__tailscores__tails"
FRAME = pd.DataFrame(
    {
        "size": [1.0, np.nan, 3.0, 5.0] * 5,
        "sold": pd.array([True, None, True, False] * 5, dtype="boolean"),
        "day": pd.to_datetime(["2020-01-01", "2020-01-02", None, "2020-01-04"] * 5),
        "colour": ["red", "blue", None, "red"] * 5,
        "maker": [*"abcdefg", *["i"] * 13],
    }
)
SCHEMA = Schema.of(FRAME)
READY = SCHEMA.apply(FRAME)


def test_numbers_are_filled_and_scaled_and_names_kept():
    found = prepare(SCHEMA).set_output(transform="pandas").fit_transform(READY)
    assert found.columns.tolist() == [
        "size",
        "day",
        "sold",
        "colour_blue",
        "colour_red",
        "colour_nan",
        "maker_i",
        "maker_infrequent_sklearn",
    ]
    np.testing.assert_allclose(found[["size", "day"]].mean(), 0, atol=1e-12)
    np.testing.assert_allclose(found[["size", "day"]].std(ddof=0), 1)
    assert found["sold"].tolist() == [1, 1, 1, 0] * 5
    assert found["colour_nan"].tolist() == [0, 0, 1, 0] * 5
    assert found["maker_infrequent_sklearn"].sum() == 7


def test_an_unseen_level_counts_as_a_rare_one():
    preparation = prepare(SCHEMA).set_output(transform="pandas").fit(READY)
    found = preparation.transform(READY[:1].assign(maker="new", colour="new"))
    assert found["maker_infrequent_sklearn"].tolist() == [1]
    assert found.filter(like="colour_").to_numpy().tolist() == [[0, 0, 0]]


def test_columns_that_lose_all_values_in_a_fold_keep_their_place():
    found = prepare(SCHEMA).fit_transform(READY.assign(size=np.nan, sold=np.nan))
    assert np.isfinite(found).all() and found.shape[1] == 8


@pytest.mark.parametrize("columns", [["size"], ["sold"], ["colour"], ["colour", "day"]])
def test_schemas_without_some_kinds(columns):
    schema = Schema.of(FRAME[columns])
    assert len(prepare(schema).fit_transform(schema.apply(FRAME))) == len(FRAME)


def test_a_level_may_have_the_name_of_another_column():
    frame = FRAME[["colour", "size"]].rename(columns={"size": "colour_red"})
    schema = Schema.of(frame)
    names = prepare(schema).fit(schema.apply(frame)).get_feature_names_out().tolist()
    assert len(set(names)) == len(names) == 4


def test_skops_saves_it_without_trusting_any_function():
    io = pytest.importorskip("skops.io")
    labels = [0, 1, 0, 1] * 5
    model = make_pipeline(clone(prepare(SCHEMA)), DecisionTreeClassifier()).fit(READY, labels)
    stored = io.dumps(model[:-1])
    plain = ["numpy.dtype", "echelon.base.scores.TailScores"]
    assert set(io.get_untrusted_types(data=stored)) <= set(plain)
    again = io.loads(stored, trusted=plain)
    np.testing.assert_array_equal(again.transform(READY), model[:-1].transform(READY))


def test_ordered_levels_become_scaled_ranks():
    levels = ["low", "mid", "high"]
    answers = pd.Categorical(["high", None, "low", "mid"] * 5, categories=levels, ordered=True)
    schema = Schema.of(pd.DataFrame({"answer": answers}))
    ready = schema.apply(pd.DataFrame({"answer": answers}))
    found = prepare(schema).set_output(transform="pandas").fit_transform(ready)["answer"]
    np.testing.assert_allclose(found[:4], np.array([1, 0, -1, 0]) / np.sqrt(0.5))


def test_a_thermometer_has_a_column_for_each_boundary():
    levels = ["low", "mid", "high"]
    frame = pd.DataFrame(
        {
            "q": pd.Categorical(["high", None, "low", "mid"] * 5, categories=levels, ordered=True),
            "q ≥ mid": np.arange(20.0),
        }
    )
    schema = Schema.of(frame)
    preparation = prepare(schema).set_params(ordered__levelcodes__coding="thermometer")
    found = preparation.set_output(transform="pandas").fit_transform(schema.apply(frame))
    # A name of a boundary that is another column's makes all names say where they come from.
    assert found.columns.tolist() == [
        "numbers__q ≥ mid",
        "ordered__q ≥ mid",
        "ordered__q ≥ high",
    ]
    above = found.filter(like="ordered__") > 0
    assert (
        above.to_numpy().tolist() == [[True, True], [True, False], [False] * 2, [True, False]] * 5
    )


def test_heavy_tails_become_normal_scores_before_they_are_scaled():
    frame = pd.DataFrame({"paid": np.exp(np.linspace(-6, 6, 101)), "size": np.arange(101.0)})
    schema = Schema.of(frame)
    preparation = prepare(schema).set_params(numbers__tailscores__tails="normal scores")
    found = preparation.fit_transform(schema.apply(frame))
    assert abs(found[:, 0]).max() < 3 < abs(prepare(schema).fit_transform(frame)[:, 0]).max()
    np.testing.assert_allclose(found[:, 1], prepare(schema).fit_transform(frame)[:, 1])


LIKERT = [f"level {k}" for k in range(5)]


def table_of(kind):
    rng = np.random.default_rng(0)
    n = 90
    columns = {"size": rng.normal(size=n)}
    if kind in ("ordered", "both"):
        columns["answer"] = pd.Categorical(rng.choice(LIKERT, n), categories=LIKERT, ordered=True)
    if kind in ("heavy", "both"):
        columns["paid"] = np.exp(2 * rng.normal(size=n))
    return pd.DataFrame(columns)


@pytest.mark.parametrize(
    ("kind", "name", "searched"),
    [
        ("plain", "LinearSVOR", set()),
        ("ordered", "LinearSVOR", {CODING}),
        ("ordered", "SVOR implicit", set()),
        ("heavy", "SVOR implicit", {TAILS}),
        ("heavy", "RankRules", set()),
        ("both", "PRank", {CODING, TAILS}),
        ("both", "OrdinalBagging trees", set()),
    ],
)
def test_what_is_searched_of_the_preparation(kind, name, searched):
    frame = table_of(kind)
    schema = Schema.of(frame)
    candidate = find_candidate(name)
    found = searched_settings(candidate, schema, schema.apply(frame))
    assert {key for key in found if key.startswith("prepare__")} == searched
    pipeline = candidate_pipeline(candidate, schema, classes=range(3))
    assert set(found) <= set(pipeline.get_params())


def test_two_levels_are_not_searched():
    frame = pd.DataFrame({"a": pd.Categorical(["x", "y"] * 9, categories=["x", "y"], ordered=True)})
    schema = Schema.of(frame)
    found = searched_settings(find_candidate("LinearSVOR"), schema, schema.apply(frame))
    assert set(found) == {"model__C"}


def test_arrays_with_heavy_tails_are_searched_too():
    X = table_of("heavy").to_numpy()
    candidate = find_candidate("PRank")
    assert searched_settings(candidate, None, X) == {
        "prepare__tailscores__tails": ("kept", "normal scores")
    }
    assert searched_settings(candidate, None, X[:, :1]) == {}


def test_the_search_finds_levels_that_are_no_line_and_tails_that_are_too_long():
    rng = np.random.default_rng(1)
    n = 400
    answer, paid = rng.integers(0, 5, n), np.exp(3 * rng.normal(size=n))
    score = np.array([0.0, 4.0, 0.0, 4.0, 0.0])[answer] + np.log(paid)
    y = np.digitize(score + 0.3 * rng.normal(size=n), [-1.0, 2.0, 5.0])
    frame = pd.DataFrame(
        {
            "answer": pd.Categorical.from_codes(answer, LIKERT, ordered=True),
            "paid": paid,
        }
    )
    schema = Schema.of(frame)
    candidate = find_candidate("RoundedRegressor ridge")
    model = tune(candidate, schema.apply(frame), y, schema=schema, classes=range(4))
    chosen = model.get_params()
    assert chosen[CODING] == "thermometer" and chosen[TAILS] == "normal scores"

"""Pipelines, data frames with texts and gaps, and what cannot be exported."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from echelon import (
    GPOR,
    SVOR,
    AdaBoostOR,
    LinearRankSVM,
    OrdinalReduction,
    ProportionalOdds,
    RankBoost,
    RankRules,
    ThresholdedRanker,
)
from echelon.meta.calibration import OrdinalCalibrator
from echelon.meta.conformal import ConformalOrdinal

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
pd = pytest.importorskip("pandas", reason="pandas is not installed")

from echelon.export import ExportError, onnx_inputs, to_onnx  # noqa: E402 - after what it needs

METHODS = {
    "decision": "decision_function",
    "latent": "predict_latent",
    "probabilities": "predict_proba",
}


def make_frame(n=150, seed=0):
    rng = np.random.default_rng(seed)
    size, age = rng.normal(size=n), rng.normal(40, 10, size=n)
    colour = rng.choice(["red", "green", "blue", "grey"], p=[0.5, 0.3, 0.17, 0.03], size=n)
    shop = rng.choice([3, 7, 11], size=n)
    latent = size + 0.05 * age + 0.8 * (colour == "red") + rng.logistic(size=n) * 0.3
    y = np.digitize(latent, [1.5, 2.2, 3.0])
    frame = pd.DataFrame({"size": size, "age": age, "colour": colour, "shop": shop})
    frame.loc[rng.random(n) < 0.1, "size"] = np.nan
    frame.loc[rng.random(n) < 0.1, "colour"] = np.nan
    return frame, y


def new_rows(frame):
    """Rows with gaps and with categories that were not seen."""
    other = frame.iloc[:20].copy()
    other.loc[other.index[:4], "colour"] = "violet"
    other.loc[other.index[4:8], "shop"] = 99
    other.loc[other.index[8:12], "size"] = np.nan
    other.loc[other.index[12:16], "colour"] = np.nan
    return pd.concat([frame, other], ignore_index=True)


def run(proto, X):
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in proto.graph.output]
    return dict(zip(names, session.run(None, onnx_inputs(proto, X)), strict=True))


def assert_agrees(model, X, **options):
    proto = to_onnx(model, **options)
    for name, values in run(proto, X).items():
        if name == "latent" and not hasattr(model, "predict_latent"):
            continue
        expected = np.asarray(getattr(model, METHODS.get(name, "predict"))(X))
        if name == "label":
            np.testing.assert_array_equal(values, expected)
        else:
            np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-9)
    return proto


def columns(names=None, numbers=None):
    numbers = numbers or make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    names = names or OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return ColumnTransformer([("n", numbers, ["size", "age"]), ("c", names, ["colour", "shop"])])


PREPARATIONS = {
    "one-hot": columns(),
    "rare levels": columns(
        OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=0.1, sparse_output=False)
    ),
    "one level left out": columns(
        OneHotEncoder(handle_unknown="ignore", drop="first", sparse_output=False)
    ),
    "places": columns(
        OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2
        )
    ),
    "filled texts": columns(
        make_pipeline(
            SimpleImputer(strategy="most_frequent"),
            OneHotEncoder(handle_unknown="ignore", sparse_output=False),
        )
    ),
    "range": columns(
        numbers=make_pipeline(SimpleImputer(strategy="mean"), MinMaxScaler(clip=True))
    ),
    "quartiles": columns(numbers=make_pipeline(RobustScaler(), SimpleImputer())),
    "mean left": columns(numbers=make_pipeline(SimpleImputer(), StandardScaler(with_mean=False))),
    "scale left": columns(numbers=make_pipeline(SimpleImputer(), StandardScaler(with_std=False))),
    "centre left": columns(
        numbers=make_pipeline(SimpleImputer(), RobustScaler(with_centering=False))
    ),
    "largest size": columns(numbers=make_pipeline(MaxAbsScaler(), SimpleImputer())),
    "chosen by type": ColumnTransformer(
        [
            (
                "n",
                make_pipeline(SimpleImputer(), StandardScaler()),
                make_column_selector(dtype_include="number"),
            ),
            ("drop", "drop", ["colour"]),
        ]
    ),
    "the rest as it is": ColumnTransformer(
        [("c", OneHotEncoder(handle_unknown="ignore", sparse_output=False), [2])],
        remainder=SimpleImputer(),
    ),
    "by mask and slice": ColumnTransformer(
        [
            ("a", SimpleImputer(), [True, False, False, False]),
            ("b", "passthrough", slice(1, 2)),
            ("c", StandardScaler(), slice("shop", "shop")),
        ]
    ),
}


@pytest.mark.parametrize("name", PREPARATIONS)
def test_prepared_frames(name):
    frame, y = make_frame()
    model = make_pipeline(PREPARATIONS[name], ProportionalOdds(alpha=0.1)).fit(frame, y)
    rows = new_rows(frame)
    if name == "one level left out":
        # scikit-learn warns that an unknown level looks like the one left out.
        rows = rows[(rows["shop"] != 99) & (rows["colour"] != "violet")]
    proto = assert_agrees(model, rows)
    used = [one.name for one in proto.graph.input]
    assert set(used) <= set(frame.columns)
    assert ("colour" in used) == (name not in ("chosen by type", "by mask and slice"))


def test_only_used_columns_are_inputs():
    frame, y = make_frame()
    prepare = ColumnTransformer(
        [("n", SimpleImputer(), ["size"]), ("c", OneHotEncoder(), ["shop"])]
    )
    model = make_pipeline(prepare, ProportionalOdds(alpha=0.1)).fit(frame, y)
    assert [one.name for one in to_onnx(model, inputs="columns").graph.input] == ["size", "shop"]


def test_one_scaled_column_keeps_double_precision():
    X = np.linspace(1e6, 1e6 + 1, 60)[:, None]
    y = np.repeat([0, 1, 2], 20)
    model = make_pipeline(StandardScaler(), SVOR(kernel="linear", C=1e3)).fit(X, y)
    latent = run(to_onnx(model), X)["latent"]
    expected = model[-1].predict_latent(model[0].transform(X))
    np.testing.assert_allclose(latent, expected, rtol=1e-10, atol=1e-9)


def test_rules_with_nominal_columns():
    frame, y = make_frame()
    frame["grade"] = pd.Categorical(
        np.random.default_rng(1).choice(["low", "mid", "high"], len(frame)),
        categories=["low", "mid", "high"],
        ordered=True,
    )
    frame["new"] = np.arange(len(frame)) % 3 == 0
    y = np.clip(y + (frame["colour"] == "blue") - (frame["grade"] == "low"), 0, 3).to_numpy()
    for model in (RankRules(40, random_state=0), RankRules(20, loss="binary", random_state=0)):
        model.fit(frame, y)
        assert any("colour" in str(rule) for rule in model.rules_)
        rows = pd.concat([frame, frame.iloc[:30]], ignore_index=True)
        rows.loc[rows.index[-30:-20], "colour"] = "violet"
        rows.loc[rows.index[-20:-10], "colour"] = None
        proto = assert_agrees(model, rows)
        assert [one.name for one in proto.graph.input] == list(frame.columns)


def test_rules_with_nominal_numbers():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=200), rng.choice([2.0, 5.0, 9.0, 11.0], 200)])
    y = np.digitize(X[:, 0] + np.isin(X[:, 1], [2.0, 9.0]), [0.0, 1.0])
    model = RankRules(40, nominal=[1], random_state=0).fit(X, y)
    rows = np.vstack([X, [[0.0, 7.0], [0.5, np.nan], [np.nan, 2.0]]])
    proto = assert_agrees(model, rows)
    assert proto.graph.input[0].name == "X"


def test_searches_selections_and_rankers_in_pipelines():
    frame, y = make_frame()
    X = frame[["age", "shop"]].to_numpy(dtype=float)
    grid = GridSearchCV(
        make_pipeline(StandardScaler(), SelectKBest(k=1), ProportionalOdds()),
        {"proportionalodds__alpha": [0.1, 1.0]},
        cv=2,
    ).fit(X, y)
    assert_agrees(grid, X)
    assert_agrees(make_pipeline(None, "passthrough", LinearRankSVM()).fit(X, y), X)
    inside = ThresholdedRanker(make_pipeline(StandardScaler(), RankBoost(10))).fit(X, y)
    assert_agrees(inside, X)


def test_models_around_pipelines():
    frame, y = make_frame()
    inside = make_pipeline(columns(), ProportionalOdds(alpha=0.1))
    for model in (OrdinalCalibrator(inside, cv=3), ConformalOrdinal(inside, random_state=0)):
        proto = assert_agrees(model.fit(frame, y), new_rows(frame))
        assert [one.name for one in proto.graph.input] == list(frame.columns)
    whole = ConformalOrdinal(OrdinalCalibrator(inside, cv=3), random_state=0).fit(frame, y)
    trained = SimpleNamespace(estimator=whole, inputs=lambda X: X)
    found = run(to_onnx(trained), frame)
    np.testing.assert_array_equal(found["label"], whole.predict(frame))


def test_prepared_tables_of_a_schema():
    pytest.importorskip("echelon.tables")
    from echelon.model_selection.preparation import prepare
    from echelon.tables import Schema

    frame, y = make_frame()
    frame["sold"] = np.arange(len(frame)) % 3 == 0
    frame["day"] = pd.Timestamp("2024-02-01") + pd.to_timedelta(np.arange(len(frame)), unit="D")
    schema = Schema.of(frame)
    table = schema.apply(frame)
    model = make_pipeline(prepare(schema), ProportionalOdds(alpha=0.1)).fit(table, y)
    proto = assert_agrees(model, schema.apply(new_rows(frame)))
    assert sorted(one.name for one in proto.graph.input) == sorted(frame.columns)


@pytest.mark.parametrize("coding", ["scores", "thermometer"])
@pytest.mark.parametrize("tails", ["kept", "normal scores"])
def test_levels_and_heavy_tails_of_a_schema(coding, tails):
    pytest.importorskip("echelon.tables")
    from echelon.model_selection.preparation import prepare
    from echelon.tables import Schema

    frame, y = make_frame()
    rng = np.random.default_rng(0)
    levels = ["never", "now and then", "often", "always"]
    frame["answer"] = pd.Categorical(rng.choice(levels, len(frame)), levels, ordered=True)
    frame["paid"] = np.exp(3 * rng.normal(size=len(frame))) * (rng.random(len(frame)) < 0.7)
    schema = Schema.of(frame)
    preparation = prepare(schema).set_params(
        ordered__levelcodes__coding=coding, numbers__tailscores__tails=tails
    )
    model = make_pipeline(preparation, ProportionalOdds(alpha=0.1)).fit(schema.apply(frame), y)
    new = new_rows(frame)
    assert_agrees(model, schema.apply(new.assign(paid=1e6 * rng.random(len(new)))))


def test_polars_frames():
    pl = pytest.importorskip("polars", reason="polars is not installed")
    frame, y = make_frame()
    model = make_pipeline(columns(), ProportionalOdds(alpha=0.1)).fit(frame, y)
    proto = to_onnx(model)
    by_pandas = run(proto, frame)
    by_polars = run(proto, pl.from_pandas(frame))
    np.testing.assert_array_equal(by_polars["probabilities"], by_pandas["probabilities"])


def test_inputs_by_column_for_arrays():
    frame, y = make_frame()
    X = frame[["age", "shop"]].to_numpy(dtype=float)
    model = ProportionalOdds(alpha=0.1).fit(X, y)
    proto = to_onnx(model, inputs="columns", dtype="float32", target_opset=20)
    assert [one.name for one in proto.graph.input] == ["x0", "x1"]
    assert proto.opset_import[0].version == 20
    np.testing.assert_array_equal(run(proto, X)["label"], model.predict(X.astype(np.float32)))


def test_sample_is_compared():
    frame, y = make_frame()
    model = make_pipeline(columns(), ProportionalOdds(alpha=0.1)).fit(frame, y)
    to_onnx(model, sample=new_rows(frame))
    odd = ProportionalOdds(alpha=0.1).fit(frame[["age"]].to_numpy(), y)
    odd.predict_latent = lambda X: np.zeros(len(X))
    with pytest.raises(ExportError, match="disagrees with the model on 'latent'"):
        to_onnx(odd, sample=frame[["age"]].to_numpy())


def refused():
    frame, y = make_frame()
    X = frame[["age", "shop"]].to_numpy(dtype=float) / 10
    yield OrdinalReduction(LogisticRegression()).fit(X, y), "OrdinalReduction cannot be exported"
    yield LogisticRegression().fit(X, y > 1), "LogisticRegression cannot be exported"
    yield (
        AdaBoostOR(LogisticRegression(C=0.01), 2).fit(X, y),
        "LogisticRegression cannot be exported",
    )
    yield SVOR(kernel="pearson").fit(frame[["age", "shop", "shop"]].to_numpy(), y), "kernel Pearson"
    yield make_pipeline(PCA(1), ProportionalOdds()).fit(X, y), "PCA cannot be exported"
    yield (
        make_pipeline(FunctionTransformer(np.abs), ProportionalOdds()).fit(X, y),
        "FunctionTransformer with a function",
    )
    yield (
        make_pipeline(SimpleImputer(add_indicator=True), ProportionalOdds()).fit(X, y),
        "add_indicator=True cannot",
    )
    yield (
        make_pipeline(SimpleImputer(missing_values=3), ProportionalOdds()).fit(X, y),
        "missing_values=3 cannot",
    )
    yield OrdinalCalibrator(method="isotonic").fit(X, y), "method='isotonic' cannot"
    yield GPOR(likelihood="logit", optimizer=None).fit(X, y), "likelihood='logit' cannot"
    yield (
        RankBoost(2, estimator=LogisticRegression()).fit(X, y > 1),
        "RankBoost with a base ranker of its own",
    )


def test_refusals():
    for model, text in refused():
        with pytest.raises(ExportError, match=text) as caught:
            to_onnx(model)
        assert str(caught.value).count(". ") == 0


def test_refusal_names_what_can_be_exported():
    with pytest.raises(ExportError, match=r"models that can are AdaBoostOR, .*ThresholdedRanker"):
        to_onnx(LogisticRegression().fit([[0.0], [1.0]], [0, 1]))


def test_bad_options():
    frame, y = make_frame()
    model = ProportionalOdds(alpha=0.1).fit(frame[["age"]], y)
    for options, text in (
        ({"target_opset": 12}, "target_opset must be an integer from 18"),
        ({"inputs": "rows"}, "inputs must be"),
        ({"dtype": "float16"}, "dtype must be"),
    ):
        with pytest.raises(ValueError, match=text):
            to_onnx(model, **options)
    whole = make_pipeline(columns(), ProportionalOdds(alpha=0.1)).fit(frame, y)
    with pytest.raises(ValueError, match="column 'colour' holds texts"):
        to_onnx(whole, inputs="matrix")
    with pytest.raises(ValueError, match="must have the column 'colour'"):
        onnx_inputs(to_onnx(whole), frame.drop(columns="colour"))


def test_model_names_itself():
    frame, y = make_frame()
    proto = to_onnx(ProportionalOdds(alpha=0.1).fit(frame[["age"]], y))
    onnx.checker.check_model(proto, full_check=True)
    assert (proto.graph.name, proto.producer_name) == ("ProportionalOdds", "echelon")
    # Older runtimes refuse graphs whose nodes have no names of their own.
    names = [node.name for node in proto.graph.node]
    assert all(names) and len(set(names)) == len(names)


@pytest.mark.parametrize("model", [None, "LinearSVOR"])
def test_what_is_no_model(model):
    with pytest.raises(TypeError, match="model must be a fitted model; found"):
        to_onnx(model)


@pytest.mark.parametrize(
    "categories",
    [
        pd.Categorical([pd.Timestamp("2020-01-01"), pd.Timestamp("2021-01-01")] * 20),
        pd.Categorical([7, "seven"] * 20, categories=[7, "seven"]),
    ],
    ids=["dates", "a number and a text"],
)
def test_categories_that_onnx_does_not_have(categories):
    frame = pd.DataFrame({"kind": categories, "x": np.arange(40.0)})
    model = RankRules(5, random_state=0).fit(frame, np.arange(40) % 2 + np.arange(40) // 20)
    with pytest.raises(ExportError, match=r"Column 'kind' holds categories that are neither texts"):
        to_onnx(model)

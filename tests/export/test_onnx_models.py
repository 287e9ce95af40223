"""Every exported model gives in onnxruntime what it gives in Python."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils import get_tags

from echelon import (
    GPOR,
    SVOR,
    AdaBoostOR,
    LinearARD,
    LinearRankSVM,
    LinearSVOR,
    MarginLPRanker,
    OnlineRankSVM,
    ORBoost,
    OrdinalBagging,
    ORStump,
    ORTree,
    PRank,
    ProportionalOdds,
    RankBoost,
    RankPerceptron,
    RankRules,
    RankSVM,
    ThresholdedRanker,
)
from echelon.meta.calibration import OrdinalCalibrator
from echelon.meta.conformal import ConformalOrdinal

pytest.importorskip("onnx", reason="onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

from echelon.export import onnx_inputs, to_onnx  # noqa: E402 - after the packages it needs
from echelon.export.columns import ORDINAL, RANKERS  # noqa: E402

METHODS = {
    "decision": "decision_function",
    "latent": "predict_latent",
    "probabilities": "predict_proba",
}
LINKS = ("logit", "probit", "cloglog", "loglog", "cauchit")

MODELS = {
    **{f"proportional odds, {link}": ProportionalOdds(link, alpha=0.1) for link in LINKS},
    "proportional odds, zero-one": ProportionalOdds(alpha=0.1, cost="zero_one"),
    "proportional odds, squared": ProportionalOdds("probit", alpha=0.1, cost="squared"),
    "linear SVOR": LinearSVOR(),
    "linear SVOR, explicit": LinearSVOR(constraints="explicit"),
    "PRank": PRank(20, random_state=0),
    "PRank, whole numbers": PRank(20, averaged=False, random_state=0),
    "SVOR, Gaussian": SVOR(gamma=0.3),
    "SVOR, a rate for each input": SVOR(gamma=[0.1, 0.2, 0.0, 0.4]),
    "SVOR, linear": SVOR(kernel="linear"),
    "SVOR, polynomial": SVOR(kernel="poly", degree=5, gamma=0.1, coef0=1.0),
    "SVOR, sigmoid": SVOR(kernel="sigmoid", gamma=0.01),
    "SVOR, probabilities": SVOR(gamma=0.3, probability=True, random_state=0),
    "GPOR": GPOR(optimizer=None),
    "GPOR, relevance": GPOR(kernel="rbf_ard", optimizer=None, cost="absolute"),
    "GPOR, linear": GPOR(kernel=LinearARD([1.0, 1.0, 1.0, 1.0]), optimizer=None),
    "GPOR, inducing points": GPOR(n_inducing=15, optimizer=None, random_state=0),
    "stump": ORStump(),
    "tree": ORTree(max_depth=5),
    "leaf": ORTree(min_samples_leaf=120),
    "bagging": OrdinalBagging(n_estimators=10, random_state=0),
    "bagging, some inputs": OrdinalBagging(n_estimators=10, max_features=0.5, random_state=0),
    "bagging, linear": OrdinalBagging(ProportionalOdds(alpha=1.0), 3, random_state=0),
    "bagging, without probabilities": OrdinalBagging(LinearSVOR(), 3, random_state=0),
    "AdaBoost.OR": AdaBoostOR(n_estimators=30),
    "AdaBoost.OR, squared": AdaBoostOR(n_estimators=30, cost="squared"),
    "AdaBoost.OR, zero-one": AdaBoostOR(n_estimators=30, cost="zero_one"),
    "AdaBoost.OR, trees": AdaBoostOR(ORTree(max_depth=3), n_estimators=10),
    "AdaBoost.OR, perceptrons": AdaBoostOR(PRank(10), n_estimators=4, random_state=0),
    **{
        f"ORBoost, {base}, {variant}": ORBoost(15, base=base, variant=variant, random_state=0)
        for base in ("stump", "perceptron", "sigmoid")
        for variant in ("all", "left_right", "pairs")
    },
    **{
        f"rules, {loss}": RankRules(25, loss=loss, random_state=0)
        for loss in ("rank", "threshold", "binary", "absolute")
    },
    "thresholded ranker": ThresholdedRanker(RankBoost(15), cv=3),
    "thresholded ranker, linear": ThresholdedRanker(LinearRankSVM(), thresholds="exponential"),
    "calibrated": OrdinalCalibrator(LinearSVOR()),
    "calibrated, squared cost": OrdinalCalibrator(LinearSVOR(), cost="squared"),
    "calibrated, its own labels": OrdinalCalibrator(AdaBoostOR(n_estimators=10), decision="inner"),
    "calibrated votes": OrdinalCalibrator(AdaBoostOR(n_estimators=10)),
    "calibrated ranker": OrdinalCalibrator(LinearRankSVM()),
    "conformal": ConformalOrdinal(ProportionalOdds(alpha=0.1), random_state=0),
    "linear ranker": LinearRankSVM(),
    "ranking perceptron": RankPerceptron(5, random_state=0),
    "margin ranker": MarginLPRanker(),
    "online ranker": OnlineRankSVM(random_state=0),
    "RankBoost": RankBoost(20),
    "RankBoost, abstaining": RankBoost(20, missing="abstain"),
    "ranking machine": RankSVM(gamma=0.3),
    "ranking machine, few rows": RankSVM(gamma=0.3, n_components=10, random_state=0),
}


def make_rows(seed=0, n=160, missing=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(1)
    latent = X @ [1.0, -0.7, 0.4, 0.0] + 0.4 * np.sin(3 * X[:, 3]) + 0.5 * rng.logistic(size=n)
    y = np.digitize(latent, [-1.0, 0.3, 1.1])
    if missing:
        X[rng.random(X.shape) < 0.15] = np.nan
    return X, y


def takes_missing(model):
    return get_tags(model).input_tags.allow_nan


def run(proto, X):
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in proto.graph.output]
    return dict(zip(names, session.run(None, onnx_inputs(proto, X)), strict=True))


def assert_agrees(model, X, *, tolerance=1e-8, **options):
    found = run(to_onnx(model, **options), X)
    for name, values in found.items():
        expected = np.asarray(getattr(model, METHODS.get(name, "predict"))(X))
        assert values.shape == expected.shape, name
        if name == "label":
            np.testing.assert_array_equal(values, expected)
        else:
            np.testing.assert_allclose(values, expected, rtol=tolerance, atol=tolerance)
    return found


def rows_to_try(model, X):
    """Rows of training, new ones, tied ones, and ones far away; with gaps if they are taken."""
    rng = np.random.default_rng(1)
    far = np.array([[1e6, 0, 0, 0], [-1e6, 1e6, -1e6, 1e6], [0, 0, 0, 1e-300], [1e3] * 4])
    rows = [X, rng.normal(size=(200, 4)), np.zeros((2, 4)), far]
    if takes_missing(model):
        gaps = rng.normal(size=(60, 4)).round(1)
        gaps[rng.random(gaps.shape) < 0.4] = np.nan
        rows += [gaps, np.full((1, 4), np.nan)]
    else:
        rows[0] = np.nan_to_num(X)
    return np.vstack(rows)


def outputs_of(model):
    """What Python's model can be asked."""
    if not hasattr(model, "classes_"):
        return {"score"}
    return {"label"} | {name for name, method in METHODS.items() if hasattr(model, method)}


@pytest.mark.parametrize("name", MODELS)
def test_agrees_with_python(name):
    model = MODELS[name]
    X, y = make_rows(missing=takes_missing(model))
    model.fit(X, y)
    # Separate thresholds go through 1 − P(y > k), which rounds where P is near one.
    tolerance = 1e-5 if name == "rules, binary" else 1e-8
    found = assert_agrees(model, rows_to_try(model, X), tolerance=tolerance)
    assert set(found) == outputs_of(model)


def test_every_converter_is_tried():
    tried = {type(model) for model in MODELS.values()}
    assert tried == set(ORDINAL) | set(RANKERS)


@pytest.mark.parametrize(
    "model",
    [
        *(ProportionalOdds(link, alpha=0.1) for link in LINKS),
        LinearSVOR(),
        SVOR(gamma=0.3, probability=True, random_state=0),
        GPOR(optimizer=None),
        ORStump(),
        ORTree(max_depth=3),
        OrdinalBagging(n_estimators=5, random_state=0),
        AdaBoostOR(n_estimators=10, cost="squared"),
        ORBoost(10, random_state=0),
        RankRules(15, random_state=0),
        RankRules(15, loss="binary", random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("case", ["two classes", "levels without rows", "texts", "halves"])
def test_scales(model, case):
    X, y = make_rows()
    if case == "two classes":
        y = np.where(y > 1, 7, 3)
    elif case == "texts":
        y = np.array(["poor", "fair", "good", "best"])[y]
    elif case == "halves":
        y = y / 2
    levels = {"texts": ["poor", "fair", "good", "best"]}
    if case == "levels without rows":
        levels, y = {case: list(range(7))}, 2 * (y > 0) + 2 * (y > 1) + 1
    model = model.__class__(**model.get_params(deep=False)).set_params(classes=levels.get(case))
    found = assert_agrees(model.fit(X, y), rows_to_try(model, X), tolerance=1e-6)
    assert found["decision"].shape[1:] == (
        () if case == "two classes" else (len(model.classes_) - 1,)
    )
    if case == "levels without rows" and isinstance(model, ProportionalOdds | ORBoost | RankRules):
        assert (found["probabilities"][:, [0, 2, 4, 6]] == 0.0).all()


def test_calibration_of_infinite_margins():
    X, y = make_rows()
    levels = list(range(-1, 7))
    rules = RankRules(15, loss="binary", classes=levels, random_state=0)
    model = OrdinalCalibrator(rules, classes=levels).fit(X, np.array([0, 1, 3, 5])[y])
    assert np.isinf(model.estimator_.decision_function(X)).any()
    assert_agrees(model, X, tolerance=1e-6)


def test_ties_of_votes_count_as_above():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    model = OrdinalBagging(ORStump(), 2, bootstrap=False, max_features=1, random_state=1)
    model.fit(np.repeat(X, 5, axis=0), np.repeat([0, 1, 0, 1], 5))
    assert len({tuple(f) for f in model.estimators_features_}) == 2
    found = assert_agrees(model, X)
    assert (found["decision"] == np.finfo(float).tiny).any()


def test_scores_on_a_threshold_stay_below():
    X, y = make_rows()
    model = PRank(20, averaged=False, random_state=0).fit(X.round(), y)
    grid = np.array(np.meshgrid(*[np.arange(-4.0, 5.0)] * 4)).reshape(4, -1).T
    assert (model.decision_function(grid) == 0.0).any()
    assert_agrees(model, grid, tolerance=0.0)


@pytest.mark.parametrize("link", LINKS)
def test_probabilities_far_away(link):
    model = ProportionalOdds(link).fit(
        [[0.0], [1.0], [1.0], [2.0], [0.0], [2.0]], [0, 0, 1, 1, 2, 2]
    )
    model.coef_, model.thresholds_ = np.array([1.0]), np.array([-1.0, 0.5])
    X = np.concatenate([-np.logspace(-3, 50, 40), np.logspace(-3, 50, 40)])[:, None]
    found = run(to_onnx(model), X)
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), atol=1e-14)
    np.testing.assert_allclose(found["probabilities"].sum(axis=1), 1.0)


def test_cuts_of_stumps_are_exact():
    # Neighbouring numbers of single precision would fall on one side of these cuts.
    x = 1.0 + np.arange(8) * 1e-12
    model = AdaBoostOR(n_estimators=20).fit(
        np.repeat(x, 4)[:, None], np.repeat([0, 1, 0, 1, 2, 1, 2, 2], 4)
    )
    around = np.concatenate([x, np.nextafter(x, 0), np.nextafter(x, 2), x + 0.5e-12])[:, None]
    assert_agrees(model, around)


def test_single_precision_inputs():
    X, y = make_rows()
    model = ProportionalOdds(alpha=0.1).fit(X, y)
    proto = to_onnx(model, dtype="float32")
    found = run(proto, X)
    assert onnx_inputs(proto, X)["X"].dtype == np.float32
    rounded = X.astype(np.float32).astype(np.float64)
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(rounded), atol=1e-14)


def test_no_rows_and_one_row():
    X, y = make_rows()
    for model in (ProportionalOdds(), RankRules(5, random_state=0), SVOR(), ORTree(max_depth=2)):
        proto = to_onnx(model.fit(X, y))
        assert run(proto, X[:1])["label"].shape == (1,)
        assert run(proto, X[:0])["decision"].shape == (0, 3)


def test_sparse_support_rows():
    sparse = pytest.importorskip("scipy.sparse")
    X, y = make_rows()
    model = SVOR(gamma=0.3).fit(sparse.csr_matrix(X), y)
    found = run(to_onnx(model), X)
    np.testing.assert_allclose(found["latent"], model.predict_latent(X), atol=1e-9)


def test_precomputed_kernel():
    X, y = make_rows()
    model = SVOR(kernel="precomputed").fit(X @ X.T, y)
    assert_agrees(model, X @ X.T)

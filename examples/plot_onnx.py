"""
Models without Python
=====================

``echelon.export.to_onnx`` turns fitted models and whole pipelines into ONNX graphs, which run in
many languages and on many devices. The graph computes in double precision and decodes labels as the
model does.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

try:
    import onnx  # noqa: F401 - what echelon.export needs
    import onnxruntime
except ImportError:
    print("This example needs onnx and onnxruntime: pip install 'echelon[onnx]' onnxruntime.")
    raise SystemExit(0) from None
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from echelon import SVOR, AdaBoostOR, ProportionalOdds, RankRules
from echelon.datasets import load_swd
from echelon.export import onnx_inputs, to_onnx


def run(proto, X):
    """Outputs of a graph by their names."""
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in proto.graph.output]
    return dict(zip(names, session.run(None, onnx_inputs(proto, X)), strict=True))


# %%
# A linear, a stump, a rule and a kernel model. Labels are the same, and numbers agree far below
# what any use would notice.
X, y = load_swd(return_X_y=True)
X = np.asarray(X, dtype=float)
models = {
    "linear": ProportionalOdds("probit"),
    "stumps": AdaBoostOR(n_estimators=50),
    "rules": RankRules(100, random_state=0),
    "kernel": SVOR(gamma=0.02),
}
differences = {}
for name, model in models.items():
    found = run(to_onnx(model.fit(X, y)), X)
    differences[name] = np.abs(found["decision"] - model.decision_function(X)).max()
    assert np.array_equal(found["label"], model.predict(X))
    if "probabilities" in found:
        assert np.allclose(found["probabilities"], model.predict_proba(X), atol=1e-5)
    print(f"{name}: outputs {', '.join(found)}; margins differ by {differences[name]:.1e}")
assert max(differences.values()) < 1e-5

# %%
# A pipeline on a data frame has an input for every column, texts among them; labels can be texts.
frame = pd.DataFrame(X[:, :3], columns=["pay", "hours", "noise"])
frame["shift"] = np.where(X[:, 3] > 2, "night", "day")
frame.loc[::7, "pay"] = np.nan
frame.loc[::11, "shift"] = None
labels = np.array(["poor", "fair", "good", "best"])[y - y.min()]
prepare = make_column_transformer(
    (make_pipeline(SimpleImputer(), StandardScaler()), ["pay", "hours", "noise"]),
    (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["shift"]),
)
pipeline = make_pipeline(prepare, ProportionalOdds(classes=["poor", "fair", "good", "best"]))
proto = to_onnx(pipeline.fit(frame, labels), sample=frame)
found = run(proto, frame)
print([(one.name, one.type.tensor_type.elem_type) for one in proto.graph.input])
assert [one.name for one in proto.graph.input] == ["pay", "hours", "noise", "shift"]
assert np.array_equal(found["label"], pipeline.predict(frame))

# %%
# Probabilities of the graph against those of the model.
figure, ax = plt.subplots(figsize=(3.8, 3.6), layout="constrained")
ax.plot([0, 1], [0, 1], color="0.8", zorder=0)
for k, label in enumerate(pipeline.classes_):
    ax.plot(pipeline.predict_proba(frame)[:, k], found["probabilities"][:, k], ".", label=label)
ax.set(xlabel="P(label) in Python", ylabel="P(label) in onnxruntime")
ax.legend(frameon=False)

"""
Logging runs with MLflow
========================

MLflow keeps settings, figures and the model of every run. Here its store is a temporary folder;
nothing goes over a network.
"""

# %%
import logging
import os
import tempfile
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_validate

from echelon import ProportionalOdds
from echelon.datasets import load_swd
from echelon.metrics import get_scorer

os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
os.environ["MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR"] = "false"
# A library that this package does not decide about may warn about its own future.
warnings.filterwarnings("ignore", module=r"(mlflow|pydantic|sqlalchemy).*")
try:
    import mlflow
    import mlflow.sklearn
    from mlflow.models import infer_signature
except ImportError:
    print("This example needs mlflow: pip install mlflow-skinny.")
    raise SystemExit(0) from None

logging.getLogger("mlflow").setLevel(logging.ERROR)
X, y = load_swd(return_X_y=True, as_frame=True)
y = y.cat.codes.to_numpy()
folder = tempfile.TemporaryDirectory()
mlflow.set_tracking_uri(Path(folder.name, "runs").as_uri())
mlflow.set_experiment("ordinal")

# %%
# A run for every strength of the penalty: parameters, cross-validated figures, and the model with
# the signature of its inputs and outputs.
scoring = {
    "mae": get_scorer("neg_mean_absolute_rank_error"),
    "kappa": get_scorer("quadratic_weighted_kappa"),
}
for alpha in (0.1, 10.0, 1000.0):
    with mlflow.start_run(run_name=f"alpha={alpha:g}"):
        model = ProportionalOdds(alpha=alpha)
        checked = cross_validate(model, X, y, cv=5, scoring=scoring)
        mlflow.log_params(model.get_params())
        mlflow.log_metric("mae", -checked["test_mae"].mean())
        mlflow.log_metric("kappa", checked["test_kappa"].mean())
        model.fit(X, y)
        mlflow.sklearn.log_model(
            model,
            name="model",
            signature=infer_signature(X, model.predict(X)),
            serialization_format="cloudpickle",
            pip_requirements=[],
        )

# %%
# Runs can be searched, and the best model loaded back.
best, *others = mlflow.search_runs(output_format="list", order_by=["metrics.mae ASC"])
print(best.info.run_name, {name: round(value, 4) for name, value in best.data.metrics.items()})
assert len(others) == 2
assert best.data.metrics["mae"] == min(run.data.metrics["mae"] for run in (best, *others))
loaded = mlflow.sklearn.load_model(f"runs:/{best.info.run_id}/model")
assert loaded.alpha == float(best.data.params["alpha"])
assert loaded.predict(X).shape == y.shape and np.isin(loaded.predict(X), y).all()

# %%
# The figures of all runs.
runs = sorted((best, *others), key=lambda run: float(run.data.params["alpha"]))
figure, ax = plt.subplots(figsize=(5.6, 3.0), layout="constrained")
ax.plot(
    [float(run.data.params["alpha"]) for run in runs],
    [run.data.metrics["mae"] for run in runs],
    marker="o",
)
ax.set(xscale="log", xlabel="alpha", ylabel="mean absolute error, held out")
folder.cleanup()

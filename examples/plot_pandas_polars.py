"""
Data frames in and out
======================

Inputs may be pandas, polars or pyarrow tables. An ordered category names the order of the labels,
and predictions come back as the same kind of category. Transformers speak the library that
``set_output`` asks for.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

try:
    import polars as pl
except ImportError:
    print("This example needs polars: pip install polars.")
    raise SystemExit(0) from None
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from echelon import LinearSVOR, ProportionalOdds
from echelon.datasets import load_swd

numbers, codes = load_swd(return_X_y=True)
words = ["poor", "fair", "good", "excellent"]
X = pd.DataFrame(numbers, columns=[f"q{j}" for j in range(10)])
X["shift"] = np.where(np.arange(len(X)) % 3 == 0, "night", "day")
y = pd.Series(pd.Categorical.from_codes(codes - codes.min(), words, ordered=True), name="rating")

# %%
# pandas: the order is that of the category, not of the alphabet.
prepare = make_column_transformer(
    (StandardScaler(), [f"q{j}" for j in range(10)]),
    (OneHotEncoder(sparse_output=False), ["shift"]),
    verbose_feature_names_out=False,
).set_output(transform="pandas")
model = make_pipeline(prepare, LinearSVOR()).fit(X, y)
predicted = model.predict(X)
print(type(predicted).__name__, list(predicted.categories))
assert isinstance(predicted, pd.Categorical) and list(predicted.categories) == words
assert predicted.ordered
assert list(model[-1].feature_names_in_) == list(prepare.get_feature_names_out())

# %%
# polars: an ``Enum`` has an order. The same rows give the same model.
X_polars, y_polars = (
    pl.from_pandas(X),
    pl.Series("rating", y.astype(str).to_list()).cast(pl.Enum(words)),
)
prepare.set_output(transform="polars")
same = make_pipeline(prepare, LinearSVOR()).fit(X_polars, y_polars)
back = same.predict(X_polars)
print(back.dtype)
assert back.dtype == pl.Enum(words)
assert back.to_list() == list(predicted)
assert isinstance(prepare.transform(X_polars), pl.DataFrame)

# %%
# Tables of results come in the library of choice.
summary = (
    ProportionalOdds().fit(prepare.transform(X_polars)[:, :10], y_polars).summary(backend="polars")
)
print(summary.head(3))
assert isinstance(summary, pl.DataFrame)

effects = summary.head(10).sort("estimate")
figure, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
ax.errorbar(
    effects["estimate"],
    effects["term"].to_list(),
    xerr=1.96 * effects["std_error"].to_numpy(),
    fmt="o",
)
ax.axvline(0.0, color="0.7", linewidth=0.8, zorder=0)
ax.set(xlabel="effect on the latent score, with 95 % intervals")

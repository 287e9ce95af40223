"""
A table with gaps and words
===========================

A data frame with numbers, words and missing cells goes through a ``ColumnTransformer`` into an
ordinal model. The pipeline is one estimator: cross-validation fits the imputer, the scaler and the
encoder on the training part of each fold only.
"""

# %%
# The American National Election Study of 1996 asked voters for their party on a scale of seven
# steps. Some columns are turned into words here, and some cells are emptied.
import numpy as np
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from echelon import ProportionalOdds
from echelon.datasets import load_anes96
from echelon.metrics import mean_absolute_rank_error
from echelon.plots import OrdinalConfusionDisplay

X, y = load_anes96(return_X_y=True, as_frame=True)
X["vote"] = X["vote"].map({0.0: "Clinton", 1.0: "Dole"})
rng = np.random.default_rng(0)
X.loc[rng.random(len(X)) < 0.1, "income"] = np.nan
X.loc[rng.random(len(X)) < 0.1, "vote"] = None
print(X.head(3))

# %%
# Numbers are imputed and scaled, words become columns of zeros and ones; a missing word is a
# column of its own.
prepare = ColumnTransformer(
    [
        (
            "numbers",
            make_pipeline(SimpleImputer(strategy="median"), StandardScaler()),
            make_column_selector(dtype_include="number"),
        ),
        ("words", OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["vote"]),
    ]
)
model = make_pipeline(prepare, ProportionalOdds(alpha=1.0))
model.fit(X, y)
print(model[:-1].get_feature_names_out())
assert list(model[:-1].get_feature_names_out())[-1].startswith("words__vote")

# %%
# Labels come back as the ordered category that came in, and every row was predicted by a model
# that has not seen it.
predicted = cross_val_predict(model, X, y, cv=5)
error = mean_absolute_rank_error(y, predicted)
median = mean_absolute_rank_error(y, [y.cat.categories[int(y.cat.codes.median())]] * len(y))
print(f"off by {error:.2f} steps on average; the middle label for everybody by {median:.2f}")
assert error < 0.7 * median

# %%
# Errors on the ordered scale: far from the diagonal there is little.
OrdinalConfusionDisplay.from_predictions(y, predicted, name="proportional odds")

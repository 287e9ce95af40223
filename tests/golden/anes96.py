"""Make anes96.csv: reference values of a proportional-odds fit by statsmodels.

Run ``python tests/golden/anes96.py`` with the bench extra installed. First line: the
log-likelihood; then a coefficient and its standard error per line, for standardised inputs.
"""

from pathlib import Path

import numpy as np
from statsmodels.miscmodels.ordinal_model import OrderedModel

from echelon.datasets import load_anes96

study = load_anes96()
codes = np.array([list(study.classes).index(label) for label in study.target])
Z = (study.data - study.data.mean(axis=0)) / study.data.std(axis=0)
model = OrderedModel(codes, Z, distr="logit")
first = model.fit(method="bfgs", disp=0, maxiter=500)
fit = model.fit(method="newton", start_params=first.params, disp=0, maxiter=50)
d = Z.shape[1]
lines = [(fit.llf, 0.0), *zip(fit.params[:d], fit.bse[:d], strict=True)]
np.savetxt(Path(__file__).with_suffix(".csv"), lines, delimiter=",", fmt="%.12g")

"""
Saving models
=============

joblib keeps any fitted estimator, but loading such a file can run any code, so it is for files of
your own. skops writes a file that can be looked into before anything is loaded.
"""

# %%
import tempfile
import zipfile
from pathlib import Path

import joblib
import numpy as np

try:
    import skops.io
except ImportError:
    print("This example needs skops: pip install 'echelon[examples]'.")
    raise SystemExit(0) from None
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from echelon import AdaBoostOR, RankRules
from echelon.datasets import load_lev
from echelon.plots import LatentDisplay

X, y = load_lev(return_X_y=True)
model = make_pipeline(StandardScaler(), AdaBoostOR(n_estimators=30)).fit(X, y)
folder = tempfile.TemporaryDirectory()

# %%
# joblib, for files that nobody else writes.
path = Path(folder.name, "model.joblib")
joblib.dump(model, path)
assert np.array_equal(joblib.load(path).predict_proba(X), model.predict_proba(X))

# %%
# skops lists the types in the file. Those of this package are known and can be trusted; the list
# is checked before the file is loaded.
path = Path(folder.name, "model.skops")
skops.io.dump(model, path)
found = skops.io.get_untrusted_types(file=path)
print("\n".join(found))
assert found and all(name.startswith("echelon.") for name in found)
loaded = skops.io.load(path, trusted=found)
assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))

# %%
# The file is a zip archive of numbers and a description; there is no code in it.
with zipfile.ZipFile(path) as archive:
    names = archive.namelist()
print(f"{len(names)} parts, {path.stat().st_size / 1024:.0f} kB")
assert "schema.json" in names

# %%
# A file with a function that this package does not know is refused by name.
strange = make_pipeline(FunctionTransformer(np.linalg.qr), RankRules(5, random_state=0))
strange.steps[1][1].fit(X, y)
path = Path(folder.name, "strange.skops")
skops.io.dump(strange, path)
allowed = [t for t in skops.io.get_untrusted_types(file=path) if t.startswith("echelon.")]
refusal = ""
try:
    skops.io.load(path, trusted=allowed)
except skops.io.exceptions.UntrustedTypesFoundException as error:
    refusal = str(error)
print(f"refused: {refusal}")
assert "numpy.linalg.qr" in refusal
folder.cleanup()

# %%
# The model that came back is the one that went out.
LatentDisplay.from_estimator(loaded, X, y, name="loaded")

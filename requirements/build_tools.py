"""Print what must be there before anything is built; setuptools is for peers that are source."""

import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
print(*project["build-system"]["requires"], "setuptools", sep="\n")

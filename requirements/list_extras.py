"""Print everything that the lock covers: run-time, all extras, and the build tools."""

import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
wanted = {*project["build-system"]["requires"], *project["project"]["dependencies"]}
for extra in project["project"]["optional-dependencies"].values():
    wanted.update(extra)
print(*sorted(name for name in wanted if not name.startswith("echelon")), sep="\n")

#!/bin/sh
# Give dist/*.whl the tag of the oldest Linux that it runs on; then install it into a fresh environment whose PATH
# has no compiler, and use it. Argument: the python whose tools repair the wheel.
set -eu
tools=$(dirname "$1")
python=$("$1" -c 'import sys; print(getattr(sys, "_base_executable", sys.executable))')
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
wheel=$(ls "$PWD"/dist/*.whl)
if [ "$(uname)" = Linux ]; then
  PATH="$tools:$PATH" "$tools/auditwheel" repair --wheel-dir "$room/repaired" "$wheel"
  rm "$wheel"
  mv "$room"/repaired/*.whl dist/
  wheel=$(ls "$PWD"/dist/*manylinux*.whl)
fi
"$python" -m venv "$room/venv"
lock="$PWD/requirements/lock/demo.txt"
cd "$room"
bare() {
  env CC=/nonexistent PATH="$room/venv/bin" "$@"
}
bare python -m pip --quiet install --only-binary :all: --require-hashes --requirement "$lock"
bare python -m pip --quiet install --no-index "echelon[cli] @ file://$wheel"
bare echelon compare --example esl --folds 2 --repeats 1
echo "$(basename "$wheel") works without a compiler"

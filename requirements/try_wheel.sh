#!/bin/sh
# Install dist/*.whl into a fresh environment whose PATH has no compiler, and use it.
set -eu
python=$("$1" -c 'import sys; print(getattr(sys, "_base_executable", sys.executable))')
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
"$python" -m venv "$room/venv"
wheel=$(ls "$PWD"/dist/*.whl)
lock="$PWD/requirements/lock.txt"
cd "$room"
env CC=/nonexistent PATH="$room/venv/bin" "$room/venv/bin/python" -m pip --quiet install \
  --only-binary :all: --constraint "$lock" "echelon[cli] @ file://$wheel"
env CC=/nonexistent PATH="$room/venv/bin" "$room/venv/bin/echelon" compare --example esl --folds 2 --repeats 1
echo "the wheel works without a compiler"

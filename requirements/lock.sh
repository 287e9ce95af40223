#!/bin/sh
# Pin the newest versions of everything, for every platform and Python that Echelon supports, with the
# hashes of all their files. Each file in requirements/lock is one set that pip installs with --require-hashes;
# a package has the same version in all of them. Arguments: python and uv.
set -eu
python=$1
uv=$2
all=build/lock/all.txt
rm -rf build/lock && mkdir -p build/lock requirements/lock

compile() {
  "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate "$@" > /dev/null
}

"$python" requirements/build_tools.py > build/lock/tools.in
echo uv > build/lock/uv.in
compile pyproject.toml --all-extras build/lock/tools.in build/lock/uv.in --output-file $all
part() {
  set_name=$1
  shift
  compile --constraint $all "$@" --output-file build/lock/part.txt
  mv build/lock/part.txt "requirements/lock/$set_name.txt"
}
part tools build/lock/tools.in
part uv build/lock/uv.in
part demo pyproject.toml --extra cli --extra report
part dev pyproject.toml --extra dev
part bench pyproject.toml --extra cli --extra bench

# Start with `make demo`; while editing `make check`, before a commit `make test`. All set up .venv by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
PIP := $(BIN)/pip --quiet --disable-pip-version-check
LOCK := requirements/lock.txt
SOURCES := $(shell find src -type f -not -name '*.pyc' -not -path '*/__pycache__/*')
BUILD_DIR := build/meson
# The quick tier: the concepts, two families, and two promises of every public estimator.
CONTRACT := tests/contract/test_
QUICK := tests/_utils tests/ordinal tests/kernels tests/pairs/test_pair_set.py tests/linear tests/tree \
  tests/test_package.py $(CONTRACT)every_estimator_is_tested.py $(CONTRACT)label_containers.py \
  $(CONTRACT)ordinal_contract.py::test_predict_decodes_the_margins \
  $(CONTRACT)ordinal_contract.py::test_clone_and_pickle \
  $(CONTRACT)ranker_contract.py::test_most_pairs_are_ordered_rightly $(CONTRACT)ranker_contract.py::test_rank

.PHONY: demo test lint docs bench reproduce wheel lock clean help

help: ## Show the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /: /'

demo: $(VENV)/.demo ## Leaderboard of ordinal models on an embedded data set
	@echo "== echelon compare --example lev"
	@$(BIN)/echelon compare --example lev --repeats 1 --budget 45s --out leaderboard.csv

# A process that is done takes tests from the other.
PROCESSES := -n 2 --dist worksteal
# The tests run in two processes, so that more threads of each would only wait for each other.
check test coverage: export OPENBLAS_NUM_THREADS := 1
check test coverage: export OMP_NUM_THREADS := 1

.PHONY: check coverage
check: $(VENV)/.dev lint ## Static checks and the quick tier of tests, in about a minute
	@echo "== quick tests" && $(BIN)/python -m pytest -q $(PROCESSES) $(QUICK)

coverage: $(VENV)/.dev ## Line and branch coverage of the package by all tests
	@$(BIN)/python -m pytest -q $(PROCESSES) --cov --cov-report=term:skip-covered --cov-report=html:build/coverage

test: $(VENV)/.dev lint ## Every test and every static check
	@echo "== tests"
	@$(BIN)/python -m pytest $(PROCESSES) $(PYTEST_ARGS)
	@echo "== examples in docstrings and documents"
	@$(BIN)/python -m pytest -q $(PROCESSES) --doctest-modules --doctest-glob='*.md' \
	  --pyargs echelon --ignore-glob='*/cli/__main__.py' README.md docs

lint: $(VENV)/.dev
	@echo "== ruff" && $(BIN)/ruff check . && $(BIN)/ruff format --check .
	@echo "== mypy" && $(BIN)/mypy
	@echo "== import-linter" && PYTHONPATH=src $(BIN)/lint-imports --no-cache

docs: $(VENV)/.dev ## The site in build/site; a warning is an error
	@$(BIN)/python -m sphinx -E -W --keep-going -q -d build/doctrees docs build/site
	@echo "== site: build/site/index.html"

bench: $(VENV)/.bench ## Ours and the peers side by side; ratios and scaling exponents
	@$(BIN)/python -m benchmarks $(BENCH_ARGS)

reproduce: $(VENV)/.dev ## A published table or plot measured again, as in ARGS="ck07-table2 --effort quick"
	@$(BIN)/python -m reproduction $(or $(ARGS),--list)

wheel: $(VENV)/.dev ## Source archive and wheel in dist/, tried where there is no compiler
	@rm -rf dist && $(BIN)/python -m build
	@sh requirements/try_wheel.sh $(CURDIR)/$(BIN)/python

lock: ## Pin the newest versions of everything
	@rm -rf build/lock && $(PYTHON) -m venv build/lock
	@build/lock/bin/pip --quiet install --upgrade pip
	@build/lock/bin/pip --quiet install $$($(PYTHON) requirements/list_extras.py)
	@build/lock/bin/pip freeze --exclude pip --exclude setuptools | grep == > $(LOCK)
	@rm -rf build/lock

clean: ## Remove everything that was made
	@rm -rf $(VENV) build dist leaderboard.csv .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage \
	  docs/api/packages docs/gallery

$(VENV)/.demo: $(VENV)/.tools $(SOURCES) pyproject.toml meson.build
	@echo "== installing echelon" && $(call install,cli,report) && touch $@

$(VENV)/.dev: $(VENV)/.tools $(SOURCES) pyproject.toml meson.build
	@echo "== installing echelon and its development tools" && $(call install,dev) && touch $@ $(VENV)/.demo

$(VENV)/.bench: $(VENV)/.tools $(SOURCES) pyproject.toml meson.build
	@echo "== installing echelon and its peers" && $(call install,cli,bench) && touch $@

# Without build isolation the build uses the pinned tools and keeps its objects between installs.
define install
mkdir -p $(BUILD_DIR) && $(PIP) install --constraint $(LOCK) --no-build-isolation \
  --config-settings=build-dir=$(BUILD_DIR) --force-reinstall --no-deps . && \
$(PIP) install --constraint $(LOCK) --no-build-isolation \
  --config-settings=build-dir=$(BUILD_DIR) ".[$(1)$(if $(2),$(comma)$(2))]"
endef
comma := ,

$(VENV)/.tools: $(LOCK) requirements/check_machine.py
	@command -v $(PYTHON) > /dev/null || { echo "Echelon needs Python 3.11 or newer ($(PYTHON) is not there; set PYTHON=...)."; exit 1; }
	@$(PYTHON) requirements/check_machine.py
	@echo "== creating $(VENV) (with the installation below, about a minute)" && $(PYTHON) -m venv $(VENV)
	@$(PIP) install --constraint $(LOCK) meson-python meson ninja Cython setuptools wheel && touch $@

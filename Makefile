# Start with `make demo`; while editing `make check`, before a commit `make test`. All set up .venv by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
PIP := $(BIN)/pip --quiet --disable-pip-version-check
LOCK := requirements/lock
UV := build/uv/bin/uv
SOURCES := $(shell find src -type f -not -name '*.pyc' -not -path '*/__pycache__/*')
BUILD_DIR := build/meson
# The quick tier: the concepts, two families, and two promises of every public estimator.
CONTRACT := tests/contract/test_
QUICK := tests/_utils tests/ordinal tests/kernels tests/pairs/test_pair_set.py tests/linear tests/tree \
  tests/test_package.py $(CONTRACT)every_estimator_is_tested.py $(CONTRACT)label_containers.py \
  $(CONTRACT)ordinal_contract.py::test_predict_decodes_the_margins \
  $(CONTRACT)ordinal_contract.py::test_clone_and_pickle \
  $(CONTRACT)ranker_contract.py::test_most_pairs_are_ordered_rightly $(CONTRACT)ranker_contract.py::test_rank

.PHONY: demo test lint docs bench reproduce wheel lock fuzz clean help

help: ## Show the targets
	@grep -E '^[a-z -]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /: /'

demo: $(VENV)/.demo ## Leaderboard of ordinal models on an embedded data set
	@echo "== echelon compare --example lev"
	@$(BIN)/echelon compare --example lev --repeats 1 --budget 45s --out leaderboard.csv

# A process that is done takes tests from the other.
PROCESSES := -n 2 --dist worksteal
# The tests run in two processes, so that more threads of each would only wait for each other.
check test coverage test-floor test-latest: export OPENBLAS_NUM_THREADS := 1
check test coverage test-floor test-latest: export OMP_NUM_THREADS := 1

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
	  --pyargs echelon --ignore-glob='*/cli/__main__.py' --ignore=docs/gallery README.md docs

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

wheel: $(VENV)/.dev ## Source archive and portable wheel in dist/, tried where there is no compiler
	@rm -rf dist && $(BIN)/python -m build --no-isolation
	@sh requirements/try_wheel.sh $(CURDIR)/$(BIN)/python

lock: $(UV) ## Pin the newest versions of everything, with the hashes of their files
	@sh requirements/lock.sh $(PYTHON) $(UV)

# The suite once more, with other versions than the lock's: the lowest that pyproject.toml allows, or the newest
# that there are. What an old library calls in a newer one may be deprecated there; that is not ours to mend.
.PHONY: test-floor test-latest
test-floor: RESOLUTION := lowest-direct
test-floor: FOREIGN := -W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning
test-latest: RESOLUTION := highest
test-floor: ## Every test with the lowest versions that pyproject.toml allows
test-latest: ## Every test with the newest versions that there are
test-floor test-latest: $(UV)
	@echo "== installing into build/$@ ($(RESOLUTION))" && $(PYTHON) -m venv --clear build/$@
	@$(UV) pip install --quiet --python build/$@ --resolution $(RESOLUTION) --requirements pyproject.toml --extra dev
	@$(UV) pip install --quiet --python build/$@ --no-deps --no-build-isolation .
	@PATH="$(CURDIR)/build/$@/bin:$$PATH" python -m pytest $(PROCESSES) $(FOREIGN) $(PYTEST_ARGS)

fuzz: $(VENV)/.dev ## Every campaign of random cases within MINUTES=10; the counts go into docs/reliability.md
	@$(BIN)/python -m fuzz --minutes $(or $(MINUTES),10) --write docs/reliability.md $(FUZZ_ARGS)

clean: ## Remove everything that was made
	@rm -rf $(VENV) build dist leaderboard.csv .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage \
	  docs/api/packages docs/gallery

$(VENV)/.demo: $(VENV)/.tools $(LOCK)/demo.txt $(SOURCES) pyproject.toml meson.build
	@echo "== installing echelon" && $(call install,demo,[cli$(comma)report]) && touch $@

$(VENV)/.dev: $(VENV)/.tools $(LOCK)/dev.txt $(SOURCES) pyproject.toml meson.build
	@echo "== installing echelon and its development tools" && $(call install,dev,[dev]) && touch $@ $(VENV)/.demo

$(VENV)/.bench: $(VENV)/.tools $(LOCK)/bench.txt $(SOURCES) pyproject.toml meson.build
	@echo "== installing echelon and its peers" && $(call install,bench,[cli$(comma)bench]) && touch $@

# Every file that is downloaded has a hash in the lock; what the lock lacks is an error of the second line, which
# has no index. Without build isolation the build uses the pinned tools and keeps its objects between installs.
define install
$(PIP) install --require-hashes --no-build-isolation --requirement $(LOCK)/$(1).txt && mkdir -p $(BUILD_DIR) && \
$(PIP) install --no-index --no-build-isolation --config-settings=build-dir=$(BUILD_DIR) ".$(2)"
endef
comma := ,

$(VENV)/.tools: $(LOCK)/tools.txt requirements/check_machine.py
	@command -v $(PYTHON) > /dev/null || { echo "Echelon needs Python 3.11 or newer ($(PYTHON) is not there; set PYTHON=...)."; exit 1; }
	@$(PYTHON) requirements/check_machine.py
	@echo "== creating $(VENV) (with the installation below, about a minute)" && $(PYTHON) -m venv $(VENV)
	@$(PIP) install --require-hashes --requirement $(LOCK)/tools.txt && touch $@

$(UV): $(LOCK)/uv.txt
	@$(PYTHON) -m venv --clear build/uv
	@build/uv/bin/pip --quiet --disable-pip-version-check install --require-hashes --requirement $< && touch $@

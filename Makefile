PYTHON ?= python3
BIN := .venv/bin
# If this is set, every process compiles torch and transformers again: half a minute each.
unexport PYTHONDONTWRITEBYTECODE
# Two stamps: what `make demo` needs, and what tests, lint and type checks need in addition.
DEMO := .venv/.demo
DEV := .venv/.dev
TORCH := $(shell sed -n '/^torch==/p' constraints.txt)
# Modules are compiled on first import; most are never imported.
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check --no-compile
# Only files whose hashes are in a lock file are installed; torch, whose build depends on the machine, comes first.
LOCKED := $(PIP) --no-deps --require-hashes -r
# Two test processes with one thread each are faster than one with two. The tests of a file share its fixtures.
# tests/conftest.py orders the files, the longest first.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder

# Named datasets that are not packaged are searched for here.
ifndef PHASEFIT_DATA
  FOUND := $(abspath $(wildcard ../shared/data))
  ifneq ($(FOUND),)
    export PHASEFIT_DATA := $(FOUND)
  endif
endif

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-fast test-long faults fuzz check lint pictures sentences bench bench-full rivals lock licences audit package format clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

setup: $(DEV)  ## create .venv and install phasefit into it (again only if its requirements change)
	@:

$(DEMO): pyproject.toml constraints.txt requirements/demo.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing into .venv (takes a few minutes the first time) ..."
	@$(PIP) $(TORCH)
	@$(LOCKED) requirements/demo.txt
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

$(DEV): $(DEMO) requirements/dev.txt runtime/pyproject.toml
	@echo "installing test requirements into .venv ..."
	@$(LOCKED) requirements/dev.txt
	@$(PIP) --no-deps --no-build-isolation -e runtime
	@touch $@

demo: $(DEMO)  ## train the three phases on packaged queries and show the results
	@$(BIN)/phasefit demo

test: lint  ## lint, type checks and all tests except the long ones
	@echo "$(BIN)/mypy runs next to the tests; its output follows theirs"
	@$(BIN)/mypy >.venv/types.txt 2>&1 & types=$$!; \
	$(PYTEST) -m "not long"; tests=$$?; \
	wait $$types; types=$$?; \
	echo "$(BIN)/mypy"; cat .venv/types.txt; \
	test $$tests -eq 0 || echo "make test: the tests failed (see above)"; \
	test $$types -eq 0 || echo "make test: the type check failed (see above)"; \
	test $$tests -eq 0 && test $$types -eq 0

test-fast: setup  ## the tests without the slow ones, which train real weights
	$(PYTEST) -m "not slow and not long"

test-long: setup  ## the long tests, which `make test` skips
	$(PYTEST) -m long

MINUTES ?= 5
SEED ?= 0
fuzz: setup  ## damaged tables, run folders, checkpoints, recipes and studies for MINUTES=5 with SEED=0; keeps what fails
	@$(BIN)/python tests/fuzz/run.py --minutes $(MINUTES) --seed $(SEED)

faults: setup  ## fail every write, sync and rename of short commands, and print how many faults were injected
	@OMP_NUM_THREADS=1 $(BIN)/python tests/faults/report.py

check: lint  ## lint, formatting and type checks
	$(BIN)/mypy

lint: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check

pictures: setup  ## run the demo and redraw the README's pictures from it
	$(BIN)/python docs/make_images.py

sentences: setup  ## list every sentence that phasefit shows to a person
	@$(BIN)/python docs/list_sentences.py

# Contestants run one after another. Everything is measured again; `make bench-full AGAIN=` resumes a stopped run.
AGAIN ?= --again
FEW_SHOT := $(BIN)/python benchmarks/few_shot.py $(AGAIN)
SEEDS ?= 3
# The other scripts of `make bench-full`.
BENCH_SCRIPTS := padding.py step.py denoise.py predict.py throughput.py deploy.py

bench: rivals  ## phasefit and its rivals on Snips, 8 rows of each class, default budgets (some minutes)
	@$(FEW_SHOT) --data snips2 --per-class 8 --seeds 1 --name few_shot-quick
	@echo "the tables and plots: benchmarks/results/few_shot-quick.md and .png"

bench-full: rivals  ## all benchmarks with all budgets and SEEDS=3 seeds (hours)
	@$(FEW_SHOT) --data snips2 --per-class 8 --seeds $(SEEDS) --full
	@$(FEW_SHOT) --data trec-fine --per-class 16 --seeds $(SEEDS) --full
	@$(FEW_SHOT) --data empathetic-dialogues --per-class 16 --seeds $(SEEDS) --full
	@for script in $(BENCH_SCRIPTS); do echo "benchmarks/$$script"; $(BIN)/python benchmarks/$$script || exit 1; done
	@$(BIN)/python benchmarks/memory.py $(AGAIN) --rival-python benchmarks/.rivals/setfit/bin/python
	@$(BIN)/python benchmarks/plots.py
	@echo "the tables and plots: benchmarks/results"

# A rival that cannot be installed is shown as failed in the tables; the others are still measured.
rivals: setup
	-@$(PYTHON) benchmarks/rivals/install.py

# Tools that maintain the lock files, in a separate environment.
SUPPLY := .venv/supply/bin
$(SUPPLY)/python:
	@$(PYTHON) -m venv .venv/supply
	@$(SUPPLY)/python -m pip install -qq --disable-pip-version-check uv pip-audit pip-licenses cyclonedx-bom

lock: $(SUPPLY)/python  ## compile the hashed lock files in requirements/ from pyproject.toml and constraints.txt
	@requirements/compile.sh $(SUPPLY)/uv

licences: setup $(SUPPLY)/python  ## list the licences of all dependencies, and write the SBOM (CycloneDX)
	@$(SUPPLY)/python requirements/inventory.py $(BIN)/python

audit: $(SUPPLY)/python  ## look up known vulnerabilities of the locked versions; fails if any could not be looked up
	@$(SUPPLY)/python requirements/audit.py requirements/dev.txt

# EXPORTED=folder measures a real export too.
package: setup  ## build both wheels, install each into a clean environment and run its smoke test
	@$(BIN)/python wheels/build.py $(if $(EXPORTED),--exported $(EXPORTED))

format: setup  ## fix what ruff can fix
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean:  ## remove caches and build products (keeps .venv and runs)
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests runtime -name __pycache__ -type d -prune -exec rm -rf {} +

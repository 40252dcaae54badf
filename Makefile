# Everything happens inside this folder: the environment in .venv, temporary files in .tmp.
#   make demo     a made-up clinic, fitted, sampled and compared, from nothing
#   make test     the tests, on two cores
#   make help     the rest

PYTHON ?= python3
WORKERS ?= 2
BIN := .venv/bin

export TMPDIR := $(CURDIR)/.tmp
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_CACHE_DIR := 1
export PIP_NO_INPUT := 1
export PIP_ROOT_USER_ACTION := ignore
export MPLCONFIGDIR := $(CURDIR)/.cache/matplotlib
INSTALL := $(BIN)/python -m pip install -qq

.DEFAULT_GOAL := help
.PHONY: help demo test lint format types bench experiments clean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

demo: .venv/installed ## make up a clinic table, fit, sample, compare; writes demo/
	@$(BIN)/privbayes demo -o demo

test: .venv/installed-test ## run the tests
	@$(BIN)/python -m pytest -q -n $(WORKERS) --basetemp=.tmp/pytest $(ARGS)

lint: .venv/installed-dev ## check style and layout of the code
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

format: .venv/installed-dev ## lay the code out
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

types: .venv/installed-dev ## check the types
	@$(BIN)/mypy

bench: .venv/installed-bench ## run the benchmarks (long); see benchmarks/RESULTS.md
	@for script in speed best_speed accuracy score_functions paper_accuracy; do $(BIN)/python benchmarks/$$script.py || exit 1; done

experiments: .venv/installed-experiments ## run the studies in experiments/ (some minutes)
	@for script in spearman_power networks pearson_power; do $(BIN)/python experiments/$$script.py || exit 1; done

clean: ## remove the environment, caches and the demo
	@rm -rf .venv .tmp .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis demo dist
	@find src tests -type d -name __pycache__ -prune -exec rm -rf {} +

# One stamp per set of packages, so that nothing is installed twice. The bare environment is made first; a python that
# is too old, or without venv, is named before anything else can fail.
.venv/created:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(not (3, 11) <= v[:2] <= (3, 13) and f"$(PYTHON) is Python {v[0]}.{v[1]}: privbayes needs 3.11, 3.12 or 3.13; say for example: make demo PYTHON=python3.12")'
	@echo "Setting up .venv (once; it takes a minute or two) ..."
	@mkdir -p .tmp
	@rm -rf .venv && $(PYTHON) -m venv .venv || { echo "Could not make .venv: on Debian or Ubuntu first run: apt-get install python3-venv" >&2; rm -rf .venv; exit 1; }
	@touch $@

.venv/installed: .venv/created pyproject.toml
	@echo "Installing privbayes into .venv ..."
	@mkdir -p .tmp
	@$(INSTALL) --editable .
	@touch $@

.venv/installed-%: .venv/installed
	@echo "Installing what $* needs into .venv ..."
	@mkdir -p .tmp
	@$(INSTALL) --editable '.[$*]'
	@touch $@

.PRECIOUS: .venv/installed-%

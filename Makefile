# Each target does all its set-up, in a virtual environment of its own: .venv
PYTHON ?= python3.11
BIN := .venv/bin

.PHONY: help demo quick test test-all sound bench clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: .venv/squirrel  ## copy five resources from an origin that fails, twice
	$(BIN)/python -m ixbackoff.squirrel --demo

quick: .venv/dev  ## the tests that take less than a minute, without type checkers and real fleets
	$(BIN)/python -m pytest -m "not slow"

test: .venv/dev  ## everything: tests, laws, type checkers, style
	$(BIN)/python -m pytest

test-all: .venv/dev  ## the tests on each supported Python that is here
	$(BIN)/nox

sound: .venv/dev  ## 10,000 random programs: type checkers' verdicts, and six runs of each
	$(BIN)/python -m tests.types.soundness 10000

bench: .venv/bench  ## speed, as ratios beside peers
	$(BIN)/python -m benchmarks

clean:  ## remove the virtual environments and all caches
	rm -rf .venv .nox .hypothesis .mypy_cache .pytest_cache .ruff_cache

.venv/%: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	touch $@

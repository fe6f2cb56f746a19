# Each target sets up what it needs in the virtual environment .venv
PYTHON ?= python3.11
BIN := .venv/bin

.PHONY: help demo quick test test-all sound kill bench clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: .venv/squirrel  ## copy five resources from an origin that fails, twice
	$(BIN)/python -m ixbackoff.squirrel --demo

quick: .venv/dev  ## run the tests without type checkers and real fleets, in less than a minute
	$(BIN)/python -m pytest -m "not slow"

test: .venv/dev  ## run everything: tests, laws, type checkers, style
	$(BIN)/python -m pytest

test-all: .venv/dev  ## run everything on each supported Python that is installed
	$(BIN)/nox

sound: .venv/dev  ## check and run 10,000 random programs
	$(BIN)/python -m tests.types.soundness 10000

kill: .venv/dev  ## kill durable runs 440 times and squirrels 300 times, and check their promises
	$(BIN)/python -m tests.support.killing
	$(BIN)/python -m tests.support.killed_squirrels
	$(BIN)/python -m tests.support.killed_jobs

bench: .venv/bench  ## measure speed, as ratios to peers
	$(BIN)/python -m benchmarks

clean:  ## remove the virtual environments and all caches
	rm -rf .venv .nox .hypothesis .mypy_cache .pytest_cache .ruff_cache

.venv/%: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	touch $@

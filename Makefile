# Each target sets up what it needs in the virtual environment .venv
PYTHON ?= python3.11
BIN := .venv/bin
WORKERS ?= 2
PYTEST := $(BIN)/python -m pytest --numprocesses=$(WORKERS) --dist=loadfile --no-loadscope-reorder
ROOMS ?= _words schedules _limits _meaning
MINUTES ?= 60
AGDA_STDLIB ?= /usr/share/agda-stdlib
# or each process that a test starts would compile the package again
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo quick test test-all test-next mutate docs docs-test sound kill prove bench clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: .venv/squirrel  ## copy five resources from an origin that fails, twice
	$(BIN)/ixbackoff squirrel --demo

quick: .venv/dev  ## run the tests that are quick, of all rooms: two minutes on two processors
	$(PYTEST) -m "not slow" --hypothesis-profile=quick

test: .venv/dev  ## run everything: tests, laws, type checkers, style
	$(PYTEST)

test-all: .venv/dev  ## run everything on each supported Python that is installed
	$(BIN)/nox

test-next: .venv/dev  ## run what needs no sockets, threads or processes on Python 3.14, in node
	$(BIN)/python -m tests.support.wasm

mutate: .venv/mutate  ## change rooms of a copy, and print what no quick test notices
	$(BIN)/python -m tests.support.mutants $(MINUTES) $(ROOMS)

docs: .venv/docs  ## build the documentation site, and say where it is
	@$(BIN)/python -m sphinx --builder html --fail-on-warning --nitpicky --fresh-env --quiet docs build/site
	@echo "The site is built: open $(CURDIR)/build/site/index.html"

docs-test: .venv/dev  ## run every example of the site, follow its links, and open it in a browser
	$(BIN)/python -m pytest tests/site tests/house/test_documentation.py tests/door/test_commands_page.py

sound: .venv/dev  ## check and run 10,000 random programs
	$(BIN)/python -m tests.types.soundness 10000

kill: .venv/dev  ## kill durable runs and squirrels a thousand times, cut the power, answer oddly, and check
	$(BIN)/python -m tests.support.kills.durable_runs
	$(BIN)/python -m tests.support.kills.away
	$(BIN)/python -m tests.support.kills.durable_squirrels
	$(BIN)/python -m tests.support.kills.squirrels
	$(BIN)/python -m tests.support.kills.power_cuts
	$(BIN)/python -m tests.support.hostile.attacks

prove:  ## check the proof of the promises, with Agda
	@if ! command -v agda >/dev/null || ! test -d $(AGDA_STDLIB); then \
	  echo "make prove needs Agda 2.6.2 and its standard library 1.7: on Debian 12,"; \
	  echo "  apt-get install agda-bin agda-stdlib"; \
	  echo "or else say where the library is: make prove AGDA_STDLIB=/its/folder"; \
	  exit 1; \
	fi
	cd docs/proof && agda --no-libraries -i . -i $(AGDA_STDLIB) Everything.agda
	@echo "The proof holds."

bench: .venv/bench  ## measure speed, as ratios to peers
	$(BIN)/python -m benchmarks

clean:  ## remove the virtual environments and all caches
	rm -rf .venv .nox .hypothesis .mypy_cache .pytest_cache .ruff_cache docs/proof/*.agdai build

.venv/%: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable '.[$*]'
	touch $@

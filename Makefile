# For a newcomer: `make demo` and `make test`. Everything else: `make help`.
#
# Each target sets up what it needs: the virtual environment in .venv, pinned Python packages, and the system packages
# that tools/system-packages.sh names. A second run finds its stamp and starts at once.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

BIN := .venv/bin
READY_TO_RUN := .venv/.ready-to-run
READY_TO_TEST := .venv/.ready-to-test
READY_TO_BENCH := .venv/.ready-to-bench
PAGE_SOURCES := $(shell find web \( -name node_modules -o -name tests -o -name .built-from \) -prune -o -type f -print)
SETUP_INPUTS := pyproject.toml hatch_build.py tools/setup.sh tools/constraints.txt $(PAGE_SOURCES)

# Two workers suit the two cores of a small machine; a file's tests stay together because they share fixtures.
WORKERS ?= 2
PYTEST := $(BIN)/python -m pytest
HOUSE_RULES := tests/unit/test_architecture.py tests/unit/test_budget.py tests/unit/test_house_rules.py tests/unit/test_docs.py

.PHONY: help demo test test-slow check format test-real test-real-smoke bench screenshots build clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

demo: $(READY_TO_RUN) ## Start a host in a throw-away folder, send triggers, show what they bring
	@$(BIN)/switchboard demo

test: $(READY_TO_TEST) ## Run the whole test suite (no network, no account, no key)
	@tools/system-packages.sh test
	$(BIN)/python tools/page.py test
	$(PYTEST) -n $(WORKERS) --dist loadfile

check: $(READY_TO_TEST) ## Lint, format, types, and the rules of the house
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/page.py check
	$(PYTEST) $(HOUSE_RULES)

format: $(READY_TO_TEST) ## Rewrite the sources as `make check` wants them
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

test-slow: $(READY_TO_TEST) ## Run 120,000 generated schedules: about ten minutes
	SWITCHBOARD_SLOW=1 $(PYTEST) -n $(WORKERS) -m slow --timeout=7200 --durations=0 tests/unit

test-real: $(READY_TO_TEST) ## Drive the real Claude Code CLI, offline, against a local stand-in for its API
	@tools/system-packages.sh real
	$(PYTEST) tests/real_cli

test-real-smoke: $(READY_TO_TEST) ## The five essential tests of `make test-real`
	@tools/system-packages.sh real
	$(PYTEST) tests/real_cli -m smoke

bench: $(READY_TO_BENCH) ## Measure; prints ratios and writes benchmarks/results/
	@if [ -n "$$SWITCHBOARD_BENCH_SEED_JS" ]; then tools/system-packages.sh bench; fi
	$(BIN)/python benchmarks/run.py

screenshots: $(READY_TO_TEST) ## Take the pictures of the documentation anew
	@tools/system-packages.sh test
	$(BIN)/python tools/screenshots.py

build: $(READY_TO_TEST) ## Build the wheel and the source archive into dist/
	$(BIN)/python -m build --no-isolation

clean: ## Remove everything that the other targets made
	rm -rf .venv .cache .hypothesis .mypy_cache .pytest_cache .ruff_cache benchmarks/results build dist
	rm -rf web/node_modules web/.built-from src/switchboard/page/static
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY_TO_RUN): $(SETUP_INPUTS)
	@tools/setup.sh run

$(READY_TO_TEST): $(SETUP_INPUTS)
	@tools/setup.sh test

$(READY_TO_BENCH): $(SETUP_INPUTS)
	@tools/setup.sh bench

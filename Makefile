# `make demo` and `make test` are all that a newcomer needs; both make their own .venv.

SHELL := /bin/bash
VENV ?= .venv
PYTHON ?= $(shell .ci/find-python oldest)
BIN := $(VENV)/bin
STEP := .ci/step
ARGS ?=

.PHONY: demo test suite lint types coverage-of-ids lock clean
.DEFAULT_GOAL := help

.PHONY: help
help:
	@echo 'make demo             run real sagas and open the console (ONCE=1: end by itself)'
	@echo 'make test             lint, types and the whole suite'
	@echo 'make suite ARGS=...   only the suite, with arguments for pytest'
	@echo 'make lint  make types make coverage-of-ids'
	@echo 'make lock             compile requirements*.in anew (needs uv)'

demo: $(VENV)/.ready-to-run
	@$(BIN)/python -m examples.shop.demo

test: lint types suite

suite: $(VENV)/.ready-to-test $(VENV)/.mysql
	@$(BIN)/python -m tests.support.suite $(ARGS)

lint: $(VENV)/.ready-to-test
	@$(STEP) 'Lint: ruff' $(BIN)/ruff check .
	@$(STEP) 'Lint: format' $(BIN)/ruff format --check .
	@$(STEP) 'Lint: layers' $(BIN)/lint-imports
	@$(STEP) 'Lint: dependencies' $(BIN)/deptry .
	@$(STEP) 'Lint: dead code' .ci/dead-code $(BIN)
	@$(STEP) 'Lint: spelling' $(BIN)/codespell
	@$(STEP) 'Lint: migrations' $(BIN)/python manage.py makemigrations --check --dry-run

types: $(VENV)/.ready-to-test
	@$(STEP) 'Types: mypy --strict' $(BIN)/mypy

coverage-of-ids: $(VENV)/.ready-to-test
	@$(BIN)/python -m tests.coverage_of_ids

$(VENV)/bin/python:
	@test -n '$(PYTHON)' || { echo 'Python 3.11 or newer is needed.'; exit 1; }
	@$(STEP) 'Environment $(VENV)' $(PYTHON) -m venv $(VENV)

$(VENV)/.ready-to-run: requirements.txt | $(VENV)/bin/python
	@$(STEP) 'Install requirements' $(BIN)/pip install -q -r requirements.txt
	@touch $@

$(VENV)/.ready-to-test: requirements.txt requirements-dev.txt | $(VENV)/bin/python
	@$(STEP) 'Install test requirements' $(BIN)/pip install -q -r requirements-dev.txt
	@touch $@

# Compiled against libmariadb, which may be missing: the suite then reports MariaDB as
# not tested, and the next run tries again.
$(VENV)/.mysql: requirements-mysql.txt | $(VENV)/bin/python
	@$(STEP) 'Install the MariaDB driver' $(BIN)/pip install -q -r requirements-mysql.txt \
	  > $(VENV)/mysql.log && { cat $(VENV)/mysql.log; touch $@; } \
	  || echo 'MariaDB driver: not built (needs gcc, pkg-config, libmariadb-dev;' \
	    'see $(VENV)/mysql.log)'

lock:
	@for name in requirements requirements-dev requirements-mysql; do \
	  uv pip compile -q --universal --python-version 3.11 --generate-hashes \
	    --custom-compile-command 'make lock' $$name.in -o $$name.txt; \
	done

clean:
	@rm -rf .venv .venv-newest build dist .mypy_cache .pytest_cache .ruff_cache

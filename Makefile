# Two commands do everything on a fresh clone: `make run` and `make test`. Both set up what is missing and say so.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 2468

.PHONY: run test lint page bench clean

run: $(VENV)/ready page
	@ONETAPE_DATA_DIR=$${ONETAPE_DATA_DIR:-$(CURDIR)/.cache/run} $(BIN)/onetape server --demo --port $(PORT) --log-level warning

test: $(VENV)/ready lint page
	@sh inspector/check.sh
	$(BIN)/pytest

page:
	@$(PYTHON) inspector/build.py

lint: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(VENV)/ready
	$(BIN)/python bench/run.py

$(VENV)/ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "onetape needs Python 3.11 or newer; set PYTHON=python3.11")'
	@echo "setting up $(VENV) (Python packages; a minute or two the first time)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@$(BIN)/python -m compileall -q src bench # as an installed package is: some machines write no bytecode by themselves
	@touch $@

clean:
	rm -rf $(VENV) build dist inspector/node_modules src/onetape/server/static .mypy_cache .ruff_cache .pytest_cache

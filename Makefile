# Everything sets itself up: `make demo` and `make test` work from a fresh clone with Python, git and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint check bench eval clean

demo: $(READY)          ## a sample project, three questions, the injected text and why
	@$(BIN)/foreword demo

test: lint check        ## everything

lint: $(READY)
	$(BIN)/ruff check src tests
	$(BIN)/ruff format --check src tests
	$(BIN)/mypy

check: $(READY)
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest
	$(BIN)/coverage combine -q
	$(BIN)/coverage report

bench: $(READY)         ## speed, in distributions
	$(BIN)/foreword bench

eval: $(READY)          ## quality on labelled data: make eval DATA=path/to/a/set
	$(BIN)/foreword eval $(DATA)

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Foreword needs Python 3.11 or later; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .coverage* .hypothesis

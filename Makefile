# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: demo test fuzz soak lint format clean

# Installed once; again only when the dependencies change.
$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]"
	@touch $@

demo: $(STAMP)
	$(BIN)/freqlf demo --out demo --overwrite

# One thread per worker: the tests run side by side, on as many cores as there are; those with a browser share it.
test: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto --dist loadgroup -m "not slow"

# Both say what they did in one line at the end; docs/reliability.md has what came of it.
CASES ?= 10000
KILLS ?= 50
fuzz: $(STAMP)
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m fuzz.campaign --cases $(CASES)

soak: $(STAMP)
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m fuzz.soak --kills $(KILLS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) demo dist build .pytest_cache .mypy_cache .ruff_cache

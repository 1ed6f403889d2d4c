# Everything a newcomer or CI needs. Needs only python3 (>= 3.11, with pip and venv) and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One more than two cores: some tests wait for a lease or a server.
WORKERS ?= 3
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: demo test check slow coverage bench docs site pictures lock fix clean

demo: $(VENV)/.runtime          ## the main job, offline, on the bundled sample calls
	@$(BIN)/callscore demo

test: export PYTHONDONTWRITEBYTECODE =   # or every process of the tests compiles all modules again
test: $(VENV)/.ready                ## the default tests
	@$(BIN)/python -m pytest -q -n $(WORKERS)

check: $(VENV)/.ready               ## lint, format, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

slow: $(VENV)/.ready                ## long proofs
	HYPOTHESIS_PROFILE=searching $(BIN)/python -m pytest -m slow

coverage: $(VENV)/.ready            ## the lines that no default test runs, in commands too
	rm -f .coverage .coverage.*
	$(BIN)/coverage run -m pytest -n $(WORKERS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

bench: $(VENV)/.ready               ## speed and memory, as ratios measured side by side
	$(BIN)/python -m bench

fix: $(VENV)/.ready                 ## let ruff repair what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.ready                ## write the generated pages of the reference
	$(BIN)/python docs/generate.py

pictures: $(VENV)/.ready            ## draw the pictures of README and docs again
	$(BIN)/python docs/pictures.py

site: $(VENV)/.ready                ## the documentation as HTML, in site/
	$(BIN)/python docs/site.py site

LOCK := uv pip compile --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
	  --no-emit-index-url

lock:                             ## needs uv; pins with hashes and without index addresses
	$(LOCK) --group dev --extra arrow --extra excel --extra import --extra parquet --extra postgres \
	  --extra ray --extra redact --extra sign \
	  pyproject.toml -o requirements.lock
	$(LOCK) --group build --constraints requirements.lock pyproject.toml -o runtime.lock

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage .coverage.*

$(VENV)/.runtime: runtime.lock pyproject.toml
	@echo "Installing Callscore in $(VENV) (once) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) install --quiet --require-hashes -r runtime.lock
	@$(PIP) install --quiet --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.ready: requirements.lock $(VENV)/.runtime
	@echo "Installing the tools of developers in $(VENV) (once) ..."
	@$(PIP) install --quiet --require-hashes -r requirements.lock
	@touch $@

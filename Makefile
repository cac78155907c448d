# On a fresh machine `make book` and `make test` each do everything, in either order.
PYTHON ?= python3
BIN := .venv/bin
NBMAKE := --nbmake --nbmake-timeout=300
SCORECARD := chapters/13-scorecard.ipynb

.PHONY: help book lab pdf test test-peers test-colab lint models bench chapters clean
.DEFAULT_GOAL := help

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:[^#]*##/\t/'

.venv/.done: requirements.txt pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

# An extra of pyproject.toml: .venv/.lab, .venv/.peers
.venv/.%: .venv/.done
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[$*]'
	touch $@

node_modules/.done: .venv/.done package.json package-lock.json
	$(BIN)/npm ci --silent --ignore-scripts --no-audit --no-fund
	touch $@

data/cache/.done: .venv/.done data/corpus.toml
	$(BIN)/python -m transformer_circuits data small
	touch $@

book: data/cache/.done node_modules/.done  ## build the book, every chapter executed, warnings are errors
	rm -rf _build/html   # else what is served no more would stay
	$(BIN)/jupyter-book build . --all -W --keep-going -n
	$(BIN)/python -m transformer_circuits slides
	@echo "The book is at $(CURDIR)/_build/html/index.html"

lab: .venv/.lab data/cache/.done  ## open the chapters in JupyterLab, to change and run them
	$(BIN)/jupyter lab --notebook-dir=chapters

_build/html/index.html:
	$(MAKE) book

pdf: _build/html/index.html  ## the built book as one PDF, handout and notation card as one sheet each; needs a Chromium
	$(BIN)/jupyter-book build . --builder singlehtml -W --keep-going -n
	$(BIN)/python -m transformer_circuits pdf

test: data/cache/.done lint  ## lint, unit tests, every notebook through nbmake, then the built book in a browser
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q $(NBMAKE) -n 2 chapters --ignore=$(SCORECARD)
	$(BIN)/python -m pytest -q $(NBMAKE) $(SCORECARD)
	$(MAKE) book
	$(BIN)/python -m pytest -q -m browser

test-colab: data/cache/.done  ## every chapter alone, in an environment like Colab, one after the other
	$(BIN)/python -m pytest -q -rP -m "colab or not colab" tests/test_clean_room.py

lint: .venv/.done  ## ruff
	$(BIN)/ruff check src tests chapters
	$(BIN)/ruff format --check src tests

models: data/cache/.done  ## train every model of the book again (resumes where it was stopped)
	$(BIN)/python -m transformer_circuits data full
	for config in data/models/*/config.toml; do \
		$(BIN)/python -m transformer_circuits train $$(basename $$(dirname $$config)) || exit 1; done

bench: .venv/.peers data/cache/.done  ## speed and memory next to TransformerLens and plain PyTorch
	$(BIN)/python -m transformer_circuits bench

test-peers: .venv/.peers data/cache/.done  ## our models in TransformerLens: logits, patterns, eigenvalues, scores
	$(BIN)/python -m pytest -q -m peers

chapters: .venv/.done  ## write the first cell, with the repository's address, into every chapter
	$(BIN)/python -m transformer_circuits chapters

clean:  ## remove what was built; keep the environment and the text
	rm -rf _build

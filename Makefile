# On a fresh machine `make book` and `make test` each do everything, in either order.
# The environment's own Python, else python3; `make PYTHON=python3.13 book` makes it of another.
PYTHON ?= $(or $(wildcard .venv/bin/python),python3)
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --constraint requirements.txt
# What uv.lock says, into the environment that is there. torch comes by pip: any build of its
# version will do, also the small one without CUDA.
SYNC := $(BIN)/uv sync --quiet --locked --inexact --python $(BIN)/python --no-install-package torch
# Dev containers name another place and another Python, in the environment.
export UV_PROJECT_ENVIRONMENT := .venv

MODELS := zero-layer one-layer two-layer two-layer-mlp

# The order of sets, and so what is written from them, is the same in every build.
export PYTHONHASHSEED := 0

.PHONY: help python executed book card lab reproduce release gain student quick test test-peers test-colab lint hooks linkcheck models trainings chapters colab-zip lock clean
.DEFAULT_GOAL := help

help:  ## list the targets
	@awk -F ':.*##  *' '/^[a-z-]+:.*##/ { printf "%-14s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@sed -n '/^Measured on/p' README.md

python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || { \
		echo "The book needs Python 3.11, 3.12 or 3.13, but $(PYTHON) -V says: $$($(PYTHON) -V 2>&1)." \
			"Remove .venv if there is one, and name another: make PYTHON=python3.13 book" >&2; exit 1; }
	@test ! -x $(BIN)/python || \
		test "$$($(BIN)/python -V | cut -d. -f1,2)" = "$$($(PYTHON) -V | cut -d. -f1,2)" || { \
		echo "$(PYTHON) is $$($(PYTHON) -V), and .venv was made with $$($(BIN)/python -V)." \
			"Remove .venv, then run the same again." >&2; exit 1; }

$(BIN)/uv: | python
	test -x $(BIN)/python || $(PYTHON) -m venv --clear .venv
	$(PIP) uv

.venv/.done: uv.lock pyproject.toml | $(BIN)/uv
	$(SYNC) --extra website
	$(PIP) torch
	touch $@

# An extra of pyproject.toml: .venv/.lab, .venv/.peers, .venv/.hooks
.venv/.%: .venv/.done
	$(SYNC) --extra $*
	touch $@

# Two releases of one package do not fit into one environment.
.venv/peers4/.done: .venv/.done
	UV_PROJECT_ENVIRONMENT=.venv/peers4 $(SYNC) --extra peers4
	PIP_PYTHON=.venv/peers4 $(PIP) torch
	touch $@

node_modules/.done: .venv/.done package.json package-lock.json
	$(BIN)/npm ci --silent --ignore-scripts --no-audit --no-fund
	touch $@

data/cache/.done: .venv/.done data/corpus.toml
	$(BIN)/python -m transformer_circuits data small
	touch $@

executed: data/cache/.done
	$(BIN)/python -m transformer_circuits execute

book: executed node_modules/.done  ## build the book; executes the chapters whose code changed
	$(BIN)/python -m tools book

lab: .venv/.lab data/cache/.done  ## open the chapters in JupyterLab, to change and run them
	$(BIN)/jupyter lab --allow-root --notebook-dir=chapters

reproduce: data/cache/.done  ## execute what is missing; compare every number with results/manifest.json
	$(BIN)/python -m tools reproduce

release: book colab-zip  ## sources, weights, the built book and the archives for Colab: make release VERSION=1.2.3
	rm -rf _build/release && mkdir _build/release
	git archive --prefix=sources/ --output=_build/release/sources-$(VERSION).zip HEAD
	git archive --prefix=weights/ --output=_build/release/weights-$(VERSION).zip HEAD data/models data/tokenizer.json LICENSE
	cd _build && ../$(BIN)/python -m zipfile -c release/site-$(VERSION).zip html
	cp _build/book.zip _build/book-all.zip _build/release

# Its pages are in _build/student/html, its notebooks in _build/student/source/chapters.
student: executed node_modules/.done  ## the book without its solutions, for participants, and the archives that it needs in Colab
	$(BIN)/python -m tools book student
	$(BIN)/python -m tools colab-zip --student

card: .venv/.done  ## the card of any attention-only model: make card MODEL=path [CONFIG=settings.json] [NAMES=parts.json] [BEGIN=token-or-none]
	$(BIN)/python -m transformer_circuits card "$(MODEL)" $(if $(CONFIG),--config "$(CONFIG)") $(if $(NAMES),--names "$(NAMES)") $(if $(BEGIN),--begin "$(BEGIN)")

quick: data/cache/.done lint  ## lint, and the tests of model, text, analyses and the claims' rules: what one runs all day
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 -m "not slow" tests/model tests/text tests/analysis \
		tests/claims/test_rules.py tests/claims/test_catalogue.py

# A notebook that nbmake executed with this code, as for `make book`, passed, and a book that was built of the same is it.
test: data/cache/.done lint  ## lint, unit tests, every notebook once through nbmake, then the book and the edition for participants built of them, in a browser
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2
	$(MAKE) -j 2 book student
	$(BIN)/python -m pytest -q -m browser -n 2 --dist loadscope

test-colab: data/cache/.done  ## every chapter alone, in an environment like Colab, one after the other
	$(BIN)/python -m pytest -q -rP -m "colab or not colab" tests/test_clean_room.py

lint: .venv/.done node_modules/.done  ## ruff and Biome; imports only go down; types of the model and the analyses
	$(BIN)/ruff check src website tools tests chapters
	$(BIN)/ruff format --check src website tools tests chapters
	$(BIN)/node node_modules/@biomejs/biome/bin/biome check
	$(BIN)/lint-imports --no-cache
	$(BIN)/pyrefly check
	@echo "lines: program $$(find src website tools _static -name '*.py' -o -name '*.js' -o -name '*.css' | xargs cat | wc -l), at most 22,000;" \
		"tests $$(find tests -name '*.py' | xargs cat | wc -l), at most 12,000"

hooks: .venv/.hooks  ## lint what changed before every commit (.pre-commit-config.yaml)
	$(BIN)/pre-commit install

# A build of its own, so that _build/html stays as it is.
linkcheck: .venv/.done  ## ask the network for every address that the book links to
	rm -rf _build/linkcheck
	@PYTHONPATH=. $(BIN)/jupyter-book build . --path-output _build/linkcheck --builder linkcheck -qq || { \
		grep '\[broken\]' _build/linkcheck/_build/html/output.txt && echo "The links above are broken."; \
		exit 1; } >&2

models: data/cache/.done  ## train every model of the book again: eight to sixteen hours on two cores (resumes where it was stopped)
	$(BIN)/python -m transformer_circuits data full
	for name in $(MODELS); do $(BIN)/python -m transformer_circuits train $$name || exit 1; done
	for name in $(MODELS); do for seed in 1 2; do \
		$(BIN)/python -m transformer_circuits train $$name --seed $$seed || exit 1; done; done

trainings: data/cache/.done  ## make the trainings of data/trainings/plan.toml that have no record: a day and more for all, on two cores (resumes where it was stopped)
	$(BIN)/python -m transformer_circuits data full
	$(BIN)/python -m tools trainings

gain: .venv/.done  ## what a group has learned, of the files of Before and after: make gain FILES="answers/*.json"
	@$(BIN)/python -m tools gain $(FILES)

test-peers: .venv/.peers .venv/peers4/.done data/cache/.done  ## our models in TransformerLens 3 and in nnsight, and those of TransformerLens 3 and 4 here
	$(BIN)/python -m pytest -q -m peers tests/test_peers.py
	.venv/peers4/bin/python -m pytest -q -m "peers and not hooked" tests/test_peers.py

colab-zip: .venv/.done  ## book.zip and book-all.zip, with what chapters need in Colab
	$(BIN)/python -m tools colab-zip

chapters: .venv/.done  ## write the first cell, with the repository's address if it has one, into every chapter
	$(BIN)/python -m transformer_circuits chapters

lock: $(BIN)/uv  ## pin all packages that pyproject.toml asks for; UPGRADE=--upgrade takes the newest
	$(BIN)/uv lock --quiet $(UPGRADE)
	$(BIN)/uv export --quiet --locked --extra website --no-emit-project --no-hashes \
		--output-file requirements.txt

clean:  ## remove what was built and executed; keep the environment and the text
	rm -rf _build data/cache/executed

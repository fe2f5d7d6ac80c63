# One set of verbs for people, hooks and CI. Needs Python 3.11+ (with venv), git and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help plan test control-plane cluster demo check wheel-check fix generate bench bench-full bench-live bench-live-long soak soak-live clean
.DEFAULT_GOAL := help

help:
	@echo "make plan    plan a small example and print it"
	@echo "make test    run the tests"
	@echo "make control-plane   build etcd, API server, Helm and others, for the tests on a real one"
	@echo "make cluster         a local cluster with pretend GPU nodes, until Ctrl-C"
	@echo "make demo            the scheduler at work on such a cluster, as a page in the terminal"
	@echo "make check   static checks: format, lint, types, imports"
	@echo "make wheel-check   build the wheel, install it alone, and plan with it"
	@echo "make fix     format and repair what can be repaired"
	@echo "make generate   write the manifests' parts that follow from the program"
	@echo "make bench   a short round of measurements; bench-full: every instance, five times"
	@echo "make bench-live    Apportion and kube-scheduler on a real control plane"
	@echo "make bench-live-long   memory at 50,000 running pods, and a day's 300,000 pods in one run"
	@echo "make soak    30,000 random clusters against the brute force"
	@echo "make soak-live     twenty minutes of random work and faults on a real control plane"

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $(STAMP)

plan: $(STAMP)
	$(BIN)/apportion plan examples/small

# Where control plane, Helm or Chromium cannot be had, the tests that need it are skipped.
test: $(STAMP)
	-$(CLUSTER).build
	-$(CLUSTER).helm
	-PYTHONPATH=tests $(BIN)/python -m browser.fetch
	rm -rf $(AUDIT)
	APPORTION_AUDIT=$(AUDIT) $(BIN)/python -m pytest -n auto -m "not soak"
	$(CLUSTER).audit $(AUDIT)

# What the scheduler's account did in the tests: a right that the manifest gives and nobody used fails.
AUDIT := build/audit

# Programs for the tests, from KUBEBUILDER_ASSETS or built by Go; minutes for the first time.
CLUSTER := PYTHONPATH=tests $(BIN)/python -m cluster
control-plane: $(STAMP)
	$(CLUSTER).build
	$(CLUSTER).helm

NODES ?= 8
GPUS ?= 8
cluster: $(STAMP)
	$(CLUSTER).start --nodes $(NODES) --gpus $(GPUS)

demo: $(STAMP)
	$(CLUSTER).demo --nodes $(NODES)

soak: $(STAMP)
	$(BIN)/python -m pytest -n auto -m "soak and not cluster"

soak-live: control-plane
	$(BIN)/python -m pytest -m "soak and cluster"

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pyright
	$(BIN)/lint-imports

# The wheel and what it depends on, in an environment of their own, far from the sources.
WHEEL := build/wheel-check
wheel-check: $(STAMP)
	rm -rf $(WHEEL)
	$(BIN)/python -m build --no-isolation --outdir $(WHEEL) .
	$(PYTHON) -m venv $(WHEEL)/venv
	$(WHEEL)/venv/bin/python -m pip install --quiet --disable-pip-version-check $(WHEEL)/*.whl
	cd $(WHEEL) && venv/bin/apportion plan ../../examples/small
	cd $(WHEEL) && venv/bin/python -m apportion rules
	cd $(WHEEL) && venv/bin/apportion crds > crds.yaml && test -s crds.yaml

fix: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

generate: $(STAMP)
	$(BIN)/python -m deploy.generate

bench: $(STAMP)
	$(BIN)/python -m benchmarks.run --short --out build/bench

bench-full: $(STAMP)
	$(BIN)/python -m benchmarks.run --out build/bench-full

# Each of these has a control plane of its own; in all an hour or so.
LIVE := PYTHONPATH=tests $(BIN)/python -m benchmarks.live
LIVE_OUT := build/bench-live.jsonl
bench-live: control-plane
	mkdir -p build
	for nodes in 500 5000; do \
	  $(LIVE) burst --nodes $$nodes --pods 10000 --out $(LIVE_OUT) && \
	  $(LIVE) burst --nodes $$nodes --pods 10000 --gang 10 --schedulers apportion --out $(LIVE_OUT) || exit 1; \
	done
	$(LIVE) stream --pods 6000 --out $(LIVE_OUT)
	$(LIVE) spread --gang 500 --schedulers apportion --out $(LIVE_OUT)

# An hour or more: 55,000 objects are made first, then 300,000 pods come and go.
bench-live-long: control-plane
	mkdir -p build
	$(LIVE) large --nodes 5000 --running 50000 --out $(LIVE_OUT)
	$(LIVE) day --nodes 500 --pods 300000 --out $(LIVE_OUT)

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

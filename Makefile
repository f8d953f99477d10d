# The one door. `make help` says what there is.
.DEFAULT_GOAL := help
.PHONY: help install crawl test check check-deploy contracts licences image-sizes bench generated clean lock

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Most tests of whole stages wait more than they compute.
TEST_PROCESSES ?= 2
CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/odradek

help: ## This list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 18

$(STAMP): requirements.lock bootstrap.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Odradek needs Python 3.11 or newer; name one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "this Python cannot make environments; on Debian: apt-get install python3-venv" >&2; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r bootstrap.lock
	$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes requirements.lock bootstrap.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

install: $(STAMP) ## Make the environment in .venv (the other targets do it by themselves)

crawl: $(STAMP) ## Crawl the bundled demo site, or URL=https://example.org/
	@$(BIN)/odradek crawl $(URL) $(ARGS)

test: $(STAMP) check ## All tests, the fast ones first
	$(BIN)/python -m pytest --numprocesses $(TEST_PROCESSES) --dist worksteal $(ARGS)

check: $(STAMP) check-deploy ## Lint, types, the import rule, dependencies, contracts, what is deployed
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry .
	$(BIN)/python -m schemas.compatibility

contracts: $(STAMP) ## Release the contracts that changed, and describe the topics anew
	$(BIN)/python -m schemas.release
	$(BIN)/python -m infra.kafka.asyncapi > docs/asyncapi.json

check-deploy: $(STAMP) ## Render and check what is deployed: manifests, images, compose file
	$(BIN)/python -m pytest tests/deployment

licences: $(STAMP) ## What the images hold of others, by which licence
	@$(BIN)/python -m tests.deployment.licences

image-sizes: $(STAMP) ## Install each image's contents and measure them; needs no Docker
	@$(BIN)/python -m tests.deployment.image_sizes

bench: $(STAMP) ## Crawl a generated site and print what it costs
	$(BIN)/python -m benchmarks.main $(ARGS)

generated: $(STAMP) ## Write anew what is made from code: docs/metrics.md, dashboards, manifests, the images' lock files
	$(BIN)/python -m infra.telemetry.catalog > docs/metrics.md
	$(BIN)/python -m monitor.prometheus.dashboards
	$(BIN)/python -m monitor.prometheus.manifest > k8s/components/monitoring/rules.yaml
	$(BIN)/python -m infra.kafka.manifests k8s/components/strimzi
	$(BIN)/python -m tests.deployment.closures

lock: $(STAMP) ## Resolve the dependencies anew; then: make generated
	$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --quiet --upgrade pyproject.toml --group dev -o requirements.lock
	echo uv | $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --quiet --upgrade - -o bootstrap.lock

clean: ## Remove what was built, not what was crawled
	rm -rf build .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info

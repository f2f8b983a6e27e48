# A short menu: each target is one script or one go command.
.DEFAULT_GOAL := help
.PHONY: help build images release test demo lint generate cluster bench fuzz chaos foreign clean

help: ## This menu
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

build: ## Build every binary into bin/
	build/builder build --all

images: ## Build every image into dist/ (no Docker engine needed)
	scripts/images.sh

release: ## Build what is published into dist/release/ (VERSION=v0.1.0-rc.1 REGISTRY=HOST/PATH PUSH=1)
	build/builder release --version '$(VERSION)' $(if $(REGISTRY),--registry '$(REGISTRY)') $(if $(PUSH),--push)

test: ## What must hold (stages: make test ONLY="unit lint"; SLOW=1 also runs the slow tests, as CI does)
	scripts/test.sh $(if $(SLOW),--slow) $(ONLY)

demo: ## The story on a real cluster (KEEP=1 leaves it up; STORY=jobs; NAME=…; CONTEXT=… uses a cluster of yours)
	scripts/demo.sh

lint: ## Check style (FIX=1 repairs what can be)
	scripts/lint.sh $(if $(FIX),--fix)

generate: ## Write CRDs and generated Go
	scripts/generate.sh

cluster: ## Build the test cluster into bin/
	test/cluster/build.sh

bench: ## Run the benchmarks (ONLY=Change chooses)
	scripts/bench.sh '$(ONLY)'

fuzz: ## Run every fuzz target (TIME=60s each)
	scripts/fuzz.sh $(or $(TIME),60s)

chaos: ## Kill and cut off what runs, under load (SEED=7 MINUTES=10, STORY=tenants, or STORY=jobs RUNS=1000)
	scripts/chaos.sh '$(or $(SEED),1)' '$(or $(MINUTES),10)'

foreign: ## Install all charts of others on a node (docs/reference/charts-tried.md)
	scripts/foreign.sh

clean: ## Remove bin/ and dist/
	rm -rf bin dist

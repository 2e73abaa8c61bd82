# What a machine needs: Node 20 or newer with npm, git, make; for the tests also what README.md says.
# `make e2e` says what else it needs.
# Node 24, on which everything runs, comes with the packages.
SHELL := bash
.DEFAULT_GOAL := help
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)

.PHONY: help install run package test test-clients e2e check generate screenshots bench chaos

help: ## Show these targets
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{printf "%-20s %s\n", $$1, $$2}'

install: node_modules/.package-lock.json ## Install the packages, when they are not what package-lock.json says

node_modules/.package-lock.json: package-lock.json
	@command -v npm > /dev/null || { echo "npm is missing. Install Node 20 or newer with npm: https://nodejs.org/en/download" >&2; exit 1; }
	npm ci --no-audit --no-fund --loglevel=error
	@touch $@

# Without npm between: it would call Ctrl-C an error.
run: install ## Run Lyceum on this machine, without a cluster, on examples/quickstart
	@exec node cli/main.ts run examples/quickstart

package: install ## Pack lyceum-VERSION.tgz, with which `npx` checks a folder without a checkout
	@npm pack

test: install ## Run all tests, against a real Kubernetes API server and S3 server too (the first run builds them)
	@for tool in git openssl; do command -v $$tool > /dev/null || { echo "$$tool is missing, the tests need it. Install it with your package manager." >&2; exit 1; }; done
	@npm test --silent

test-clients: install ## Let other people's clients judge a server (the first run installs them)
	@npm run -s test-clients

e2e: install ## Follow users' stories on a real node with real pods, as root (the first run builds it)
	@npm run -s e2e

check: install ## Check format, lint and types
	@npm run -s check

generate: install ## Write the CustomResourceDefinitions in crds/ from the schemas
	@npm run -s generate

screenshots: install ## Take the pictures of the pages in docs/screenshots anew, with Chromium
	@npm run -s screenshots

bench: install ## Measure, print the table, write bench/results.json
	@npm run -s bench

chaos: install ## Break things on purpose while readers check every answer; PART=kills for one proof (kills, api-server, two-operators, rolling and disk as root, sources, rbac, canary, scale, fuzz), KILLS=50 or FUZZ_SECONDS=10 for a short one
	@node test/chaos/run.ts $(PART)

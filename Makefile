# Targets that a newcomer needs: demo, test. `make help` lists all.

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build

GO      ?= go
# Checkouts of another user have no version that Go could stamp; ours comes by -ldflags.
export GOFLAGS := $(strip $(GOFLAGS) -buildvcs=false)

VERSION := $(shell cat VERSION)

# The stamp. Its date is that of the commit, so that two builds of one commit are equal.
PKG      := github.com/prometheus/common/version
REVISION := $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
BRANCH   := $(shell git rev-parse --abbrev-ref HEAD 2>/dev/null || echo unknown)
EPOCH    := $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
DATE     := $(shell date -u -d @$(EPOCH) +%Y%m%d-%H:%M:%S 2>/dev/null || echo unknown)
STAMP    := -X $(PKG).Version=$(VERSION) -X $(PKG).Revision=$(REVISION) -X $(PKG).Branch=$(BRANCH) \
            -X $(PKG).BuildUser=make -X $(PKG).BuildDate=$(DATE)

COMMANDS := $(notdir $(wildcard cmd/*))

# Tools are pinned in modules of their own, so that they stay out of the product's module graph.
LINT      := $(GO) tool -modfile=tools/go.mod golangci-lint
GOTESTSUM := $(GO) tool -modfile=tools/test/go.mod gotestsum
NFPM      := $(GO) tool -modfile=tools/go.mod nfpm
SBOM      := $(GO) tool -modfile=tools/go.mod cyclonedx-gomod

# What the tests of one package may take at most, race detector and slow machine included.
TEST_TIMEOUT ?= 20m
TEST_FLAGS   ?=
PACKAGES     ?= ./...

MODULE := github.com/collwatch/collwatch
# Days of simulated time through the line of one tick, or through PromQL, in one goroutine: the race detector would cost
# ten times the time and find nothing, for these packages start no goroutine. cmd/collwatch is tested both ways; what it
# replays, without.
REPLAYS := ./internal/score ./internal/compare ./rules ./contrib/grafana ./detectors ./diagnosis ./sim

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

.PHONY: build
build: ## build the commands into bin/
	@mkdir -p bin
	@for c in $(COMMANDS); do \
	  echo "go build bin/$$c"; \
	  CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags "$(STAMP)" -o bin/$$c ./cmd/$$c; \
	done

FAULT ?= nic
ALERTMANAGER ?=
.PHONY: demo
demo: build ## simulate a cluster with a fault and show the alert (FAULT=nic|straggler|stall|none, ALERTMANAGER=URL)
	bin/collwatch demo --fault $(FAULT) $(if $(ALERTMANAGER),--alertmanager.url $(ALERTMANAGER))

# The servers of the end-to-end tests, built into the cache of the user. Here and not in the tests, so that the first
# build of all does not count against their time.
.PHONY: servers
servers:
	@$(GO) test ./internal/realserver -run 'TestServersAreBuilt$$' -count=1 -timeout 60m >/dev/null || \
	  $(GO) test ./internal/realserver -run 'TestServersAreBuilt$$' -count=1 -timeout 60m -v

.PHONY: test
test: servers ## all tests: unit, script and end to end, with the race detector wherever there is more than one goroutine
	@failed=0; \
	$(GOTESTSUM) --format pkgname -- -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) $(REPLAYS) ./cmd/collwatch || failed=1; \
	CGO_ENABLED=1 $(GOTESTSUM) --format pkgname --format-hide-empty-pkg -- -race -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) \
	  $(filter-out $(addprefix $(MODULE)/,$(REPLAYS:./%=%)),$(shell $(GO) list $(PACKAGES))) || failed=1; \
	exit $$failed

.PHONY: test-quick
test-quick: ## the Go tests without the race detector
	$(GO) test -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) $(PACKAGES)

.PHONY: test-race
test-race: ## the Go tests with the race detector, never from the cache
	CGO_ENABLED=1 $(GO) test -race -count=1 -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) $(PACKAGES)

.PHONY: e2e
e2e: servers ## the tests against real servers only
	$(GO) test -count=1 -v -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) ./internal/e2e/... ./internal/realserver/...

# One package at a time: they measure, and they start servers that need the machine for themselves.
.PHONY: e2e-long
e2e-long: ## tests that take over ten minutes (build tag long)
	@packages=$$(grep -rlE --include='*_test.go' '^//go:build.*\blong\b' . | xargs -r -n1 dirname | sort -u); \
	if [ -z "$$packages" ]; then echo "no long tests"; exit 0; fi; \
	CGO_ENABLED=1 $(GOTESTSUM) --format pkgname -- -p 1 -tags long -run Long -count=1 -timeout 90m $(TEST_FLAGS) $$packages

SOAK ?= 24h
.PHONY: soak
soak: ## a day of simulated time on 1,000 hosts while everything is restarted (SOAK=3h is the least; a day takes 20 minutes)
	$(GO) test ./cmd/collwatch -tags long -run TestSoakLong -count=1 -v -timeout 120m -args -soak $(SOAK) | grep -v level=

.PHONY: bench
bench: servers ## what an evaluation costs the daemon and its Prometheus, as a table; takes a quarter of an hour
	@$(GO) test ./promapi -run '^$$' -bench 'Decode$$' -benchmem | grep ^Bench
	@$(GO) test ./engine -run '^$$' -bench 'Tick|Shards' -benchtime 3x | grep ^Bench
	@$(GO) test ./cmd/collwatch -run '^$$' -bench Day -benchtime 1x | grep ^Bench
	@$(GO) test ./internal/e2e -run TestFigures -count=1 -v -timeout 60m -args -figures | grep -v -e '^===' -e '^ *---' -e _test.go

.PHONY: bench-all
bench-all: ## every benchmark: time, memory and allocations
	$(GO) test -run '^$$' -bench . -benchmem -timeout 60m $(TEST_FLAGS) $(PACKAGES) | grep -v -E '^(PASS|\?|ok .*no test)'

# 400 days of both kinds of cluster are 10,400 node-days. What was measured is kept in RESULTS, so that a measurement
# which was stopped goes on where it was; results of other code are not taken over.
SEEDS    ?= 20
ABLATION ?= 2
DAYS     ?= 400
WORKERS  ?= 2
RESULTS  ?= score-results.jsonl
.PHONY: score
score: ## measure the diagnosis on simulated clusters and recordings and write docs/score.md (all of it takes a night; SEEDS=5 DAYS=5 an hour)
	$(GO) run ./internal/score/run -out docs/score.md -seeds $(SEEDS) -ablation $(ABLATION) -days $(DAYS) -workers $(WORKERS) \
	  -results $(RESULTS) -code $(REVISION) -failures score-failures.txt

.PHONY: fuzz
FUZZTIME ?= 30s
fuzz: ## run every fuzz target for FUZZTIME
	@grep -rHoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | sed 's/func //' | while IFS=: read -r file name; do \
	  echo "$$(dirname $$file) $$name"; \
	  $(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) "$$(dirname $$file)"; \
	done

.PHONY: fmt
fmt: ## format the sources
	$(LINT) fmt

.PHONY: lint
lint: ## golangci-lint with .golangci.yml
	$(LINT) run

.PHONY: lint-fix
lint-fix: ## the same, mending what linters can mend
	$(LINT) run --fix

.PHONY: vuln
vuln: ## known vulnerabilities; needs Go's database of vulnerabilities over the network, so it is no part of check
	$(GO) tool -modfile=tools/go.mod govulncheck ./...

.PHONY: generate
generate: ## write what is made from the sources: config.example.toml, docs/configuration.md
	$(GO) test ./config -run 'IsCurrent' -update

.PHONY: check
check: generate lint ## format, vet, lint, and a look whether generated files are current
	@unformatted=$$($(LINT) fmt --diff 2>/dev/null); if [ -n "$$unformatted" ]; then echo "$$unformatted"; echo "run make fmt"; exit 1; fi
	$(GO) vet ./...
	git diff --exit-code -- config.example.toml docs

# The plugin is C and has a Makefile of its own; its tests are Go tests that call it.
.PHONY: plugin
plugin: ## build the NCCL profiler plugin
	@if [ -f plugin/Makefile ]; then $(MAKE) -C plugin; else echo "no plugin folder"; fi

.PHONY: bench-plugin
bench-plugin: ## what the plugin costs a training process, as a table
	$(GO) test ./plugin -run TestFigures -count=1 -v -args -table | grep -v '^==='
	@$(GO) test ./exporter -run TestEveryOperationIsAccountedFor -count=1 -v -args -steady 30 | grep 'operations of'
	@$(GO) test ./exporter -run '^$$' -bench Scrape -benchmem | grep ^Bench

# Release files. Archives are reproducible: sorted, with the commit's date and no user.
ARCHES ?= amd64 arm64
OUT    ?= dist
.PHONY: dist
dist: ## static binaries, archives, packages and checksums for Linux in dist/ (ARCHES=, OUT=)
	@VERSION=$(VERSION) EPOCH=$(EPOCH) STAMP="$(STAMP)" COMMANDS="$(COMMANDS)" ARCHES="$(ARCHES)" GO="$(GO)" OUT="$(OUT)" \
	  NFPM="$(NFPM)" SBOM="$(SBOM)" contrib/packaging/dist.sh

.PHONY: clean
clean: ## remove what was built
	rm -rf bin dist
	@if [ -f plugin/Makefile ]; then $(MAKE) -C plugin clean; fi

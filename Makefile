# Long work and everything that CI does not do by itself. `make help` lists the targets.
FUZZTIME ?= 60s

.PHONY: help
help: ## this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | sort

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME each
	@grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u | while read -r pkg; do \
	  grep -hoE '^func Fuzz[A-Za-z0-9_]*' $$pkg/*_test.go | sed 's/func //' | while read -r target; do \
	    echo "$$pkg $$target"; \
	    go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg >/tmp/fuzz.$$$$ 2>&1 </dev/null || { cat /tmp/fuzz.$$$$; rm -f /tmp/fuzz.$$$$; exit 1; }; \
	    rm -f /tmp/fuzz.$$$$; \
	  done || exit 1; \
	done

.PHONY: generate
generate: ## schemas, docs/cli.md, docs/metrics.md, docs/gates.md
	go generate ./...

.PHONY: workload-samples
workload-samples: ## 20 passages of every generated domain, to read
	@SEMBENCH_SAMPLES=20 go test -count=1 -run '^TestPrintSamples$$' -v ./internal/workload | grep -v '^=== \|^--- \|^PASS\|^ok'

.PHONY: testdata
testdata: ## judge the tiny committed run again after a meant change of the judge; read the diff before committing it
	go run ./cmd/sembench judge testdata/run --allow-simulated
	rm -f testdata/run/report.html

# Long work and everything that CI does not do by itself. `make help` lists the targets.
FUZZTIME ?= 60s

.PHONY: help
help: ## this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | sort

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME each, two at a time
	@grep -rnoE '^func Fuzz[A-Za-z0-9_]*' --include='*_test.go' . | sed -E 's|^(.*)/[^/]*:[0-9]+:func (.*)$$|\1 \2|' | sort -u | \
	  xargs -P 2 -n 2 sh -c 'out=$$(go test -run "^$$" -fuzz "^$$2\$$" -fuzztime $(FUZZTIME) -parallel 1 "$$1" 2>&1) && echo "ok $$1 $$2" || { echo "$$1 $$2: $$out"; exit 255; }' fuzz

.PHONY: generate
generate: ## schemas, docs/cli.md, docs/metrics.md, docs/gates.md
	go generate ./...

.PHONY: workload-samples
workload-samples: ## 20 passages of every generated domain, to read
	@SEMBENCH_SAMPLES=20 go test -count=1 -run '^TestPrintSamples$$' -v ./internal/workload | grep -v '^=== \|^--- \|^PASS\|^ok'

.PHONY: testdata testdata-run
testdata: ## judge the tiny committed run again after a meant change of the judge; read the diff before committing it
	go run ./cmd/sembench judge testdata/run --allow-simulated
	rm -f testdata/run/report.html

testdata-run: ## measure the tiny committed run anew (all of its numbers change)
	cp testdata/run/manifest.jsonl /tmp/sembench-tiny.jsonl && rm -rf testdata/run
	go run ./cmd/sembench bench --output testdata/run --run-id tiny --manifest /tmp/sembench-tiny.jsonl --base-ms 4 --prefill-us-per-token 8 \
	  --load-us-per-token 1 --lookup-ms 0.5 --itl-ms 0.1 --recipient-max-tokens 8 --calibration-pairs 1 --warmup 0 --canary-every 50 --quiet
	rm -f testdata/run/report.html /tmp/sembench-tiny.jsonl

.PHONY: bench bench-quick coverage
bench: ## speeds and sizes beside their targets and peers: a table (docs/benchmarks.md has a dated one)
	@bench/bench.sh

bench-quick: ## the same in a minute or two, with smaller inputs
	@bench/bench.sh quick

coverage: ## how often each interval covers the truth, over every population: rewrites the tables of docs/statistics.md (an hour)
	SEMBENCH_COVERAGE=4000 SEMBENCH_COVERAGE_TABLE=../../docs/statistics.md go test ./internal/stat -run TestCoverageStudy -v -timeout 60m

.PHONY: test-engines
test-engines: ## install real engines (Ollama, vLLM on CPU), measure them and stop them
	internal/replay/testdata/engines/run.sh ollama vllm

.PHONY: selftest
selftest: ## the truth lab: every fault caught, no honest run accused, truth recovered (minutes)
	go run ./cmd/sembench selftest

.PHONY: mutate
mutate: ## switch off each check in turn and show which faults then pass
	go run ./cmd/sembench selftest --quick --mutate

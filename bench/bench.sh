#!/usr/bin/env bash
# The speeds and sizes that the project promises (planner.md section 5, issues 2 and 3), measured here and now, each beside its target and, where
# there is one, beside a peer in the same run.
#
# Usage: bench/bench.sh [quick]      quick: smaller logs, fewer tokens, one repetition
#
#   SEMBENCH_SEMBLEND_PYTHON  a Python that has semblend==0.3.25 (default: a virtual environment is made, which needs a package index)
#   SEMBENCH_TOKENIZERS       a folder of real tokenizer.json files (bench/tokenizers.sh makes one; default: the built-in vocabularies alone)
set -euo pipefail
cd "$(dirname "$0")/.."
quick=${1:-}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
say() { printf '%s\n' "$*" >&2; }

python=${SEMBENCH_SEMBLEND_PYTHON:-}
if [ -z "$python" ]; then
	say "installing semblend 0.3.25 into a virtual environment"
	if python3 -m venv "$out/venv" && "$out/venv/bin/pip" install --quiet semblend==0.3.25; then
		python=$out/venv/bin/python
	else
		say "the Python planner is not here: its rows are left out"
	fi
fi
export SEMBENCH_SEMBLEND_PYTHON=$python PYTHONHASHSEED=0
tokens=100000000 megabytes=2048 seconds=2s
if [ "$quick" = quick ]; then
	tokens=10000000 megabytes=256 seconds=0.3s
fi
bench() { # bench PACKAGE PATTERN CORES [TURNS]
	say "$1 $2"
	go test -run '^$' -bench "$2" -benchtime "$seconds" -cpu "$3" -count "${4:-1}" -timeout 60m -v "./internal/$1/" >>"$out/$1" 2>&1 || { cat "$out/$1" >&2; exit 1; }
}
bench block 'BenchmarkIndex$' 1
bench plan 'BenchmarkSpanPool$|BenchmarkItemPool$' 1
bench token 'BenchmarkEncode$|BenchmarkEncodeExpression$' 1 3
bench stat . 1 3
say "memory over $tokens tokens, planners beside the Python package"
SEMBENCH_BENCH_TOKENS=$tokens go test -count=1 -v -timeout 60m ./bench >"$out/memory" 2>&1 || { cat "$out/memory" >&2; exit 1; }
say "engine log of $megabytes MB"
bench/engine.sh "$megabytes" >"$out/engine"

printf 'sembench %s, %s, %s\n' "$(git describe --always --dirty 2>/dev/null || echo unknown)" "$(go version | cut -d' ' -f3,4)" "$(date -u +%Y-%m-%d)"
printf '%s, %s cores, %s GB; load average %s before\n\n' "$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo 2>/dev/null | head -n 1)" "$(nproc)" \
	"$(awk '/MemTotal/ {printf "%.0f", $2 / 1e6}' /proc/meminfo 2>/dev/null)" "$(cut -d' ' -f1-3 /proc/loadavg 2>/dev/null)"
awk -f bench/table.awk "$out/block" "$out/plan" "$out/token" "$out/stat" "$out/memory" "$out/engine"

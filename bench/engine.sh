#!/usr/bin/env bash
# The summary of a vLLM log where 1 % of the lines are of interest, beside grep -c on the same file.
# Usage: bench/engine.sh [MEGABYTES]   (default 1024; 5120 is the size that the memory bound is stated for)
set -euo pipefail
cd "$(dirname "$0")/.."
mb=${1:-1024}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
SEMBENCH_BENCH_LOG="$dir/engine.log" SEMBENCH_BENCH_MB="$mb" go test -count=1 -run '^TestWriteBenchLog$' ./internal/engine >/dev/null
go build -o "$dir/sembench" ./cmd/sembench
bytes=$(wc -c <"$dir/engine.log")
cat "$dir/engine.log" >/dev/null # both read from the page cache
# run NAME COMMAND...: bytes over the seconds that one core worked (user and system), so that a busy machine
# does not count, and the peak of resident memory.
run() {
	local name=$1 peak=0 kb pid cpu
	shift
	{
		TIMEFORMAT='%U %S'
		time {
			GOMAXPROCS=1 "$@" >"$dir/out" 2>"$dir/err" &
			pid=$!
			while kb=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' /proc/$pid/status 2>/dev/null) && [ -n "$kb" ]; do
				[ "$kb" -le "$peak" ] || peak=$kb
				sleep 0.2
			done
			wait $pid || true
			echo "$peak" >"$dir/peak"
		}
	} 2>"$dir/time"
	cpu=$(tail -n 1 "$dir/time" | awk '{print $1 + $2}')
	awk -v name="$name" -v b="$bytes" -v s="$cpu" -v kb="$(cat "$dir/peak")" \
		'BEGIN {printf "%-26s %6.0f MB/s, peak %3.0f MB, %.1f GB of log\n", name, b / s / 1e6, kb / 1024, b / 1e9}'
}
run "grep -c" grep -c "SemBlend semantic lookup hit" "$dir/engine.log"
run "grep -c (two markers)" grep -cE "SemBlend |Prefix cache hit rate" "$dir/engine.log"
run "summarize-engine-events" "$dir/sembench" summarize-engine-events --engine vllm --input "$dir/engine.log"

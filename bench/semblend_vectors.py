#!/usr/bin/env python3
"""Records what the Python package semblend==0.3.25 plans for generated cases.

    python3 -m venv v && v/bin/pip install semblend==0.3.25
    v/bin/python bench/semblend_vectors.py [--musique ../shared/data/musique/musique_s.json]

writes bench/semblend_vectors.json.gz. Cases are derived from (class, block size, seed) by a generator that
internal/plan/vectors_test.go repeats, so the file holds results alone, each with a checksum of its tokens.
Results come from the package alone, through adapters/semblend_planner.py; blocks are counted here, token
by token, straight from the contract's definition.
"""
import argparse
import gzip
import hashlib
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
if __name__ == "__main__" and os.environ.get("PYTHONHASHSEED") != "0":
    os.execve(sys.executable, [sys.executable] + sys.argv, dict(os.environ, PYTHONHASHSEED="0"))
sys.path.insert(0, os.path.join(HERE, "..", "adapters"))
import logging  # noqa: E402

logging.disable(logging.CRITICAL)
import semblend_planner  # noqa: E402

MASK = (1 << 64) - 1
SIZES = (16, 64, 128, 256)
CLASSES = ("aligned", "shifted", "reordered", "edited", "multi_donor", "repeated", "short", "real_text", "isolated")
PER_CELL = 80  # cases per class and block size: 320 per class, 2,880 in all


class Random:
    """SplitMix64, small enough to write twice."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return (z ^ (z >> 31)) % n

    def tokens(self, n, vocabulary):
        return [self.below(vocabulary) for _ in range(n)]

    def shuffled(self, items):
        items = list(items)
        for i in range(len(items) - 1, 0, -1):
            j = self.below(i + 1)
            items[i], items[j] = items[j], items[i]
        return items


def edited(r, ids, every, vocabulary):
    """Each token is changed with chance 1/every: replaced, dropped, doubled or swapped with its successor."""
    out, i = [], 0
    while i < len(ids):
        if r.below(every) != 0:
            out.append(ids[i])
            i += 1
            continue
        kind = r.below(6)
        if kind < 3:
            out.append(r.below(vocabulary))
        elif kind == 3:
            pass
        elif kind == 4:
            out += [ids[i], r.below(vocabulary)]
        elif i + 1 < len(ids):
            out += [ids[i + 1], ids[i]]
            i += 1
        i += 1
    return out


def case(kind, size, seed, corpus):
    """Donors and target of one case."""
    r = Random(seed * 1000003 + size * 31 + CLASSES.index(kind))
    vocabulary = (60, 1000, 30000, 30000)[r.below(4)]
    chunks = 2 + r.below((40, 16, 12, 9)[SIZES.index(size)])
    n = chunks * size + r.below(size)
    donor = r.tokens(n, vocabulary)
    donors = [donor]
    if kind == "aligned":
        keep = 1 + r.below(n)
        target = donor[:keep] + r.tokens(r.below(n), vocabulary)
        donors += [r.tokens(1 + r.below(n), vocabulary) for _ in range(r.below(3))]
    elif kind == "shifted":
        start = r.below(n // 2 + 1)
        target = r.tokens(1 + r.below(2 * size), vocabulary) + donor[start : start + 1 + r.below(n)] + r.tokens(r.below(n // 2 + 1), vocabulary)
        donors += [r.tokens(1 + r.below(2 * n), vocabulary) for _ in range(r.below(3))]
    elif kind == "reordered":
        step = size if r.below(2) == 0 else 1 + r.below(2 * size)
        parts = r.shuffled([donor[i : i + step] for i in range(0, n, step)])
        parts = parts[: 1 + r.below(len(parts))]
        if r.below(2) == 0:
            parts = [p if r.below(4) else r.tokens(len(p), vocabulary) for p in parts]
        target = [t for p in parts for t in p]
    elif kind == "edited":
        target = edited(r, donor, (400, 100, 40, 16, 8)[r.below(5)], vocabulary)
        if r.below(3) == 0:
            donors.append(edited(r, donor, 30, vocabulary))
    elif kind == "multi_donor":
        donors += [r.tokens(size + r.below(n), vocabulary) for _ in range(1 + r.below(5))]
        target = []
        for _ in range(1 + r.below(6)):
            d = donors[r.below(len(donors))]
            start = r.below(len(d))
            if r.below(3) > 0:
                start -= start % size
                target += r.tokens(-len(target) % size, vocabulary)
            part = d[start : start + 1 + r.below(3 * size)]
            target += part if r.below(3) else edited(r, part, 40, vocabulary)
    elif kind == "repeated":
        pool = [r.tokens(size, vocabulary) for _ in range(1 + r.below(5))]
        donor = [t for _ in range(chunks) for t in pool[r.below(len(pool))]]
        donors = [donor] + [[t for _ in range(1 + r.below(4)) for t in pool[r.below(len(pool))]] for _ in range(r.below(3))]
        target = r.tokens(r.below(2) * r.below(size), vocabulary)
        for _ in range(1 + r.below(chunks)):
            what = r.below(8)
            part = pool[r.below(len(pool))] if what else r.tokens(size, vocabulary)
            target += edited(r, part, 12, vocabulary) if what == 1 else part
    elif kind == "short":
        target = edited(r, donor[: 1 + r.below(3 * size)], (1000000, 60, 12)[r.below(3)], vocabulary)
        if r.below(2) == 0:
            donors[0] = donor[: 1 + r.below(4 * size)]
        if r.below(4) == 0:
            target = r.tokens(r.below(5), vocabulary) + target
    elif kind == "isolated":
        k = r.below(chunks)
        lead = r.below(2)
        target = r.tokens(lead * size, vocabulary)
        target += edited(r, donor[k * size : (k + 1) * size], (1000000, 100, 30)[r.below(3)], vocabulary)
        target += r.tokens(r.below(3 * size), vocabulary)
        if r.below(2) == 0:
            donors[0] = donor[k * size : (k + 2) * size]
    else:
        item = corpus[r.below(len(corpus))]
        order = r.shuffled(range(len(item)))
        first = sorted(order[: 2 + r.below(5)]) if r.below(2) else order[: 2 + r.below(5)]
        donors = [[t for p in order[i : i + 2 + r.below(4)] for t in item[p]] for i in range(0, min(len(order), 12), 3 + r.below(3))]
        if r.below(2) == 0:
            donors.insert(r.below(len(donors) + 1), [t for p in order[: 3 + r.below(6)] for t in item[p]])
        target = r.tokens(r.below(3) * r.below(size), 50000) + [t for p in first for t in item[p]]
        if r.below(3) == 0:
            target = edited(r, target, (200, 50, 20)[r.below(3)], 50000)
    return donors, target[:4096]


def words(text):
    """A tokenizer for tests: runs of ASCII letters and digits, other bytes but spaces alone, FNV-1a ids."""
    ids, at, data = [], 0, text.encode("utf-8")
    while at < len(data):
        end = at
        while end < len(data) and chr(data[end]).isalnum() and data[end] < 128:
            end += 1
        if end == at:
            end += 1
            if data[at] == 32:
                at = end
                continue
        h = 2166136261
        for b in data[at:end]:
            h = ((h ^ b) * 16777619) & 0xFFFFFFFF
        ids.append(h % 50000)
        at = end
    return ids


def checksum(donors, target):
    h = hashlib.sha256()
    for ids in donors + [target]:
        h.update(len(ids).to_bytes(4, "little"))
        for t in ids:
            h.update(t.to_bytes(4, "little"))
    return h.hexdigest()[:16]


def counts(reply, target, size):
    """Candidate and eligible blocks by the contract's definition, and copied tokens."""
    source = {a["targetPos"]: (a["donorId"], a["donorPos"]) for a in reply["slot_actions"]}
    candidate = eligible = 0
    for b in range(len(target) // size):
        got = [source.get(b * size + k) for k in range(size)]
        if None in got:
            continue
        candidate += 1
        eligible += all(g == (got[0][0], got[0][1] + k) for k, g in enumerate(got))
    return candidate, eligible, len(source)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--musique", default=os.path.join(HERE, "../../shared/data/musique/musique_s.json"))
    parser.add_argument("--output", default=os.path.join(HERE, "semblend_vectors.json.gz"))
    parser.add_argument("--per-cell", type=int, default=PER_CELL)
    parser.add_argument("--first-seed", type=int, default=0, help="other cases than the recorded ones")
    args = parser.parse_args()
    with open(args.musique, encoding="utf-8") as f:
        corpus = [[words(c["text"]) for c in item["ctxs"]] for item in json.load(f)]
    from importlib.metadata import version

    rows = []
    for kind in CLASSES:
        for size in SIZES:
            for seed in range(args.first_seed, args.first_seed + args.per_cell):
                donors, target = case(kind, size, seed, corpus)
                planner = semblend_planner.Planner()
                for i, d in enumerate(donors):
                    planner.register(f"d{i}", d)
                row = [kind, size, seed, checksum(donors, target)]
                try:
                    reply = semblend_planner.answer(planner.plan(target, "", size))
                    row += [*counts(reply, target, size), reply["rejection_reason"]]
                except Exception as error:
                    row += [None, None, None, f"{type(error).__name__}: {error}"]
                rows.append(row)
    head = {
        "package": "semblend",
        "version": version("semblend"),
        "python": sys.version.split()[0],
        "environment": {"PYTHONHASHSEED": "0", "SEMBLEND_MULTI_DONOR": "1"},
        "settings": {"embedder": "jaccard", "min_reuse_ratio": 0.25, "min_similarity": 0.60},
        "script": "bench/semblend_vectors.py",
        "script_sha256": hashlib.sha256(open(__file__, "rb").read()).hexdigest(),
        "adapter_sha256": hashlib.sha256(open(semblend_planner.__file__, "rb").read()).hexdigest(),
        "columns": ["class", "block_size", "seed", "tokens_sha256", "candidate_blocks", "eligible_blocks", "copied_tokens", "reason"],
    }
    lines = [json.dumps(head, sort_keys=True)] + [json.dumps(r) for r in rows]
    with open(args.output, "wb") as f:
        f.write(gzip.compress(("\n".join(lines) + "\n").encode(), 9, mtime=0))
    print(f"{len(rows)} cases, {sum(r[4] is None for r in rows)} raised", file=sys.stderr)


if __name__ == "__main__":
    main()

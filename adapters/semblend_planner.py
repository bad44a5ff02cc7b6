#!/usr/bin/env python3
"""Child process for sembench's exec: planner that wraps the real semblend package.

    pip install semblend==0.3.25
    sembench run-offline --planner "exec:python3 adapters/semblend_planner.py" ...

It speaks JSON lines (planner.md, section 3): `reset` and `register` are not answered, `plan` is answered
with one line holding semblend's own slot_actions, or `error`. Whatever the package prints goes to standard
error, so that standard output carries answers alone.

Two settings differ from the package's defaults and are what sembench means by "SemBlend's plan": several
donors per plan (SEMBLEND_MULTI_DONOR=1, the package ships 0) and a minimum reuse ratio of 0.25 (ships 0.5).
An environment variable that is already set wins.
"""
import argparse
import json
import os
import sys

# Ties between donors follow the order of Python sets of strings: without a fixed hash seed the same
# input can name another donor in the next process.
if os.environ.get("PYTHONHASHSEED") is None and __name__ == "__main__":
    os.execve(sys.executable, [sys.executable] + sys.argv, dict(os.environ, PYTHONHASHSEED="0"))
os.environ.setdefault("SEMBLEND_MULTI_DONOR", "1")


class Planner:
    """Donors by registration order, and the package's pipeline for the block size last asked for."""

    def __init__(self, min_reuse_ratio=0.25, min_similarity=0.60, embedder="jaccard"):
        self.settings = dict(min_reuse_ratio=min_reuse_ratio, min_similarity=min_similarity, embedder_type=embedder)
        self.reset()

    def reset(self):
        self.donors, self.pipeline, self.size, self.known = [], None, None, 0

    def register(self, donor_id, token_ids, text=""):
        self.donors.append((donor_id, token_ids, text))

    def plan(self, token_ids, text="", block_size=16):
        """The package's result for one target, with every registered donor known to it."""
        if self.pipeline is None or self.size != block_size:
            from semblend_core.pipeline import SemBlendPipeline

            self.pipeline = SemBlendPipeline(
                chunk_size=block_size, max_donors=max(10000, 2 * len(self.donors)), **self.settings
            )
            self.size, self.known = block_size, 0
        for donor_id, ids, donor_text in self.donors[self.known :]:
            self.pipeline.register_donor(donor_id, ids, donor_text)
            self.known += 1
        return self.pipeline.find_donor(token_ids, text)


def answer(result):
    """A plan result as one answer: copies only, each with the donor that it names or the plan's."""
    copies = []
    if result.found:
        for action in result.slot_actions:
            if action.get("action") == "copy_from_donor":
                copies.append(
                    {
                        "action": "copy_from_donor",
                        "targetPos": int(action["targetPos"]),
                        "donorPos": int(action["donorPos"]),
                        "donorId": action.get("donorId") or result.donor_id,
                    }
                )
    return {
        "slot_actions": copies,
        "similarity": float(result.similarity),
        "reuse_ratio": float(result.reuse_ratio),
        "rejection_reason": result.rejection_reason,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--min-reuse-ratio", type=float, default=0.25)
    parser.add_argument("--min-similarity", type=float, default=0.60)
    parser.add_argument("--embedder", default="jaccard")
    args = parser.parse_args()
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    planner = Planner(args.min_reuse_ratio, args.min_similarity, args.embedder)
    for line in sys.stdin:
        request = json.loads(line)
        op = request["op"]
        if op == "reset":
            planner.reset()
        elif op == "register":
            planner.register(request["donor_id"], request["token_ids"], request.get("text", ""))
        elif op == "plan":
            try:
                reply = answer(planner.plan(request["token_ids"], request.get("text", ""), request.get("block_size", 16)))
            except Exception as error:  # the package's failure is this row's error, not the end of the run
                reply = {"error": f"{type(error).__name__}: {error}"}
            out.write(json.dumps(reply) + "\n")
            out.flush()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Times the Python package semblend on cases from standard input, for bench/peer_test.go.

Reads {"block_size", "cases": [{"donors": [[id]], "target": [id]}]}; writes one JSON line a case: the shortest CPU time of five plans in
microseconds, after one that warms up, without any process or JSON between caller and package.
"""
import json
import logging
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "adapters"))
logging.disable(logging.CRITICAL)
import semblend_planner  # noqa: E402

job = json.load(sys.stdin)
for case in job["cases"]:
    planner = semblend_planner.Planner()
    planner.reset()
    for i, ids in enumerate(case["donors"]):
        planner.register(str(i), ids)
    took, error = [], None
    for turn in range(6):
        start = time.process_time()
        try:
            planner.plan(case["target"], "", job["block_size"])
        except Exception as e:  # published releases raise on some inputs
            error = type(e).__name__
            break
        if turn:
            took.append((time.process_time() - start) * 1e6)
    print(json.dumps({"least_us": min(took) if took else None, "error": error}))

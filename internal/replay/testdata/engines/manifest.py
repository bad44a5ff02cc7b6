"""Writes a manifest of ten items: seven whose donor is their own beginning, three controls. Usage: manifest.py OUT."""
import json
import random
import sys

r = random.Random(5)


def words(n):
    return " ".join("".join(r.choice("bdfgklmnprstvz") + r.choice("aeiou") for _ in range(r.choice((2, 3)))) for _ in range(n))


with open(sys.argv[1], "w") as out:
    for i in range(10):
        donor = words(150)
        control = i % 3 == 0
        out.write(json.dumps({
            "answers": ["x"], "benchmark_version": "sembench.manifest.v1", "dataset": "engines", "input": "q", "item_id": "i%d" % i,
            "donor_prompts": [{"donor_id": "d", "label": "seed", "metadata": {}, "text": donor}],
            "metadata": {"length_band": "short"}, "negative_control": control, "source_id": str(i),
            "recipient_prompt": words(150) if control else donor + " " + words(10),
            "transform": "diverse" if control else "prefix_depth@90",
        }, sort_keys=True) + "\n")

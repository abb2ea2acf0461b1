#!/usr/bin/env python3
"""Groups of ranks that hold the same kv heads train like one device, and each runs its share of the query heads.

Usage: grouped_heads.py [--only N]; exits 0 only if all cases match. Parameters after five steps and losses are
compared with one process as in any_plan.py. If ranks can share out query heads, the queries that attention gets on a
rank show that they do.
"""
import json
import random
import re
import sys
import tempfile
from pathlib import Path

from any_plan import match_one_device, run_listed_cases, write_case
from dtc_tools import dtc

# Each case is: query heads, kv heads, tp, sp, dp, dropout, query heads of a rank. 6 heads on 2 kv heads are 3 each,
# which 2 ranks cannot share out evenly: each runs all 3; equally 4 ranks each run all 5 of one kv head. 3 kv heads on
# 2 ranks have no divisor: each rank runs all. 4 kv heads on 6 ranks are split over 2 of them, and 3 ranks run the
# same.
CASES = [
    (4, 1, 2, 0, 1, 0.0, 2),
    (4, 1, 4, 1, 1, 0.1, 1),
    (8, 2, 4, 0, 1, 0.0, 2),
    (8, 2, 4, 1, 2, 0.1, 2),
    (4, 2, 4, 0, 2, 0.1, 1),
    (8, 2, 8, 0, 1, 0.1, 1),
    (6, 2, 4, 0, 1, 0.1, 3),
    (6, 2, 4, 1, 2, 0.0, 3),
    (5, 1, 4, 1, 1, 0.1, 5),
    (6, 3, 2, 0, 2, 0.1, 6),
    (12, 4, 6, 0, 1, 0.1, 6),
]


def config_of(heads, kv_heads, dropout, rng):
    head = rng.choice([4, 8])
    return {"model_type": "llama", "vocab_size": 61, "max_position_embeddings": 64, "hidden_size": heads * head,
            "head_dim": head, "intermediate_size": rng.choice([24, 40]), "num_hidden_layers": 2,
            "num_attention_heads": heads, "num_key_value_heads": kv_heads, "hidden_act": "silu",
            "initializer_range": 0.08, "tie_word_embeddings": False, "attention_bias": rng.choice([True, False]),
            "attention_dropout": dropout}


def heads_of_rank(dte):
    """Returns the query heads of each attention in a compiled program."""
    return set(map(int, re.findall(r" attention .* heads (\d+) kv_heads", dtc("inspect", dte, "--rank", 0))))


def run_case(index):
    heads, kv_heads, tp, sp, dp, dropout, of_rank = CASES[index]
    rng = random.Random(index)
    config = config_of(heads, kv_heads, dropout, rng)
    fix = {"dp": dp, "tp": tp, "sp": sp, "zero": int(dp > 1), "micro_batch": 1}
    what = f"case {index}: {heads} heads, {kv_heads} kv heads, {fix}, dropout {dropout}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, data = write_case(folder, config, rng)
        difference = match_one_device(folder, path, 16, 2 * dp, "adamw", dp * tp, fix, data, index, what)
        found = heads_of_rank(folder / f"r{dp * tp}.dte")
        if found != {of_rank}:
            sys.exit(f"FAILED: {what}: a rank runs {found} query heads, wanted {of_rank}")
        return difference


if __name__ == "__main__":
    run_listed_cases(__doc__, len(CASES), run_case)

#!/usr/bin/env python3
"""Layers that are treated apart train like one repeat: repeats split by dtc-split-repeats, on one process and
several.

The names and initial values of parameters, the masks of dropout and every loss are those of the original model.
"""
import json
import random
import tempfile
from pathlib import Path

from any_plan import TOLERANCE, compare_runs, run_one
from dtc_tools import BIN, as_bytes, dtc, run

CONFIGS = [
    {"model_type": "gpt2", "vocab_size": 61, "n_positions": 16, "n_embd": 24, "n_layer": 5, "n_head": 4,
     "initializer_range": 0.08, "resid_pdrop": 0.1, "embd_pdrop": 0.1, "attn_pdrop": 0.1},
    {"model_type": "llama", "vocab_size": 61, "max_position_embeddings": 16, "hidden_size": 32, "intermediate_size": 40,
     "num_hidden_layers": 5, "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_act": "silu",
     "initializer_range": 0.08, "tie_word_embeddings": False}]


def main():
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = folder / "text.txt"
        data.write_bytes(bytes(rng.randrange(61) for _ in range(4000)))
        for config in CONFIGS:
            path, whole, split = folder / "config.json", folder / "model.mlir", folder / "split.mlir"
            path.write_text(json.dumps(config))
            dtc("import", path, "--seq-len", 16, "-o", whole)
            run([BIN / "dtc-opt", whole, "--dtc-instantiate-blocks", "--dtc-split-repeats=at=1,3", "-o", split])
            assert split.read_text().count("graph.repeat") == 3, f"{split} has no 3 repeats"
            one = {"dp": 1, "tp": 1, "micro_batch": 4}
            wanted = run_one(folder, whole, 16, 4, "adamw", 1, one, as_bytes(data), 3)
            several = {"dp": 2, "tp": 2, "sp": 1, "zero": 1, "micro_batch": 1}
            for ranks, fix in (1, one), (4, several):
                found = run_one(folder, split, 16, 4, "adamw", ranks, fix, as_bytes(data), 3)
                worst = compare_runs(found, wanted, f"{config['model_type']} in three parts on {ranks} ranks")
                print(f"{config['model_type']} in three parts on {ranks} ranks: {worst:.2e}, at most {TOLERANCE:g}")


if __name__ == "__main__":
    main()

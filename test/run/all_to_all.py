#!/usr/bin/env python3
"""Tensors that change the dim they are split along (all_to_all) on real processes train like one device.

Plans are edited, as people may do: the embedding table and the weights of the MLP are stored split along another dim
than the plan's ops read them. So they change it before every use, and their gradients change it back.
A dim that does not divide by the ranks is padded for the all-to-all; the results are the same.
"""
import json
import random
import re
import sys
import tempfile
from pathlib import Path

from dtc_tools import as_bytes, compare_steps, compare_tensors, dtc, read_safetensors, train

STEPS, TOLERANCE = 5, 1e-4
# Each case is: ranks of dp, ranks of tp, sequence length, width, heads. The shards of the last two cases are uneven.
CASES = [(1, 2, 16, 24, 4), (2, 2, 16, 24, 4), (1, 4, 16, 24, 4), (1, 4, 8, 16, 2), (1, 4, 10, 24, 4), (2, 2, 7, 18, 3)]
BATCH = 4


def model(sequence, width, heads):
    return {"model_type": "gpt2", "vocab_size": 61, "n_positions": sequence, "n_embd": width, "n_layer": 2,
            "n_head": heads, "activation_function": "gelu", "initializer_range": 0.08, "resid_pdrop": 0.1,
            "embd_pdrop": 0.1, "attn_pdrop": 0.1, "tie_word_embeddings": True}


def train_plan(folder, config, sequence, mesh, edited_parameters):
    """Compiles and trains under the planner's plan in which parameters that match are split along other dims.

    Also returns the program.
    """
    ranks = mesh["dp"] * mesh["tp"]
    plan, dte, dump, temps = (folder / f"{ranks}.{end}" for end in ("json", "dte", "safetensors", "temps"))
    flags = [config, "--seq-len", sequence, "--topology", "cpu", "--devices", ranks]
    pins = ",".join(f"{key}={value}" for key, value in {**mesh, "sp": 0, "zero": 0, "micro_batch": 1}.items())
    dtc("plan", *flags, "--global-batch", BATCH, "--fix", pins, "-o", plan)
    edited = json.loads(plan.read_text())
    for name, placement in edited["tensors"].items():
        if edited_parameters and re.search(edited_parameters, name):
            placement["tp"] = "shard(1)" if placement["tp"] == "shard(0)" else "shard(0)"
    plan.write_text(json.dumps(edited))
    dtc("compile", *flags, "--plan", plan, "--epsilon", 1e-3, "-o", dte, "--save-temps", temps)
    losses = train(dte, ranks, as_bytes(folder / "text.txt"), STEPS, "--seed", 3, "--lr", 1e-2, "--threads", 1,
                   "--dump-params", dump)
    return [step["loss"] for step in losses], read_safetensors(dump), (temps / "03-schedule.mlir").read_text()


def run_case(dp, tp, sequence, width, heads):
    what = f"dp={dp} tp={tp} sequence {sequence} width {width}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = folder / "config.json"
        config.write_text(json.dumps(model(sequence, width, heads)))
        rng = random.Random(what)
        (folder / "text.txt").write_bytes(bytes(rng.randrange(61) for _ in range(2000)))
        losses1, params1, _ = train_plan(folder, config, sequence, {"dp": 1, "tp": 1}, "")
        edited = r"wte\.weight|mlp\.\w+\.weight"
        losses, params, program = train_plan(folder, config, sequence, {"dp": dp, "tp": tp}, edited)
        exchanges = len(re.findall(r"exec\.collective +all_to_all ", program))
        if exchanges == 0:
            sys.exit(f"FAILED: {what}: the program has no all_to_all")
        compare_steps(losses, losses1, TOLERANCE, f"{what}: loss")
        worst = compare_tensors(params, params1, TOLERANCE, what)
        print(f"{what}: {exchanges} all_to_all, largest difference {worst:.2e}", flush=True)


def main():
    for case in CASES:
        run_case(*case)
    print(f"{len(CASES)} cases match one device")


if __name__ == "__main__":
    main()

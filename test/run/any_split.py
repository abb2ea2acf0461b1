#!/usr/bin/env python3
"""Any way of splitting ops over tensor parallelism trains like one device.

Usage: any_split.py [--cases N] [--seed S]; the last line is the summary, and the exit status is 0 only if all match.
Small models are planned with searched placements, then some of their ops get a random other split ("op_splits" of the
plan), as many as the compiler takes. Losses, gradients and parameters after five steps are compared with one process
as in any_plan.py.
"""
import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from any_plan import compare_runs, random_gpt2, random_llama, run_cases, run_one, run_steps, write_case
from dtc_tools import BIN, dtc

CHANGES = 8
STAGED = ["layer_norm", "layer_norm_grad", "rms_norm", "rms_norm_grad", "cross_entropy"]


def compiles(model, sequence, plan, folder):
    """Returns whether the plan compiles. `sequence` is the number of tokens of a sample, or None for a model without
    sequences.
    """
    path = folder / "changed.json"
    path.write_text(json.dumps(plan))
    length = [] if sequence is None else ["--seq-len", str(sequence)]
    done = subprocess.run([BIN / "dtc", "compile", model, *length, "--plan", path, "--epsilon", "1e-3", "--quick-code",
                           "-o", folder / "changed.dte"], capture_output=True, text=True, timeout=300)
    if done.returncode == 0:
        return True
    if done.returncode != 1 or "error: " not in done.stderr or done.stderr.count("error: ") != 1:
        sys.exit(f"FAILED: a split that can't be got no clear error ({done.returncode}): {done.stderr[-2000:]}")
    return False


def random_choice(rng, plan):
    """Returns a loop, "none" or "partial"; a plan with splits that differ on two axes of tensor parallelism gets one
    for each.
    """
    two = any("/" in op for ops in plan["op_splits"]["functions"].values() for op in ops)
    choices = ["none", "partial", "0", "1", "2", "3", "4"]
    return "/".join(rng.choice(choices) for _ in range(rng.choice([1, 2]) if two else 1))


def split_rows(rng, model, sequence, plan, folder):
    """Splits the columns of norms and the vocabulary of cross entropies at random, so that they finish sums within
    themselves.

    Their loops are batch, sequence, column. Returns how many of the changes the compiler took.
    """
    taken = 0
    for ops in plan["op_splits"]["functions"].values():
        for index, before in enumerate(ops):
            name = before.split(" ")[0]
            if name not in STAGED or before.endswith(" 2") or rng.random() < 0.5:
                continue
            ops[index] = name + " 2"
            if compiles(model, sequence, plan, folder):
                taken += 1
            else:
                ops[index] = before
    return taken


def change_splits(rng, model, sequence, plan, folder):
    """Changes splits at random; returns how many of the changes the compiler took."""
    taken = split_rows(rng, model, sequence, plan, folder)
    functions = plan["op_splits"]["functions"]
    for _ in range(CHANGES):
        ops = functions[rng.choice(sorted(functions))]
        index = rng.randrange(len(ops))
        before = ops[index]
        ops[index] = before.split(" ")[0] + " " + random_choice(rng, plan)
        if ops[index] != before and compiles(model, sequence, plan, folder):
            taken += 1
        else:
            ops[index] = before
    return taken


def run_case(index, seed):
    rng = random.Random(f"splits {seed}/{index}")
    config = rng.choice([random_gpt2, random_llama])(rng)
    tp, dp = rng.choice([(2, 1), (2, 2), (4, 1)])
    batch, sequence, optimizer = dp * rng.choice([1, 2]), rng.choice([8, 16]), rng.choice(["adamw", "sgd"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, data = write_case(folder, config, rng)
        dtc("plan", path, "--seq-len", sequence, "--topology", "cpu", "--devices", dp * tp, "--global-batch", batch,
            "--optimizer", optimizer, "--fix", f"dp={dp},tp={tp},placement=searched", "--format", "json", "-o",
            folder / "plan.json")
        plan = json.loads((folder / "plan.json").read_text())
        taken = change_splits(rng, path, sequence, plan, folder)
        what = f"case {index}: {json.dumps(config)} dp {dp} tp {tp} sequence {sequence} {json.dumps(plan['op_splits'])}"
        (folder / "plan.json").write_text(json.dumps(plan))
        dte = folder / "split.dte"
        dtc("compile", path, "--seq-len", sequence, "--plan", folder / "plan.json", "--epsilon", 1e-3, "-o", dte)
        found = run_steps(folder, dte, dp * tp, data, index, 1e-2 if optimizer == "adamw" else 0.1)
        one = {"dp": 1, "tp": 1, "micro_batch": batch}
        wanted = run_one(folder, path, sequence, batch, optimizer, 1, one, data, index)
        return taken, compare_runs(found, wanted, what)


def main():
    def taken(results):
        return sum(changes for changes, _ in results)

    results, match = run_cases(__doc__, 12, run_case, lambda results: f"{taken(results)} splits changed, largest "
                               f"difference "
                               f"{max((worst for _, worst in results), default=0):.2e}")
    sys.exit(0 if match and taken(results) else 1)


if __name__ == "__main__":
    main()

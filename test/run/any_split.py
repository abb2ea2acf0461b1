#!/usr/bin/env python3
"""Any way of splitting ops over tensor parallelism trains like one device.

Usage: any_split.py [--cases N] [--seed S]; the last line is the summary, and the exit status is 0 only where all match.
Small models are planned with searched placements, then some of their ops get a random other split ("op_splits" of the
plan), as many as the compiler takes. Parameters after five steps and losses are compared with one process as in
any_plan.py.
"""
import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from any_plan import STEPS, TOLERANCE, random_gpt2, random_llama, run_one
from dtc_tools import BIN, compare_tensors, dtc, read_safetensors, train

CHANGES = 8
STAGED = ["layer_norm", "layer_norm_grad", "rms_norm", "rms_norm_grad", "cross_entropy"]


def compiles(model, sequence, plan, folder):
    path = folder / "changed.json"
    path.write_text(json.dumps(plan))
    done = subprocess.run([BIN / "dtc", "compile", model, "--seq-len", str(sequence), "--plan", path, "--epsilon", "1e-3",
                           "-o", folder / "changed.dte"], capture_output=True, text=True, timeout=300)
    if done.returncode == 0:
        return True
    if done.returncode != 1 or "error: " not in done.stderr or done.stderr.count("error: ") != 1:
        sys.exit(f"FAILED: a split that can't be got no clear error ({done.returncode}): {done.stderr[-2000:]}")
    return False


def random_choice(rng, plan):
    """A loop, "none" or "partial"; one for each axis of tensor parallelism where the plan has splits that differ on two."""
    two = any("/" in op for ops in plan["op_splits"]["functions"].values() for op in ops)
    choices = ["none", "partial", "0", "1", "2", "3", "4"]
    return "/".join(rng.choice(choices) for _ in range(rng.choice([1, 2]) if two else 1))


def split_rows(rng, model, sequence, plan, folder):
    """Splits the columns of norms and the words of cross entropies at random, so that they finish sums within themselves.

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
        path, data = folder / "config.json", folder / "text.txt"
        path.write_text(json.dumps(config))
        data.write_bytes(bytes(rng.randrange(61) for _ in range(4000)))
        dtc("plan", path, "--seq-len", sequence, "--topology", "cpu", "--devices", dp * tp, "--global-batch", batch,
            "--optimizer", optimizer, "--fix", f"dp={dp},tp={tp},placement=searched", "--format", "json", "-o",
            folder / "plan.json")
        plan = json.loads((folder / "plan.json").read_text())
        taken = change_splits(rng, path, sequence, plan, folder)
        what = f"case {index}: {json.dumps(config)} dp {dp} tp {tp} sequence {sequence} {json.dumps(plan['op_splits'])}"
        (folder / "plan.json").write_text(json.dumps(plan))
        dte, dump = folder / "split.dte", folder / "split.safetensors"
        dtc("compile", path, "--seq-len", sequence, "--plan", folder / "plan.json", "--epsilon", 1e-3, "-o", dte)
        losses = [step["loss"] for step in
                  train(dte, dp * tp, data, STEPS, "--seed", index, "--lr", 1e-2 if optimizer == "adamw" else 0.1,
                        "--threads", 1, "--dump-params", dump)]
        one = {"dp": 1, "tp": 1, "micro_batch": batch}
        losses1, params1 = run_one(folder, path, sequence, batch, optimizer, 1, one, data, index)
        for step, (a, b) in enumerate(zip(losses, losses1), 1):
            if abs(a - b) > TOLERANCE * abs(b):
                sys.exit(f"FAILED: {what}: loss of step {step} is {a}, on one device {b}")
        return taken, compare_tensors(read_safetensors(dump), params1, TOLERANCE, what)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="run this case alone")
    arguments = parser.parse_args()
    cases = range(arguments.cases) if arguments.only is None else [arguments.only]
    worst, taken, failed = 0.0, 0, []
    for index in cases:
        try:
            changes, difference = run_case(index, arguments.seed)
            worst, taken = max(worst, difference), taken + changes
        except SystemExit as failure:
            print(failure, flush=True)
            failed.append(index)
    print(f"{len(cases) - len(failed)} of {len(cases)} cases match one device, {taken} splits changed, largest difference "
          f"{worst:.2e}" + (f"; failed: {failed}" if failed else ""))
    sys.exit(1 if failed or taken == 0 else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Every plan for GPUs ends under NCCL's launch order, by the order of its operations alone.

Random models, one or two tensors of which cross each cut between stages, and random plans are compiled for CUDA. `dtc
compile` proves that each program ends where an operation starts after all that its host has enqueued before it. Here
the file is read by flatc and a stronger statement is checked, which shares nothing with that proof: in every entry
there is one order of all collectives and transfers of the job, with which the order of every rank agrees. A pipeline
with two tensors between its stages trains on emulated GPUs like one CPU.

Usage: launch_order.py [--cases N] [--seed S]; the last line is the summary.
"""
import argparse
import collections
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from any_plan import compare_runs, run_one
from dtc_tools import as_bytes, dtc

ROOT = Path(__file__).resolve().parents[2]
SEQUENCE = 8
SCHEDULES = [("gpipe", 1), ("1f1b", 1), ("interleaved", 2), ("zero-bubble", 1), ("zb-2p", 1), ("zb-v", 2),
             ("v-half", 2), ("v-min", 2)]
# One tensor goes from stage to stage.
GPT2 = {"model_type": "gpt2", "vocab_size": 64, "n_positions": SEQUENCE, "n_embd": 16, "n_layer": 2, "n_head": 4}
# The positions are read in front of the layers and behind them, so that two tensors do.
POSITIONS = (ROOT / "test/run/cases/positions-on-two-stages.mlir").read_text()


def random_plan(rng):
    schedule, chunks = rng.choice(SCHEDULES)
    fix = {"pp": rng.choice([2, 2, 3, 4]), "tp": rng.choice([1, 2]), "dp": rng.choice([1, 1, 2]),
           "schedule": schedule, "virtual_stages": chunks, "micro_batch": 1}
    if fix["dp"] > 1:
        fix["zero"] = rng.choice([0, 1, 2, 3])
    if fix["tp"] > 1:
        fix["sp"] = rng.choice([0, 1])
    return fix, rng.choice([1, 2, 3, 4, 5, 8])


def compile_case(folder, rng):
    fix, micro_batches = random_plan(rng)
    layers = fix["pp"] * fix["virtual_stages"] + rng.choice([0, 0, 1])
    if rng.random() < 0.5:
        model = folder / "config.json"
        model.write_text(json.dumps({**GPT2, "n_layer": layers, "tie_word_embeddings": rng.random() < 0.5}))
    else:
        model = folder / "positions.mlir"
        model.write_text(POSITIONS.replace("graph.repeat 2", f"graph.repeat {layers}"))
        fix.pop("sp", None)
    length = ["--seq-len", SEQUENCE] if model.suffix == ".json" else []
    dte = folder / "plan.dte"
    dtc("compile", model, *length, "--topology", "dgx-h100", "--nodes", 2, "--devices",
        fix["pp"] * fix["tp"] * fix["dp"], "--global-batch", fix["dp"] * micro_batches, "--precision", "f32",
        "--target", "cuda:sm_90", "--fix", ",".join(f"{key}={value}" for key, value in fix.items()), "-o", dte)
    return f"{model.stem} {fix} x{micro_batches}", manifest_of(dte)


def manifest_of(dte):
    data = dte.read_bytes()
    offset, size = struct.unpack_from("<QQ", data, 24)
    raw = dte.parent / "m.bin"
    raw.write_bytes(data[offset:offset + size])
    subprocess.run(["flatc", "-o", dte.parent, "--strict-json", "--defaults-json", "--json", "--raw-binary",
                    ROOT / "runtime/format/dte.fbs", "--", raw], check=True)
    return json.loads((dte.parent / "m.json").read_text())


def in_layers(task):
    """Yields the instructions of a task, those of repeats once for each layer."""
    instructions, done = task["instructions"], 0
    for repeat in sorted(task.get("repeats") or [], key=lambda each: each["begin"]):
        yield from instructions[done:repeat["begin"]]
        yield from instructions[repeat["begin"]:repeat["end"]] * repeat["count"]
        done = repeat["end"]
    yield from instructions[done:]


def operations(manifest, rank, kind):
    """Returns what a rank enqueues that other ranks take part in: names that are equal on all of these ranks."""
    program = manifest["programs"][manifest["rank_program"][rank]]
    order = next(entry for entry in program["entries"] if entry["kind"] == kind)["order"]
    last = {run["task"]: place for place, run in enumerate(order)}
    counts, found = collections.Counter(), []
    for place, run in enumerate(order):
        for each in in_layers(program["tasks"][run["task"]]):
            if each["op_type"] not in ("Collective", "Transfer") or (each["runs"] == "last"
                                                                     and last[run["task"]] != place):
                continue
            op = each["op"]
            group = manifest["groups"][op["group"]]
            size, at = group["size"], group["ranks"].index(rank)
            if size == 1:
                continue
            where, sender = at - at % size, None
            if each["op_type"] == "Transfer":
                sender = (at - where if op["kind"] == "send" else at - where - op["shift"]) % size
            key = (op["group"], where, sender, op.get("shift"), each["stream"] if sender is None else None)
            counts[key] += 1
            found.append((*key, counts[key]))
    return found


def has_one_order(orders):
    """Returns True if some order of all operations agrees with each of `orders`."""
    behind, before = collections.defaultdict(set), collections.Counter()
    for order in orders:
        for first, second in zip(order, order[1:]):
            if second not in behind[first]:
                behind[first].add(second)
                before[second] += 1
    names = {name for order in orders for name in order}
    ready, done = [name for name in names if before[name] == 0], 0
    while ready:
        done += 1
        for name in behind[ready.pop()]:
            before[name] -= 1
            if before[name] == 0:
                ready.append(name)
    return done == len(names)


def train_on_emulated_gpus(folder):
    """Returns the largest difference between a pipeline with two tensors between its stages and one process."""
    data, model, batch = folder / "text.txt", folder / "model.mlir", 8
    rng = random.Random(3)
    data.write_bytes(bytes(rng.randrange(61) for _ in range(4000)))
    model.write_text(POSITIONS)
    runs = []
    for ranks, fix in ((1, {"dp": 1, "tp": 1, "pp": 1, "micro_batch": batch}),
                       (2, {"dp": 1, "tp": 1, "pp": 2, "schedule": "1f1b", "micro_batch": 1, "target": "simt"})):
        os.environ.update({"DTC_EMULATED_GPU": "1", "DTC_EMULATED_SEED": "1", "DTC_TUNING_MS": "0"})
        runs.append(run_one(folder, model, SEQUENCE, batch, "adamw", ranks, fix, as_bytes(data), 3))
    return compare_runs(runs[1], runs[0], "two tensors between stages")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    two_ways = [[("a", 1), ("b", 1)], [("b", 1), ("a", 1)]]
    if has_one_order(two_ways) or not has_one_order(two_ways[:1]):
        sys.exit("FAILED: the check takes orders that contradict each other, or refuses one")
    most = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in range(arguments.cases):
            name, manifest = compile_case(Path(folder), random.Random(f"{arguments.seed}/{case}"))
            for kind in ("train", "gradients", "evaluate"):
                orders = [operations(manifest, rank, kind) for rank in range(len(manifest["rank_program"]))]
                if not all(orders):
                    sys.exit(f"FAILED: case {case}, {name}: a rank exchanges nothing in '{kind}'")
                if not has_one_order(orders):
                    sys.exit(f"FAILED: case {case}, {name}: ranks enqueue the operations of '{kind}' in orders that "
                             "contradict each other")
                most = max(most, max(map(len, orders)))
            print(f"case {case}: {name}", flush=True)
        worst = train_on_emulated_gpus(Path(folder))
    print(f"launch_order: {arguments.cases} plans, one order of up to {most} operations a rank; two tensors between "
          f"stages: largest difference {worst:.2e}: PASS")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Prints the share of each class of kernels in a training step: a table of classes, and one of kernels.

bench/profile_shares.py                                   GPT-2 124M, 4 x 256 tokens, 1 thread
bench/profile_shares.py --trace t.json --ir temps/03-schedule.mlir         a run that was traced before

Times are from 'dtrun --profile', as medians over the steps after the first; 'least' sums the shortest time of each
instruction, which other programs on the machine disturb less. The IR that 'dtc compile --save-temps' leaves tells
what a kernel computes.
"""

import argparse
import collections
import json
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# A kernel has the first class that lists one of its ops.
KERNEL_CLASSES = [
    ("optimizer and clipping", ("adamw", "sgd", "sum_squares", "chunk_squares", "sum_chunks")),
    ("cross entropy", ("cross_entropy", "cross_entropy_grad")),
    ("norms", ("layer_norm", "layer_norm_grad", "layer_norm_param_grad", "rms_norm",
               "rms_norm_grad", "rms_norm_param_grad", "norm_param_grad_parts")),
    ("activations, with bias", ("gelu", "gelu_grad", "silu", "silu_grad")),
    ("reductions, such as bias gradients", ("reduce", "row_part_sums", "sum_parts")),
]
TRACE_CLASSES = {"copy": "copies", "embedding": "embedding", "collective": "collectives",
                 "wait": "waiting"}


def kernel_ops(ir):
    """Returns the ops of each kernel, in order: {"kernel_5": ["add", "gelu"]}."""
    ops, kernel = {}, None
    for line in ir.splitlines():
        if found := re.search(r"graph\.func private @(\w+)\(.*\{kernel", line):
            kernel = ops.setdefault(found.group(1), [])
        elif kernel is not None and line.startswith("  }"):
            kernel = None
        elif kernel is not None and (found := re.search(r"(?:= |^ +)graph\.(\w+)", line)):
            if found.group(1) != "return":
                kernel.append(found.group(1))
    return ops


def gemm_flops(ir):
    sizes = (found.split(", ") for found in re.findall(r"exec\.gemm .* sizes \[([\d, ]+)\]", ir))
    return [2 * int(m) * int(n) * int(k) for m, n, k in (s[-3:] for s in sizes)]


def classify(name, category, ops):
    """Returns (class, kernel), in their printed form."""
    if found := re.match(r"launch of '(\w+)'", name):
        body = ops.get(found.group(1))
        if body is None:
            return "kernels", found.group(1)
        label = f"{found.group(1)}: {' + '.join(dict.fromkeys(body)) or 'constant'}"
        for title, members in KERNEL_CLASSES:
            if any(op in members for op in body):
                return title, label
        return "other pointwise", label
    plain = name.split(" ")[0]
    if category in ("gemm", "attention"):
        return {"attention": "attention, forward", "attention_grad": "attention, backward"}.get(
            plain, category), plain
    return TRACE_CLASSES.get(category, category), plain


class Part:
    def __init__(self):
        self.median = self.least = 0.0
        self.count = 0

    def add(self, times):
        self.median += statistics.median(times) / 1e6
        self.least += min(times) / 1e6
        self.count += 1


def sum_parts(trace, ops):
    events = [e for e in json.loads(trace)["traceEvents"] if e["ph"] == "X"]
    last = max((e["args"]["step"] for e in events), default=0)
    if last == 0:
        sys.exit("profile_shares.py: the trace holds no instruction; was it written by "
                 "'dtrun --profile'?")
    times, kinds = collections.defaultdict(list), {}
    for event in events:
        if event["args"]["step"] > 1 or last == 1:
            args = event["args"]
            key = event["tid"], args["task"], args["micro_batch"], args["instruction"], args.get("layer", 0)
            times[key].append(event["dur"])
            kinds[key] = classify(event["name"], event["cat"], ops)
    classes, kernels = collections.defaultdict(Part), collections.defaultdict(Part)
    for key, durations in times.items():
        classes[kinds[key][0]].add(durations)
        kernels[kinds[key][1]].add(durations)
    return classes, kernels


def print_table(title, parts, most):
    median = sum(p.median for p in parts.values())
    least = sum(p.least for p in parts.values())
    print(f"| {title} | ms | share | least ms | share | instructions |\n|---|---|---|---|---|---|")
    rows = sorted(parts.items(), key=lambda item: -item[1].least)
    for name, p in rows[:most]:
        print(f"| {name} | {p.median * 1e3:.1f} | {100 * p.median / median:.1f}% | "
              f"{p.least * 1e3:.1f} | {100 * p.least / least:.1f}% | {p.count} |")
    if len(rows) > most:
        rest = sum(p.least for _, p in rows[most:])
        print(f"| {len(rows) - most} others | | | {rest * 1e3:.1f} | {100 * rest / least:.1f}% | |")
    print(f"| all | {median * 1e3:.1f} | | {least * 1e3:.1f} | | |\n")


def run(command):
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"profile_shares.py: running {Path(command[0]).name}: {done.stderr.strip()}")


def profile(args, folder):
    program, trace = f"{folder}/gpt2.dte", f"{folder}/trace.json"
    run([ROOT / "build/bin/dtc", "compile", ROOT / "models/configs/gpt2.json", "--seq-len", "256",
         "--topology", "cpu", "--devices", "1", "--global-batch", "4", "-o", program,
         "--save-temps", folder])
    run([ROOT / "build/bin/dtrun", program, "--data", "synthetic", "--threads", str(args.threads),
         "--steps", str(args.steps), "--profile", trace])
    return trace, f"{folder}/03-schedule.mlir"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trace", help="of 'dtrun --profile'; default: compile and run GPT-2 124M")
    parser.add_argument("--ir", help="03-schedule.mlir of 'dtc compile --save-temps'")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--kernels", type=int, default=12, help="rows of the table of kernels")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trace, ir = (args.trace, args.ir) if args.trace else profile(args, folder)
        text = Path(ir).read_text() if ir else ""
        classes, kernels = sum_parts(Path(trace).read_text(), kernel_ops(text))
    print_table("part", classes, 20)
    print_table("kernel or instruction", kernels, args.kernels)
    flops, gemm = gemm_flops(text), classes.get("gemm")
    if gemm and len(flops) == gemm.count:
        print(f"gemm: {sum(flops) / 1e9:.0f} GFLOP a step, {sum(flops) / gemm.median / 1e9:.0f} "
              f"GFLOP/s, {sum(flops) / gemm.least / 1e9:.0f} by the least times")


if __name__ == "__main__":
    main()

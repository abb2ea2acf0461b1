#!/usr/bin/env python3
"""A step of GPT-2 124M under several plans: predicted by the plan, simulated from its program, and measured.

Usage: plans.py [--rounds N] [--steps N] [--format json]. As many processes as a plan has ranks share the processors
that one process has alone; batch 4 x 256 tokens, f32, AdamW. Plans take turns, `--steps` counted steps each, for some
rounds; the first step of a turn is not counted. "simulated" is `dtc simulate` of the executable, "predicted" is the
estimate of `dtc plan`, each on topology cpu.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from about import commit, machine

ROOT = Path(__file__).resolve().parent.parent
BATCH, SEQUENCE = 4, 256
# Each plan is: name, ranks, further keys of --fix.
PLANS = [
    ("one process", 1, "micro_batch=4"),
    ("dp=2", 2, "dp=2,zero=0,micro_batch=2"),
    ("dp=2, ZeRO-1", 2, "dp=2,zero=1,micro_batch=2"),
    ("dp=2, ZeRO-3", 2, "dp=2,zero=3,micro_batch=2"),
    ("tp=2", 2, "tp=2,sp=0,zero=0,micro_batch=4"),
    ("tp=2, sp", 2, "tp=2,sp=1,zero=0,micro_batch=4"),
    ("pp=2, 1F1B, 4 micro-batches", 2, "pp=2,schedule=1f1b,zero=0,micro_batch=1"),
    ("pp=2, zero-bubble, 4 micro-batches", 2, "pp=2,schedule=zero-bubble,virtual_stages=1,zero=0,micro_batch=1"),
]


class Failure(Exception):
    """The reason, in a line, why something could not be measured."""


def run(*command):
    done = subprocess.run([str(part) for part in command], text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise Failure(f"{Path(command[0]).name} {command[1]}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


class Program:
    def __init__(self, name, ranks, fix, folder, number):
        self.name, self.ranks, self.samples = name, ranks, []
        self.file = Path(folder) / f"plan{number}.dte"
        run(ROOT / "build/bin/dtc", "compile", ROOT / "models/configs/gpt2.json", "--seq-len", SEQUENCE, "--topology",
            "cpu", "--devices", ranks, "--global-batch", BATCH, "--fix", fix + ",recompute=none", "-o", self.file)
        self.about = json.loads(run(ROOT / "build/bin/dtc", "simulate", self.file, "--format", "json"))

    def take_turn(self, steps):
        threads = max(1, len(os.sched_getaffinity(0)) // self.ranks)
        lines = run(ROOT / "build/bin/dtrun", self.file, "-n", self.ranks, "--data", "synthetic", "--format", "json",
                    "--steps", steps + 1, "--threads", threads).splitlines()
        self.samples += [json.loads(line)["step_time_s"]
                         for line in [line for line in lines if line.startswith('{"step"')][1:]]
        print(f"{self.name}: {self.samples[-1]:.2f} s", file=sys.stderr, flush=True)

    def row(self, one):
        """Returns the row; `one` is the same of the plan of one process."""
        measured, planned, simulated = self.figures()
        return {"plan": self.name, "ranks": self.ranks, "measured_s": measured, "fastest_s": min(self.samples),
                "simulated_s": simulated, "predicted_s": planned, "bubble": self.about["bubble_fraction"],
                "exposed_s": self.about["exposed_comm_s"], "measured_ratio": measured / one[0],
                "predicted_ratio": planned / one[1], "simulated_ratio": simulated / one[2]}

    def figures(self):
        return statistics.median(self.samples), self.about["predicted_step_time_s"], self.about["step_time_s"]


def print_table(rows, about, rounds, steps):
    print(f"GPT-2 124M, {BATCH} x {SEQUENCE} tokens, f32, AdamW; medians of {rounds} x {steps} steps; {about['cpu']}, "
          f"{about['cores']} cores, "
          f"load {about['load_average']:.1f} at the start; commit {commit()}")
    print("\n| plan | measured s | fastest | simulated s | predicted s | of one process: measured | simulated | "
          "predicted | bubble | exposed s |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for r in rows:
        print(f"| {r['plan']} | {r['measured_s']:.2f} | {r['fastest_s']:.2f} | {r['simulated_s']:.2f} | "
              f"{r['predicted_s']:.2f} | "
              f"{r['measured_ratio']:.3f} | {r['simulated_ratio']:.3f} | {r['predicted_ratio']:.3f} | "
              f"{r['bubble']:.1%} | "
              f"{r['exposed_s']:.3f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=3, help="counted steps of a turn")
    args = parser.parse_args()
    about = machine()
    with tempfile.TemporaryDirectory() as folder:
        programs = [Program(*plan, folder, number) for number, plan in enumerate(PLANS)]
        for _ in range(args.rounds):
            for program in programs:
                program.take_turn(args.steps)
        rows = [program.row(programs[0].figures()) for program in programs]
    if args.format == "json":
        print(json.dumps({"plans": rows, "machine": about, "commit": commit()}))
    else:
        print_table(rows, about, args.rounds, args.steps)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"plans.py: {failure}")

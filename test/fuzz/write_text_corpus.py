#!/usr/bin/env python3
"""Writes the seeds of text-fuzz: texts of each kind in this repository, behind the byte of their kind.

  write_text_corpus.py FOLDER
"""
import json
import sys
from pathlib import Path

import corpus

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "export"))
import plans  # noqa: E402  plans of all kinds that launchers distinguish

KINDS = {
    "m": ["models/*.mlir", "models/digits/*.mlir", "test/dialects/graph/*.mlir"],
    "c": ["models/configs/*.json"],
    "t": ["topologies/*.toml", "test/topology/*.toml"],
    "x": ["test/topology/Inputs/*.xml"],
    "s": ["stacks/*.toml", "test/stack/*.toml"],
    "p": ["test/fuzz/seeds/plan*.json"],
    "r": ["test/solver/Inputs/*.json"],
    "a": ["test/calibrate/Inputs/gpu-curves.toml"],
}


def cached():
    plan, other = plans.make(dp=4, pp=2), plans.make(dp=8)
    return json.dumps({"schema": "dtc.plan-cache/1", "key": "0", "plan": plan, "others": [other]})


def trace():
    run = {"ph": "X", "name": "gemm", "pid": 0, "ts": 0.5, "dur": 1.5,
           "args": {"step": 1, "task": "step", "instruction": 0}}
    return json.dumps({"displayTimeUnit": "ms", "traceEvents": [{"ph": "M", "name": "thread_name", "pid": 0},
                                                                run, run]})


def errors():
    lines = (ROOT / "compiler/price/uncertainty/errors.csv").read_text().splitlines()
    return "\n".join(lines[:5] + lines[-2:]) + "\n"


def main():
    seeds = {"k-cached": "k" + cached(), "v-trace": "v" + trace(), "e-errors": "e" + errors()}
    seeds |= {f"p-{name}": "p" + json.dumps(plans.make(**arguments)) for name, arguments in plans.PLANS.items()}
    seeds = {name: text.encode() for name, text in seeds.items()}
    for kind, patterns in KINDS.items():
        files = [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
        assert files, patterns
        for path in files:
            seeds[f"{kind}-{path.parent.name}-{path.name}"] = kind.encode() + path.read_bytes()
    corpus.write(sys.argv[1], "text", seeds)


main()

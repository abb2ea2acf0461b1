#!/usr/bin/env python3
"""Inputs that users brought and dtc was once wrong about: each is right now, or refused in one line that says what to do.

`cases/` holds them as they came. Those that train have the losses, norms, gradients and parameters of one device under each of their
plans (compare_runs of any_plan.py); of those that don't, exit code and message are what they should be, and nothing is written.

Usage: cases.py [--only NAME]; the last line is the summary.
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from any_plan import match_one_device
from dtc_tools import BIN, dtc

HERE = Path(__file__).resolve().parent
CASES, CONFIGS = HERE / "cases", HERE.parents[1] / "models" / "configs"
SEED = 3

# File -> sequence, samples of a step, plans.
TRAINS = {
    "unused.mlir": (8, 4, ["dp=2", "tp=2", "dp=2,zero=3,micro_batch=1"]),
    "call-unused.mlir": (8, 4, ["dp=2", "tp=2,sp=0"]),
    "positions-on-two-stages.mlir": (8, 4, ["pp=2,micro_batch=1", "dp=2,pp=2,micro_batch=1"]),
    "l2-of-tied-weight.mlir": (12, 8, ["pp=2,dp=2,micro_batch=1", "pp=2,tp=2,micro_batch=2", "dp=4"]),
    "batch-and-sequence-in-one.mlir": (8, 4, ["dp=2", "tp=2", "dp=2,micro_batch=1"]),
    "head-penalty.mlir": (8, 8, ["dp=2,zero=2,micro_batch=1", "dp=2,zero=3,micro_batch=1", "tp=2,micro_batch=4"]),
    "table-penalty.mlir": (8, 8, ["dp=2,pp=2,zero=1,micro_batch=1", "tp=2"]),
    "shared-penalty.mlir": (8, 8, ["tp=2,pp=2,micro_batch=1", "dp=2,zero=3"]),
    "shared.mlir": (8, 8, ["tp=2,pp=2,micro_batch=1", "dp=2,pp=2,zero=3,micro_batch=1"]),
    "weight-in-slices.mlir": (8, 4, ["micro_batch=2", "dp=2", "tp=2", "dp=2,zero=3,micro_batch=1"]),
    "qwen3-small.mlir": (16, 4, ["tp=2", "dp=2,pp=2,micro_batch=1"]),
}

# A name, what dtc is asked, its exit code, what one line of the answer has.
ANSWERS = [
    ("pairs of samples", ["compile", CASES / "pairs-of-samples.mlir", "--topology", "cpu", "--global-batch", 64, "-o", "out.dte"], 1,
     "pairs-of-samples.mlir:"),
    ("pairs of samples", ["plan", CASES / "pairs-of-samples.mlir", "--topology", "cpu", "--global-batch", 64], 1,
     "pairs the samples of a batch with each other"),
    ("qwen3 from its config", ["import", CASES / "qwen3-small.json", "-o", "out.mlir"], 1, "qwen3"),
    ("yarn", ["import", CASES / "qwen2-yarn.json", "-o", "out.mlir"], 1, "yarn"),
    *[(f"tied, gradients in bf16, ZeRO-{zero}",
       ["compile", CASES / "tied.json", "--seq-len", 16, "--topology", "cpu", "--devices", 4, "--global-batch", 16, "--fix",
        f"dp=2,pp=2,zero={zero},micro_batch=2,schedule=1f1b", "--grad-dtype", "bf16", "-o", "out.dte"], 0, "") for zero in range(4)],
    ("25 heads on tp=2", ["plan", CASES / "gpt2-xl.json", "--seq-len", 1024, "--topology", "dgx-h100", "--nodes", 1, "--global-batch", 4,
                          "--precision", "bf16", "--stack", "megatron-core", "--fix", "tp=2"], 1, "25"),
    ("9 heads on tp=2", ["plan", CASES / "smollm2-135m.json", "--seq-len", 2048, "--topology", "dgx-h100", "--nodes", 1,
                         "--global-batch", 64, "--precision", "bf16", "--stack", "megatron-core", "--fix", "tp=2,pp=4"], 1, "9"),
]


def ask(arguments, folder):
    return subprocess.run([str(part) for part in (BIN / "dtc", *arguments)], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=300)


def check_answer(name, arguments, code, wanted):
    with tempfile.TemporaryDirectory() as folder:
        answer = ask(arguments, folder)
        said = answer.stderr
        left = [path.name for path in Path(folder).iterdir()]
        if answer.returncode != code or wanted not in said or said.count("error:") != (code != 0) or (code and left):
            sys.exit(f"FAILED: {name}: exit code {answer.returncode}, wanted {code} and '{wanted}'; files {left}\n{said}")
        if "internal" in said:
            sys.exit(f"FAILED: {name}: {said}")


def check_heads():
    """Without a pin the chosen tp divides the 25 heads, and its export says that tp."""
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / "plan.json"
        dtc("plan", CASES / "gpt2-xl.json", "--seq-len", 1024, "--topology", "dgx-h100", "--nodes", 8, "--global-batch", 64, "--precision",
            "bf16", "--stack", "megatron-core", "-o", plan)
        flags = dtc("export", plan, "--to", "megatron-lm").split()
        tensor = int(flags[flags.index("--tensor-model-parallel-size") + 1]) if "--tensor-model-parallel-size" in flags else 1
        if 25 % tensor:
            sys.exit(f"FAILED: 25 heads are exported with a tp of {tensor}")


def check_capacity():
    """The capacity that a plan is made for is exported."""
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / "plan.json"
        dtc("plan", CASES / "mixtral-capacity-4.json", "--seq-len", 4096, "--topology", "dgx-h100", "--nodes", 4, "--global-batch", 256,
            "--precision", "bf16", "--stack", "megatron-core", "--fix", "dp=8,tp=1,pp=2,cp=2,ep=8", "-o", plan)
        flags = dtc("export", plan, "--to", "megatron-lm")
        if "--moe-expert-capacity-factor 4" not in flags:
            sys.exit(f"FAILED: the capacity of 4 is not exported:\n{flags}")


def check_lamb():
    """LAMB with ZeRO-1 on sizes that a tp of 3 does not divide."""
    config = ('{"model_type":"llama","vocab_size":127,"max_position_embeddings":64,"hidden_size":32,"head_dim":4,"intermediate_size":40,'
              '"num_hidden_layers":1,"num_attention_heads":8,"num_key_value_heads":4,"hidden_act":"silu","tie_word_embeddings":true,'
              '"rms_norm_eps":1e-05,"rope_theta":10000.0,"attention_bias":true}')
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c33.json"
        path.write_text(config)
        return match_one_device(Path(folder), path, 15, 9, "lamb", 9, {"dp": 3, "tp": 3, "zero": 1, "sp": 1, "micro_batch": 1},
                                "synthetic", SEED, "LAMB on uneven tp")


def check_trains(name, sequence, batch, plans):
    worst = 0.0
    for plan in plans:
        fix = dict(pair.split("=") for pair in plan.split(","))
        ranks = 1
        for axis in ("dp", "tp", "pp"):
            ranks *= int(fix.setdefault(axis, "1"))
        fix.setdefault("micro_batch", str(batch // int(fix["dp"])))
        with tempfile.TemporaryDirectory() as folder:
            worst = max(worst, match_one_device(Path(folder), CASES / name, sequence, batch, "adamw", ranks, fix, "synthetic", SEED,
                                                f"{name} under {plan}"))
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    only = parser.parse_args().only
    worst, count = 0.0, 0
    for name, case in TRAINS.items():
        if only in name:
            worst, count = max(worst, check_trains(name, *case)), count + len(case[2])
    for answer in ANSWERS:
        if only in answer[0]:
            check_answer(*answer)
            count += 1
    for check in (check_heads, check_capacity, check_lamb):
        if only in check.__name__:
            worst, count = max(worst, check() or 0.0), count + 1
    print(f"cases: {count} cases are right, at most {worst:.2g} from one device")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Matrix products of programs for GPUs run their followers as epilogues, and train as PyTorch does.

1. A GPT-2 has an epilogue for each bias, GELU and addition of its blocks and no kernel for them; a Llama, without
   biases, has one for its additions. With dropout, f32 or GELU by erf, followers that no epilogue can compute stay.
   Programs for CPUs have no epilogues.
2. On the emulated GPU, ten steps and the gradients of the first are PyTorch's, within the bound of mixed.py.
3. The memory that is planned is the file's, and the verifier accepts the file.
"""
import json
import os
import re
import sys
import tempfile
from pathlib import Path

import mixed
from dtc_tools import dtc
from mixed import DATA

EPILOGUES = ("plus", "bias", "gelu", "gelu_grad", "keeps")
# The keys stand between `exec.gemm` and the first result; the values count them per block: forward, forward, forward
# twice; backward.
GPT2 = {"bias": 1, "plus+bias": 2, "bias+gelu+keeps": 1, "gelu_grad": 1}
LLAMA = {"plus": 3}  # one in backward, of the gradients of what two matmuls read


def epilogues_of(program):
    """Counts each kind of epilogue in the program, each layer of a repeat by itself."""
    found, times = {}, 1
    for line in program.splitlines():
        if match := re.match(r"\s*exec.repeat (\d+)", line):
            times = int(match[1])
        elif re.match(r"\s*}", line):
            times = 1
        elif match := re.match(r"\s*exec.gemm (.*?) sizes", line):
            words = [word for word in re.sub(r"%\S+", "", match[1]).split() if word in EPILOGUES]
            if words:
                found["+".join(words)] = found.get("+".join(words), 0) + times
    return found


def check(holds, message):
    if not holds:
        sys.exit(f"FAILED: {message}")


def compile_for(folder, model, target, *flags):
    program, temps = folder / "program.dte", folder / "temps"
    dtc("compile", model, "--topology", "cpu", "--global-batch", 4, "--target", target, "-o", program, "--save-temps",
        temps, *flags)
    return program, epilogues_of((temps / "03-schedule.mlir").read_text())


def check_programs(folder):
    gpt2, llama = (json.loads((DATA / f"{name}.json").read_text()) for name in ("gpt2", "llama"))
    erf, dropout = {**gpt2, "activation_function": "gelu"}, {**gpt2, "resid_pdrop": 0.1}
    cases = [
        ("gpt2", gpt2, "simt", "bf16", "", {kind: 2 * count for kind, count in GPT2.items()}),
        ("gpt2", gpt2, "simt", "f16", "micro_batch=1", {kind: 2 * count for kind, count in GPT2.items()}),
        ("gpt2", gpt2, "cuda:sm_80", "bf16", "", {kind: 2 * count for kind, count in GPT2.items()}),
        ("gpt2", gpt2, "cpu", "bf16", "", {}),
        ("gpt2 in f32", gpt2, "simt", "f32", "", {}),
        ("gpt2 by erf", erf, "simt", "bf16", "", {"bias": 2, "plus+bias": 4}),
        ("gpt2, dropout", dropout, "simt", "bf16", "", {"bias": 2, "bias+gelu+keeps": 2, "gelu_grad": 2}),
        ("llama", llama, "simt", "bf16", "", {kind: 2 * count for kind, count in LLAMA.items()}),
    ]
    for name, config, target, precision, fix, wanted in cases:
        model = folder / "model.json"
        model.write_text(json.dumps(config))
        pins = ["--fix", fix] if fix else []
        program, found = compile_for(folder, model, target, "--seq-len", 16, "--devices", 1, "--precision", precision,
                                     *pins)
        check(found == wanted, f"{name} for {target}: epilogues are {found}, wanted {wanted}")
        dtc("verify", program)
        check_memory(name, program)
        print(f"{name} in {precision} for {target}: {found}", flush=True)


def check_memory(name, program):
    """Checks that the plan is in the file, as text."""
    planned = re.search(rb'"predicted":.*?"peak_memory_bytes": *(\d+)', program.read_bytes(), re.S)
    compiled = json.loads(dtc("inspect", program, "--format", "json"))["programs"][0]["arena_bytes"]
    check(planned and int(planned[1]) == compiled,
          f"{name}: {planned and int(planned[1])} bytes planned, {compiled} compiled")


PLANS = [("gpt2", "bf16", 1, ""), ("gpt2", "f16", 1, "recompute=full,micro_batch=2"), ("gpt2", "bf16", 2, "tp=2,sp=0"),
         ("gpt2", "bf16", 2, "dp=2,zero=3,micro_batch=1"), ("gpt2", "f16", 2, "dp=1,pp=2,schedule=1f1b,micro_batch=1"),
         ("llama", "bf16", 1, "")]


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_programs(Path(folder))
    os.environ["DTC_EMULATED_GPU"] = "1"
    for index, (model, precision, devices, fix) in enumerate(PLANS):
        os.environ["DTC_EMULATED_SEED"], os.environ["DTC_TUNING_MS"] = str(index), "100" if index % 2 else "0"
        with tempfile.TemporaryDirectory() as folder:
            share = mixed.check(folder, model, precision, devices, fix, "--target", "simt")
        print(f"{model} in {precision} on {devices} emulated GPUs {fix}: at most {share:.2f} of the bound", flush=True)


if __name__ == "__main__":
    main()

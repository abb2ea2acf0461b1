#!/usr/bin/env python3
"""Updates of many tensors are few launches.

Counts the launches of a step on the emulated GPU, as a graph and, with --profile, one by one, which must compute the
same bits; losses, norms and parameters in f32 are compared with one process on the CPU.

The model has 28 tensors. An update by AdamW or SGD is two launches, for tensors with and without weight decay,
instead of 28. That of LARS is four instead of 19, as its update of tensors without decay consists of kernels for one,
two and three tensors of one size. LAMB keeps 18 of its 42: the norms of some tensors share memory with those of
others, which forces an order on them. The last cases are the optimizer state of bf16 models, whose update rounds, and
that of ranks with a shard each.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from dtc_tools import BIN, as_bytes, compare_steps, compare_tensors, dtc, read_safetensors, rows_of

CONFIG = {"model_type": "gpt2", "vocab_size": 61, "n_positions": 32, "n_embd": 32, "n_layer": 2, "n_head": 2,
          "resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0}
RATES = {"adamw": 1e-2, "sgd": 0.1, "lamb": 1e-2, "lars": 1.0}
STEPS, TOLERANCE, TENSORS = 3, 1e-4, 28


def compile_model(folder, target, optimizer, ranks, *flags):
    dte = folder / f"{target}.dte"
    dtc("compile", folder / "config.json", "--seq-len", 8, "--topology", "cpu", "--devices", ranks, "--global-batch", 4,
        "--optimizer", optimizer, "--epsilon", 1e-3, "--target", target, *flags, "-o", dte)
    return dte


def train(folder, dte, ranks, optimizer, steps=STEPS, *flags):
    """Returns the lines of steps, the file of parameters, and the number of kernels on the emulated GPU of each rank.
    """
    dump = folder / "parameters.safetensors"
    command = [BIN / "dtrun", dte, "-n", ranks, "--data", as_bytes(folder / "text.txt"), "--steps", steps, "--lr",
               RATES[optimizer], "--threads", 1, "--format", "json", "--dump-params", dump, *flags]
    result = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                            timeout=300, env={**os.environ, "DTC_EMULATED_GPU": "1", "DTC_EMULATED_REPORT": "1"})
    if result.returncode != 0:
        sys.exit(f"FAILED ({result.returncode}): {command}\n{result.stdout[-2000:]}\n{result.stderr[-4000:]}")
    lines = rows_of(result.stdout)
    launched = [int(count) for count in re.findall(r"emulated GPU: (\d+) kernels ran", result.stderr)]
    return lines, dump.read_bytes(), launched


def train_on_gpu(folder, dte, ranks, optimizer, what, *flags):
    """Returns lines, the file of parameters, and launches of a step on the rank that has most."""
    _, _, one = train(folder, dte, ranks, optimizer, 1, *flags)
    lines, dump, several = train(folder, dte, ranks, optimizer, STEPS, *flags)
    if len(one) != ranks or len(several) != ranks:
        sys.exit(f"FAILED: {what}: {len(several)} of {ranks} emulated GPUs say what they ran")
    return lines, dump, (max(several) - max(one)) // (STEPS - 1)


def check(folder, optimizer, ranks, least, *flags):
    """Checks that a graph launches at least `least` kernels less in a step and computes the same bits; in f32 also
    those of the CPU.
    """
    what = " ".join([optimizer, f"{ranks} ranks", *map(str, flags)])
    simt = compile_model(folder, "simt", optimizer, ranks, *flags)
    lines, dump, merged = train_on_gpu(folder, simt, ranks, optimizer, what)
    _, wanted, alone = train_on_gpu(folder, simt, ranks, optimizer, what, "--profile", folder / "profile.json")
    if dump != wanted:
        sys.exit(f"FAILED: {what}: parameters are other bits where launches are merged")
    print(f"{what}: {alone} kernels a step one by one, {merged} as a graph, parameters are the same bits", flush=True)
    if alone - merged < least:
        sys.exit(f"FAILED: {what}: {alone - merged} launches less as a graph, wanted {least} at least")
    if "bf16" in flags:
        return
    wanted_lines, wanted, _ = train(folder, compile_model(folder, "cpu", optimizer, 1), 1, optimizer)
    (folder / "wanted.safetensors").write_bytes(wanted)
    (folder / "found.safetensors").write_bytes(dump)
    for key in ("loss", "grad_norm"):
        compare_steps([line[key] for line in lines], [line[key] for line in wanted_lines], TOLERANCE, f"{what}: {key}")
    compare_tensors(read_safetensors(folder / "found.safetensors"), read_safetensors(folder / "wanted.safetensors"),
                    TOLERANCE, what)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "config.json").write_text(json.dumps(CONFIG))
        (folder / "text.txt").write_bytes(bytes(i * 7 % 61 for i in range(2000)))
        check(folder, "adamw", 1, TENSORS - 2)
        check(folder, "sgd", 1, TENSORS - 2)
        check(folder, "lamb", 1, 24)
        check(folder, "lars", 1, 15)
        check(folder, "adamw", 1, TENSORS - 2, "--precision", "bf16")
        check(folder, "adamw", 2, TENSORS - 2, "--fix", "dp=2,zero=1")
    print("all match")


if __name__ == "__main__":
    main()

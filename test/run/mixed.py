#!/usr/bin/env python3
"""A tiny GPT-2 and Llama train in bf16 and f16 as PyTorch does: loss and norm of ten steps, gradients of the first.

The stored results come from reference/make_mixed.py, with `sigma`, how far rounding moves each number. Two
implementations that round to nearest differ by a number of mean 0 and standard deviation of at most sigma
(make_mixed.py says why). Such a number exceeds the bound with a probability of 1e-6, over all numbers that are
compared: with n of them a Gaussian one exceeds z sigma, z = sqrt(2 ln(2 n / 1e-6)), no more often than that, and one
whose sigma is known from DRAWS draws exceeds only the quantile of Student's t with one degree of freedom less.
Nothing in it is fitted to dtc's results. For bf16 it is 0.1 % of the loss.

The same holds for every plan, whose sums are in another order. Parameters are stored, dumped and read in their type,
to the bit, and are the rounding of the numbers that are read.
"""
import json
import math
import struct
import sys
import tempfile
from pathlib import Path

from dtc_tools import dtc, read_safetensors, train
from rounding import DRAWS, gaussian, largest_deviation, student, within, write_moved

DATA = Path(__file__).resolve().parent / "reference" / "data"


def compile_model(folder, model, curve, precision, devices, fix, *flags):
    out = Path(folder) / f"{model}.dte"
    a = curve["adamw"]
    dtc("compile", DATA / f"{model}.json", "--seq-len", curve["sequence"], "--topology", "cpu", "--devices", devices,
        "--global-batch", curve["batch"], "--precision", precision, *(["--fix", fix] if fix else []), "-o", out,
        "--lr-schedule", "cosine", "--warmup-steps", curve["warmup"], "--min-lr-ratio", curve["last_rate"], "--beta1",
        a["beta1"], "--beta2", a["beta2"], "--epsilon", a["epsilon"], "--weight-decay", a["weight_decay"],
        "--clip-norm", a["clip"], *flags)
    return out


def check(folder, model, precision, devices, fix, *flags):
    curve, stored = (json.loads((DATA / f"{model}.{end}.json").read_text()) for end in ("curve", precision))
    program = compile_model(folder, model, curve, precision, devices, fix, *flags)
    dumped = Path(folder) / "gradients.safetensors"
    steps = train(program, devices, DATA / "tokens.bin", len(stored["loss"]), "--seed", curve["seed"], "--init",
                  DATA / f"{model}.init.safetensors", "--lr", curve["adamw"]["lr"])
    what, worst = f"{model} in {precision} on {devices} ranks {fix}", 0.0
    for key in ("loss", "grad_norm"):
        bound = student(2 * len(steps), stored["draws"])
        for step, (row, wanted, sigma) in enumerate(zip(steps, stored[key], stored[f"{key}_sigma"], strict=True), 1):
            worst = max(worst, within(row[key], wanted, bound * sigma, f"{what}: {key} of step {step}"))
    if any(row["skipped_steps"] for row in steps):
        sys.exit(f"FAILED: {what}: steps were skipped")
    train(program, devices, DATA / "tokens.bin", 1, "--seed", curve["seed"], "--init",
          DATA / f"{model}.init.safetensors", "--lr", curve["adamw"]["lr"], "--dump-grads", dumped)
    wanted, found = read_safetensors(DATA / f"{model}.{precision}.grad.safetensors"), read_safetensors(dumped)
    bound = gaussian(sum(len(values) for _, values in wanted.values()))
    for name, (shape, values) in wanted.items():
        if found[name][0] != shape:
            sys.exit(f"FAILED: {what}: gradient of '{name}' has shape {found[name][0]}, wanted {shape}")
        for a, b in zip(found[name][1], values):
            worst = max(worst, within(a, b, bound * stored["gradient_sigma"][name], f"{what}: a gradient of '{name}'"))
    return worst


def check_draws(folder, model, precision):
    """Checks the draws by which any_plan.py measures rounding against Monte Carlo arithmetic: see rounding.py, 3."""
    curve, stored = (json.loads((DATA / f"{model}.{end}.json").read_text()) for end in ("curve", precision))
    program = compile_model(folder, model, curve, precision, 1, "")
    moved, dumped, draws = Path(folder) / "moved.safetensors", Path(folder) / "gradients.safetensors", []
    for draw in range(DRAWS):
        write_moved(DATA / f"{model}.init.safetensors", moved, precision, draw)
        train(program, 1, DATA / "tokens.bin", 1, "--seed", curve["seed"], "--init", moved, "--lr",
              curve["adamw"]["lr"], "--dump-grads", dumped)
        draws.append(read_safetensors(dumped))
    shares = [largest_deviation([draw[name][1] for draw in draws]) / sigma
              for name, sigma in stored["gradient_sigma"].items()]
    share = math.sqrt(math.fsum(share * share for share in shares) / len(shares))
    # Rounding to nearest has half of the variance of rounding at random (make_mixed.py).
    if share < math.sqrt(0.5):
        sys.exit(f"FAILED: {model} in {precision}: gradients of moved parameters spread by {share:.2f} of what "
                 f"rounding at random "
                 "does, wanted 0.71 or more")
    return share


def raw_safetensors(path):
    """Returns name -> (dtype, bytes)."""
    data = Path(path).read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8: 8 + size])
    return {name: (entry["dtype"], data[8 + size + entry["data_offsets"][0]: 8 + size + entry["data_offsets"][1]])
            for name, entry in header.items() if name != "__metadata__"}


def check_files(folder, precision):
    """Checks that parameters are written as stored, the rounding of what is read, and that reading them again gives
    the same.
    """
    curve = json.loads((DATA / "gpt2.curve.json").read_text())
    program = compile_model(folder, "gpt2", curve, precision, 1, "")
    first, second = Path(folder) / "first.safetensors", Path(folder) / "second.safetensors"
    for source, target in ((DATA / "gpt2.init.safetensors", first), (first, second)):
        train(program, 1, "synthetic", 0, "--init", source, "--dump-params", target)
    before, after = raw_safetensors(DATA / "gpt2.init.safetensors"), raw_safetensors(first)
    for name, (dtype, kept) in after.items():
        floats = struct.unpack(f"<{len(before[name][1]) // 4}f", before[name][1])
        if precision == "f16":
            wanted = struct.pack(f"<{len(floats)}e", *floats)
        else:
            bits = struct.unpack(f"<{len(floats)}I", before[name][1])
            wanted = struct.pack(f"<{len(floats)}H", *((b + 0x7FFF + (b >> 16 & 1)) >> 16 for b in bits))
        if dtype != precision.upper() or kept != wanted:
            sys.exit(f"FAILED: '{name}' is kept in {dtype}, wanted the rounding to {precision} of what was read")
    if raw_safetensors(second) != after:
        sys.exit(f"FAILED: parameters in {precision} change when they are read and written")


# Other ranks' sums are in another order, which moves a result as another implementation does.
PLANS = [(1, ""), (1, "micro_batch=1"), (1, "recompute=full"), (2, "tp=2,sp=0"), (2, "dp=2,zero=1"),
         (2, "dp=2,zero=0,micro_batch=1"), (2, "dp=2,zero=2,micro_batch=1"),
         (2, "dp=2,zero=3,micro_batch=1,recompute=selective"), (4, "dp=2,tp=2,sp=1,zero=1,micro_batch=1"),
         (2, "dp=1,pp=2,schedule=1f1b,micro_batch=1"),
         (4, "dp=2,pp=2,schedule=zero-bubble,zero=1,micro_batch=1,recompute=full"),
         (4, "dp=1,tp=2,sp=1,pp=2,schedule=gpipe,micro_batch=1")]


def main():
    for model in ("gpt2", "llama"):
        for precision in ("bf16", "f16"):
            for devices, fix in PLANS:
                with tempfile.TemporaryDirectory() as folder:
                    share = check(folder, model, precision, devices, fix)
                print(f"{model} in {precision} on {devices} ranks {fix}: at most {share:.2f} of the bound", flush=True)
            with tempfile.TemporaryDirectory() as folder:
                print(f"{model} in {precision}: moved parameters spread by "
                      f"{check_draws(folder, model, precision):.2f} of sigma")
    for precision in ("bf16", "f16"):
        with tempfile.TemporaryDirectory() as folder:
            check_files(folder, precision)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Attention with a prefix, lengths of samples, a bias, slopes and values of another head dim trains as PyTorch trains
it with explicit masks, on one process and under other plans, on the emulated GPU and in bf16. So does attention whose
positions start where the program says: queries that start late or behind all keys, and keys that start late.

The models are reference/attention_masks.mlir and attention_starts.mlir. The loss and each gradient, that of the bias
too, are those of reference/make_attention_masks.py: a gradient's norm, and its product with a fixed vector.
"""
import array
import json
import math
import os
import sys
import tempfile
from pathlib import Path

from dtc_tools import compare_steps, dtc, read_safetensors, train, write_safetensors

sys.path.insert(0, str(Path(__file__).resolve().parent / "reference"))
from weights import direction_of, uniform, weights_of  # noqa: E402

REFERENCE = Path(__file__).resolve().parent / "reference"
DATA = REFERENCE / "data"
SEQUENCE, LENGTHS, PREFIX = 16, (16, 11, 3, 0), 5
PLANS = {"attention_masks": [
             "dp=1,tp=1", "dp=2,tp=2", "dp=1,tp=4", "dp=4,tp=1,zero=3", "dp=1,tp=1,pp=2,micro_batch=1",
             "dp=1,tp=1,micro_batch=1,recompute=full", "dp=1,tp=2 --target simt", "dp=2,tp=1 --precision bf16"],
         "attention_starts": ["dp=1,tp=1", "dp=2,tp=2", "dp=1,tp=1,pp=2,micro_batch=1", "dp=1,tp=2 --target simt",
                              "dp=2,tp=1 --precision bf16", "dp=1,tp=1 --precision bf16 --target simt"]}


def tokens_of():
    """Returns the tokens of one step: as many of a sample differ from 0 as it has keys."""
    tokens = [1 + int(number) for number in uniform("tokens", len(LENGTHS) * SEQUENCE + 1, 0, 63)]
    for sample, length in enumerate(LENGTHS):
        for at in range(SEQUENCE - length):
            tokens[sample * SEQUENCE + (5 * at + 2) % SEQUENCE] = 0
    return tokens


def write_tokens(path):
    numbers = array.array("H", tokens_of())
    header = array.array("i", [20240520, 1, len(numbers)] + [0] * 253)
    path.write_bytes(header.tobytes() + numbers.tobytes())


def check(folder, model, tokens, worst):
    """Compares a model under its plans; notes in `worst` the largest difference of f32, and that of bf16."""
    wanted = json.loads((DATA / f"{model}.json").read_text())
    start, dump, program = (folder / each for each in ("start.safetensors", "gradients.safetensors", "model.dte"))
    write_safetensors(start, {name: (shape, weights_of(name, math.prod(shape)))
                              for name, (shape, *_) in wanted["gradients"].items()})
    for plan in PLANS[model]:
        fix, *flags = plan.split()
        os.environ["DTC_EMULATED_GPU"] = str(int("simt" in flags))
        is_narrow = "bf16" in flags
        if not is_narrow:
            flags += ["--precision", "f32"]
        axes = dict(pair.split("=") for pair in fix.split(","))
        ranks = math.prod(int(axes.get(axis, 1)) for axis in ("dp", "tp", "pp"))
        dtc("compile", REFERENCE / f"{model}.mlir", "--topology", "cpu", "--devices", ranks, "--global-batch",
            len(LENGTHS), "--fix", fix, *flags, "-o", program)
        (line,) = train(program, ranks, tokens, 1, "--threads", 1, "--lr", 0, "--init", start, "--dump-grads", dump)
        loss_tolerance, tolerance = (2e-3, 3e-2) if is_narrow else (2e-6, 5e-5)
        what = f"{model}, {plan}"
        compare_steps([line["loss"]], [wanted["loss"]], loss_tolerance, f"{what}: loss", "PyTorch")
        found = read_safetensors(dump)
        if sorted(found) != sorted(wanted["gradients"]):
            sys.exit(f"FAILED: {what}: gradients are of {sorted(found)}")
        for parameter, (_, norm, product) in wanted["gradients"].items():
            values = found[parameter][1]
            own = (math.sqrt(math.fsum(value * value for value in values)),
                   math.fsum(map(lambda a, b: a * b, values, direction_of(parameter, len(values)))))
            difference = max(abs(own[0] - norm), abs(own[1] - product) / math.sqrt(len(values) / 3)) / norm
            if not difference <= tolerance:
                sys.exit(f"FAILED: {what}: '{parameter}' has a gradient of norm and product {own}, PyTorch "
                         f"{norm, product}")
            worst[is_narrow] = max(worst.get(is_narrow, 0.0), difference)


def main():
    worst = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tokens = folder / "tokens.bin"
        write_tokens(tokens)
        for model in PLANS:
            check(folder, model, tokens, worst)
    print(f"attention with described masks trains as PyTorch's under {sum(map(len, PLANS.values()))} plans; largest "
          f"difference {worst[False]:.1e}, in bf16 {worst[True]:.1e}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""A tiny GPT-2 and Llama train as JAX trains them: loss, every gradient of the first step, ten steps of each
optimizer.

The stored results come from reference/make_reference.py and make_optimizers.py, which read the samples of each step
in dtrun's order, in several epochs of which none ends with a step, at a rate that rises and falls. Gradients are read
off one plain SGD step at rate 1: p' = p - g, so g = p - p'.
"""
import json
import math
import sys
import tempfile
from pathlib import Path

from dtc_tools import compare_steps, compare_tensors, dtc, read_safetensors, train

DATA = Path(__file__).resolve().parent / "reference" / "data"
# The project states these bounds: gradients of the first step within 1e-4 relative, the ten-step curve within 1e-3.
GRADIENT_TOLERANCE, CURVE_TOLERANCE, LOSS_TOLERANCE = 1e-4, 1e-3, 1e-4


def compile_model(folder, model, curve, devices, fix, *flags):
    config, out = DATA / f"{model}.json", Path(folder) / f"{model}.dte"
    dtc("compile", config, "--seq-len", curve["sequence"], "--topology", "cpu", "--devices", devices, "--global-batch",
        curve["batch"], *(["--fix", fix] if fix else []), "-o", out, *flags)
    return out


def train_model(dte, model, curve, devices, steps, rate, *arguments):
    return train(dte, devices, DATA / "tokens.bin", steps, "--seed", curve["seed"], "--init",
                 DATA / f"{model}.init.safetensors", "--lr", rate, *arguments)


def check_gradients(folder, model, curve, devices, fix):
    dte = compile_model(folder, model, curve, devices, fix, "--lr-schedule", "constant", "--optimizer", "sgd",
                        "--beta1", 0, "--weight-decay", 0, "--clip-norm", 0)
    after, dumped = Path(folder) / "after.safetensors", Path(folder) / "gradients.safetensors"
    (step,) = train_model(dte, model, curve, devices, 1, 1, "--dump-params", after, "--dump-grads", dumped)
    before, moved = read_safetensors(DATA / f"{model}.init.safetensors"), read_safetensors(after)
    gradients = {name: (shape, [b - a for b, a in zip(before[name][1], values)])
                 for name, (shape, values) in moved.items()}
    wanted, what = read_safetensors(DATA / f"{model}.grad.safetensors"), f"{model} gradients on {devices} ranks"
    worst = max(compare_tensors(gradients, wanted, GRADIENT_TOLERANCE, what),
                compare_tensors(read_safetensors(dumped), wanted, GRADIENT_TOLERANCE, f"{what}, dumped"))
    compare_steps([step["loss"]], curve["loss"][:1], LOSS_TOLERANCE, f"{model} on {devices} ranks: loss", "JAX")
    return worst


def compile_curve(folder, model, curve, devices, fix):
    a = curve["adamw"]
    return compile_model(folder, model, curve, devices, fix, "--lr-schedule", "cosine", "--warmup-steps",
                         curve["warmup"],
                        "--min-lr-ratio", curve["last_rate"], "--beta1", a["beta1"], "--beta2", a["beta2"], "--epsilon",
                        a["epsilon"], "--weight-decay", a["weight_decay"], "--clip-norm", a["clip"])


def check_curve(folder, model, curve, devices, fix):
    dte = compile_curve(folder, model, curve, devices, fix)
    steps = train_model(dte, model, curve, devices, len(curve["loss"]), curve["adamw"]["lr"])
    return max(compare_steps([step[key] for step in steps], curve[key], CURVE_TOLERANCE,
                             f"{model} on {devices} ranks {fix}: {key}", "JAX") for key in ("loss", "grad_norm", "lr"))


def check_optimizers(folder, model, curve, devices, fix):
    """Checks ten steps of SGD with momentum and either weight decay, LAMB and LARS: losses, and how far each tensor
    moves.
    """
    worst = 0
    for optimizer, a in json.loads((DATA / f"{model}.optimizers.json").read_text()).items():
        if optimizer == "jax":
            continue
        flags = [word for key, flag in (("beta1", "--beta1"), ("beta2", "--beta2"), ("epsilon", "--epsilon"),
                                        ("weight_decay", "--weight-decay"), ("clip", "--clip-norm"),
                                        ("coefficient", "--trust-coefficient")) if key in a for word in (flag, a[key])]
        flags += a.get("flags", [])
        dte = compile_model(folder, model, curve, devices, fix, "--optimizer", optimizer.split("_")[0], "--lr-schedule",
                            "cosine", "--warmup-steps", curve["warmup"], "--min-lr-ratio", curve["last_rate"], *flags)
        after = Path(folder) / "after.safetensors"
        steps = train_model(dte, model, curve, devices, len(a["loss"]), a["lr"], "--dump-params", after)
        before = read_safetensors(DATA / f"{model}.init.safetensors")
        what = f"{model} on {devices} ranks {fix}: {optimizer}"
        moved = {name: math.dist(values, before[name][1]) for name, (_, values) in read_safetensors(after).items()}
        names = sorted(a["moved"])
        worst = max(worst, compare_steps([step["loss"] for step in steps], a["loss"], CURVE_TOLERANCE, f"{what}: loss",
                                         "JAX"),
                    compare_steps([moved[name] for name in names], [a["moved"][name] for name in names],
                                  CURVE_TOLERANCE, f"{what}: how far tensors move", "JAX"))
    return worst


def main():
    for model in ("gpt2", "llama"):
        curve = json.loads((DATA / f"{model}.curve.json").read_text())
        for devices, fix in ((1, ""), (2, "tp=2,sp=0"), (4, "dp=2,tp=2,sp=1,zero=1,micro_batch=1")):
            with tempfile.TemporaryDirectory() as folder:
                gradients = check_gradients(folder, model, curve, devices, fix)
                losses = check_curve(folder, model, curve, devices, fix)
                others = check_optimizers(folder, model, curve, devices, fix)
            print(f"{model} on {devices} ranks {fix}: gradients within {gradients:.1e}, curve within {losses:.1e}, "
                  f"other "
                  f"optimizers within {others:.1e}")


if __name__ == "__main__":
    main()

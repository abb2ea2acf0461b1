#!/usr/bin/env python3
"""Fine-tuning trains as it does in PyTorch: targets of -100, losses beside their mean, frozen parameters, under every
plan.

reference/data/fine_tuning.json has losses, gradient norms, gradients and parameters of reference/make_fine_tuning.py,
of three steps with many targets of -100: all of some samples, and of the whole last step in one case.

1. Models of config.json take such targets as transformers does (ignore_index).
2. A mean over the targets that are not ignored stands beside other means: the z-loss over all tokens, or over those
   that count.
3. Frozen parameters keep every bit and have no gradient; all others move as with requires_grad=False: a frozen
   embedding, which is the head as well; frozen first layers, behind which backward stops; norms and head alone
   trained.

Usage: fine_tuning.py [NAME]; NAME, a substring of a case's name, runs that case under all plans.
"""
import json
import math
import os
import sys
import tempfile
from pathlib import Path

from dtc_tools import (compare_steps, dtc, dump_gradients, read_gradients, read_safetensors, train, write_npy,
                       write_safetensors)
from reference.fine_tuning import (BATCH, CASES, RATE, SEED, SEQUENCE, STEPS, config_of, graph_of, parameters_of,
                                   samples_of, start_of)
from reference.weights import direction_of

STORED = json.loads((Path(__file__).resolve().parent / "reference" / "data" / "fine_tuning.json").read_text())
LOSS_TOLERANCE, TENSOR_TOLERANCE = 5e-6, 1e-4
PLANS = ["dp=1,tp=1,micro_batch=3", "dp=2,tp=1,micro_batch=2", "dp=4,tp=1,micro_batch=1",
         "dp=2,tp=1,zero=1,micro_batch=1", "dp=2,tp=1,zero=2,micro_batch=3", "dp=4,tp=1,zero=3,micro_batch=1",
         "dp=2,tp=2,sp=0,zero=3,micro_batch=1", "tp=2,sp=1,micro_batch=4", "dp=2,tp=2,sp=1,zero=1,micro_batch=1",
         "pp=2,schedule=1f1b,micro_batch=3", "dp=2,pp=2,schedule=1f1b,zero=1,micro_batch=1",
         "tp=2,pp=2,schedule=gpipe,micro_batch=2", "dp=2,pp=2,schedule=zero-bubble,zero=3,micro_batch=1",
         "pp=2,schedule=zero-bubble,virtual_stages=2,micro_batch=1",
         "dp=2,pp=2,schedule=interleaved,virtual_stages=2,zero=2,micro_batch=1",
         "dp=2,tp=1,recompute=full,offload=1,micro_batch=2",
         "tp=2,pp=2,sp=1,schedule=zero-bubble,virtual_stages=2,micro_batch=12"]


def fail(what):
    sys.exit(f"FAILED: {what}")


def ranks_of(fix):
    return math.prod(int(value) for axis, value in (pair.split("=") for pair in fix.split(","))
                     if axis in ("dp", "tp", "pp"))


def write_data(folder, case):
    files = []
    for name, values in samples_of(case).items():
        file = folder / f"{name}.npy"
        write_npy(file, "<i4", "i", (BATCH * STEPS, SEQUENCE), [value for sample in values for value in sample])
        files.append(f"{name}={file}")
    return ",".join(files)


def summary(name, values):
    direction = direction_of(name, len(values))
    return math.sqrt(math.fsum(v * v for v in values)), math.fsum(a * b for a, b in zip(values, direction, strict=True))


def compare(found, wanted, floor, what):
    """Compares a tensor by its norm and its product with a fixed vector; a nearly zero one may differ by a share of
    `floor`.
    """
    worst = 0.0
    if sorted(found) != sorted(wanted):
        fail(f"{what}: tensors are {sorted(set(found) ^ set(wanted))} on one side only")
    for name, (norm, product) in wanted.items():
        values = found[name][1]
        have = summary(name, values)
        off = max(abs(have[0] - norm), abs(have[1] - product) / math.sqrt(max(1, len(values)) / 3))
        if not off <= TENSOR_TOLERANCE * max(norm, floor):
            fail(f"{what}: '{name}' has norm and product {have}, PyTorch {norm, product}")
        worst = max(worst, off / max(norm, floor, 1e-30))
    return worst


def check_plan(folder, case, fix, flags=()):
    name, wanted, ranks = case["name"], STORED["cases"][case["name"]], ranks_of(fix)
    what = f"{name} under {fix} {' '.join(flags)}"
    model = folder / ("model.mlir" if "graph" in case else "config.json")
    model.write_text(graph_of(case) if "graph" in case else json.dumps(config_of(case)))
    length = [] if "graph" in case else ["--seq-len", SEQUENCE]
    dtc("compile", model, *length, "--topology", "cpu", "--devices", ranks, "--global-batch", BATCH, "--fix", fix,
        "--precision", "f32", "--epsilon", 1e-3, "--lr-schedule", "constant", *flags, "-o", folder / "model.dte")
    start, dump = folder / "start.safetensors", folder / "after.safetensors"
    shapes = parameters_of(case)
    write_safetensors(start, {key: (shape, start_of(key, math.prod(shape))) for key, shape in shapes.items()})
    data, worst = write_data(folder, case), 0.0
    common = ("--lr", RATE, "--threads", 1, "--init", start, "--seed", SEED)
    lines = train(folder / "model.dte", ranks, data, STEPS, *common, "--dump-params", dump,
                  *dump_gradients(folder, [1]))
    for key in ("loss", "grad_norm"):
        compare_steps([line[key] for line in lines], wanted[key], LOSS_TOLERANCE if key == "loss" else TENSOR_TOLERANCE,
                      f"{what}: {key}", "PyTorch")
    trained = [key for key in shapes if key not in case.get("frozen", ())]
    gradients = read_gradients(folder, [1])[1]
    if sorted(gradients) != sorted(trained):
        fail(f"{what}: gradients are of {sorted(gradients)}, trained are {sorted(trained)}")
    floor = 1e-3 * wanted["grad_norm"][0]
    worst = max(worst, compare(gradients, wanted["gradients"], floor, f"{what}: gradients"))
    after, before = read_safetensors(dump), read_safetensors(start)
    worst = max(worst, compare({key: after[key] for key in trained}, wanted["parameters"], 0, f"{what}: parameters"))
    for key in case.get("frozen", ()):
        if after[key][1].tobytes() != before[key][1].tobytes():
            fail(f"{what}: frozen '{key}' has changed")
    print(f"{what}: within {worst:.1e}", flush=True)
    return worst


def main():
    worst = 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for index, case in enumerate(CASES):
            if len(sys.argv) > 1 and sys.argv[1] not in case["name"]:
                continue
            plans = PLANS if len(sys.argv) > 1 else [PLANS[(3 * index + 5 * each) % len(PLANS)] for each in range(4)]
            for fix in plans:
                worst = max(worst, check_plan(folder, case, fix))
            os.environ["DTC_EMULATED_GPU"] = "1"
            worst = max(worst, check_plan(folder, case, "dp=2,tp=1,micro_batch=2", ("--target", "simt")))
            del os.environ["DTC_EMULATED_GPU"]
    print(f"fine-tuning is that of PyTorch {STORED['torch']} and transformers {STORED['transformers']}: within "
          f"{worst:.1e}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Parameters that are stored split over the data axis and are used whole train like one device.

Plans with ZeRO-3 ask for such storage; here the model states `in_use` itself, and a plan without ZeRO is edited to
store every parameter split along another dim than ZeRO-3 would. Every use then gathers, in forward and in backward
apart, and every gradient is scattered to the storage of its parameter, micro-batch by micro-batch. The sent bytes
follow from that, and are compared as well; so are the stored bytes, which are what a rank saves.
"""
import collections
import json
import math
import random
import re
import sys
import tempfile
from pathlib import Path

from dtc_tools import BIN, as_bytes, compare_steps, compare_tensors, dtc, read_safetensors, run, train

STEPS, BATCH, SEQUENCE, TOLERANCE = 5, 8, 16, 1e-4
CONFIG = {"model_type": "gpt2", "vocab_size": 64, "n_positions": SEQUENCE, "n_embd": 32, "n_layer": 2, "n_head": 4,
          "activation_function": "gelu", "initializer_range": 0.08, "resid_pdrop": 0.1, "embd_pdrop": 0.1,
          "attn_pdrop": 0.1, "tie_word_embeddings": False}
# Each case is: dp, tp, samples of a micro-batch on a rank.
CASES = [(2, 1, 4), (2, 1, 2), (4, 1, 1), (2, 2, 2)]


def plan_of(folder, model, dp, tp, micro_batch):
    path = folder / "plan.json"
    dtc("plan", model, "--topology", "cpu", "--devices", dp * tp, "--global-batch", BATCH, "--fix",
        f"dp={dp},tp={tp},sp=0,zero=0,micro_batch={micro_batch}", "-o", path)
    return path, json.loads(path.read_text())


def train_plan(folder, model, plan, ranks, name):
    dte, dump = folder / f"{name}.dte", folder / f"{name}.safetensors"
    dtc("compile", model, "--topology", "cpu", "--devices", ranks, "--plan", plan, "--epsilon", 1e-3, "-o", dte)
    losses = train(dte, ranks, as_bytes(folder / "text.txt"), STEPS, "--seed", 3, "--lr", 1e-2, "--threads", 1,
                   "--dump-params", dump)
    return [step["loss"] for step in losses], read_safetensors(dump), dte


def rest_split(text, plan, dp):
    """Returns the model with an explicit placement in use of every parameter, and the plan that stores it split over
    dp as well.

    Also returns the bytes that one rank gathers of all parameters, each once, padding included.
    """
    sizes = {"dp": plan["mesh"]["dp"], "tp": plan["mesh"]["tp"]}
    gathered = 0

    def declare(match):
        nonlocal gathered
        name, shape = match["name"].strip('"'), [int(size) for size in match["shape"].split("x")[:-1]]
        names = [name.replace("{}", str(layer)) for layer in range(int(match["repeats"] or 1))]
        taken = plan["tensors"][names[0]]["tp"]
        dims = [dim for dim in range(len(shape)) if f"shard({dim})" != taken or sizes["tp"] == 1]
        if not dims:  # tp splits its only dim
            return match[0]
        dim = max(dims, key=lambda dim: (shape[dim] % dp == 0, shape[dim]))
        for member in names:
            plan["tensors"][member]["dp"] = f"shard({dim})"
        local = [math.ceil(size / sizes["tp"]) if f"shard({at})" == taken else size for at, size in enumerate(shape)]
        local[dim] = math.ceil(local[dim] / dp)
        gathered += len(names) * (dp - 1) * math.prod(local) * 4
        return f"{match[0]} placement <[replicate, replicate]> in_use <[replicate, {taken}]>"

    pattern = (r'graph\.parameter @(?P<name>"[^"]*"|\S+) : tensor<(?P<shape>[^>]*)> init .*?'
               r'(?: repeats (?P<repeats>\d+))?$')
    return re.sub(pattern, declare, text, flags=re.MULTILINE), gathered


def inspect(dte):
    (program,) = json.loads(dtc("inspect", dte, "--format", "json"))["programs"]
    return program


def run_case(folder, model, wanted, dp, tp, micro_batch):
    what = f"dp={dp} tp={tp} micro_batch={micro_batch}"
    path, plan = plan_of(folder, model, dp, tp, micro_batch)
    text, gathered = rest_split(model.read_text(), plan, dp)
    split = folder / "split.mlir"
    split.write_text(text)
    path.write_text(json.dumps(plan))
    losses, params, dte = train_plan(folder, split, path, dp * tp, "split")
    compare_steps(losses, wanted[0], TOLERANCE, f"{what}: loss")
    worst = compare_tensors(params, wanted[1], TOLERANCE, what)

    sent = collections.Counter()
    program, whole = inspect(dte), inspect(wanted[2])
    for kind in ("parameter", "optimizer"):
        share = program["memory"][kind] * dp * tp / whole["memory"][kind]
        # The slack is for padding, and with tp for what every rank has: norms, positions, biases behind sums.
        if not 0.99 < share < (1.05 if tp == 1 else 1.2):
            sys.exit(
                f"FAILED: {what}: the ranks together hold {share:.2f} times the bytes of kind {kind} of one device")
    for each in program["communication"]:
        sent[each["group"], each["kind"], each["role"]] += each["bytes"]
    micro_batches = BATCH // (dp * micro_batch)
    # Forward and backward read each parameter, except those that backward does not need (embeddings, biases).
    gathers = sent["dp", "all_gather", "parameter"] / (micro_batches * gathered)
    scatters = sent["dp", "reduce_scatter", "gradient"] / (micro_batches * gathered)
    if not 1.5 < gathers <= 2.05 or not 0.99 < scatters < 1.05:
        sys.exit(f"FAILED: {what}: a micro-batch gathers all parameters {gathers:.2f} times, wanted forward and "
                 f"backward, "
                 f"and scatters their gradients {scatters:.2f} times, wanted once: {dict(sent)}")
    print(f"{what}: largest difference {worst:.2e}, parameters gathered {gathers:.2f} times, gradients scattered "
          f"{scatters:.2f} times a micro-batch", flush=True)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config, written, model = folder / "config.json", folder / "written.mlir", folder / "model.mlir"
        config.write_text(json.dumps(CONFIG))
        rng = random.Random(7)
        (folder / "text.txt").write_bytes(bytes(rng.randrange(60) for _ in range(4000)))
        dtc("import", config, "--seq-len", SEQUENCE, "-o", written)
        run([BIN / "dtc-opt", written, "--dtc-instantiate-blocks", "-o", model])  # the module declares its parameters
        path, _ = plan_of(folder, model, 1, 1, 1)
        wanted = train_plan(folder, model, path, 1, "one")
        for case in CASES:
            run_case(folder, model, wanted, *case)
    print(f"{len(CASES)} cases match one device")


if __name__ == "__main__":
    main()

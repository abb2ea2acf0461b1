#!/usr/bin/env python3
"""Constructs beside layers that people write into a graph train under every plan like on one device.

1. Models of written.py, each with plans under which its special construct is on several ranks: parameters that layers
   of several stages share, values that no sample enters on two stages, a term of the loss that no sample enters, of a
   parameter that is split, sharded by ZeRO, or of another stage; losses, norms, gradients and parameters
   (compare_runs of any_plan.py).
2. An independent reference of such a term: it adds the derivative of 0.01 * sum(p^2), 0.02 * p, to the gradients,
   whatever the plan and the number of micro-batches.
3. LAMB and LARS under ZeRO-1 with sizes that tensor parallelism does not divide, such that shards of a weight over dp
   and of a bias over tp have the same length.
"""
import json
import math
import sys
import tempfile
from pathlib import Path

from any_plan import RATES, compare_gradients, match_one_device
from dtc_tools import as_bytes, dtc, read_safetensors, train
from written import text_of

SEQUENCE, SEED, WORDS = 8, 5, 61
PLAIN = {"model_type": "written", "vocab_size": WORDS, "width": 12, "n_layer": 4, "shared": False, "skip": False,
         "positions": False, "tied": True, "penalty": "", "penalty_form": "squares"}
SHARED = {**PLAIN, "shared": True, "skip": True}
POSITIONS = {**PLAIN, "positions": True}
UNTIED = {**PLAIN, "tied": False}

# Each case is: model, --fix without one sample per micro-batch and rank, micro-batches of a step.
CASES = [
    ({**UNTIED, "penalty": "head"}, {"dp": 2, "zero": 2}, 3),
    ({**UNTIED, "penalty": "head", "penalty_form": "powers"}, {"dp": 2, "zero": 3}, 2),
    ({**UNTIED, "penalty": "head"}, {"dp": 3, "zero": 1}, 1),
    ({**PLAIN, "penalty": "table"}, {"dp": 2, "tp": 2, "zero": 3}, 2),
    ({**UNTIED, "penalty": "head", "penalty_form": "powers"}, {"tp": 2}, 4),
    ({**UNTIED, "penalty": "head"}, {"tp": 2}, 2),
    ({**UNTIED, "penalty": "table"}, {"tp": 3, "placement": "megatron"}, 2),
    # The loss is on the last stage, the table on the first one.
    ({**UNTIED, "penalty": "table"}, {"dp": 2, "pp": 2, "schedule": "1f1b", "zero": 2}, 4),
    ({**UNTIED, "penalty": "table", "penalty_form": "powers"}, {"dp": 2, "pp": 2, "schedule": "1f1b", "zero": 0}, 2),
    ({**PLAIN, "penalty": "table"}, {"dp": 2, "pp": 2, "schedule": "zero-bubble", "zero": 1}, 2),
    ({**SHARED, "penalty": "shared"}, {"dp": 2, "pp": 2, "schedule": "1f1b", "zero": 3}, 2),
    ({**SHARED, "penalty": "shared"}, {"tp": 2, "pp": 2, "schedule": "1f1b"}, 2),
    (SHARED, {"tp": 2, "pp": 2, "schedule": "1f1b"}, 2),
    (SHARED, {"tp": 3, "pp": 2, "schedule": "gpipe", "recompute": "full", "placement": "megatron"}, 2),
    (SHARED, {"tp": 2, "pp": 2, "schedule": "interleaved", "virtual_stages": 2, "sp": 1}, 2),
    (SHARED, {"tp": 2, "pp": 4, "schedule": "1f1b"}, 4),
    (POSITIONS, {"pp": 2, "schedule": "1f1b"}, 3),
    (POSITIONS, {"pp": 2, "schedule": "zero-bubble", "dp": 2, "zero": 3}, 3),
    (POSITIONS, {"pp": 2, "schedule": "gpipe", "tp": 2}, 2),
    ({**POSITIONS, "penalty": "positions"}, {"pp": 4, "schedule": "1f1b"}, 4),
]

BIASED = {"model_type": "llama", "vocab_size": 127, "max_position_embeddings": 64, "hidden_size": 32, "head_dim": 4,
          "intermediate_size": 40, "num_hidden_layers": 1, "num_attention_heads": 8, "num_key_value_heads": 4,
          "hidden_act": "silu", "tie_word_embeddings": True, "attention_bias": True}


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def ranks_of(fix):
    return math.prod(fix.get(key, 1) for key in ("dp", "tp", "pp"))


def write(folder, model):
    path, data = folder / ("model.mlir" if model["model_type"] == "written" else "config.json"), folder / "text.txt"
    path.write_text(text_of(model, SEQUENCE) if path.suffix == ".mlir" else json.dumps(model))
    data.write_bytes(bytes((7 * at * at + at // 5) % WORDS for at in range(4000)))
    return path, as_bytes(data)


def run_case(folder, model, fix, count, optimizer="adamw"):
    path, data = write(folder, model)
    fix = {"dp": 1, "tp": 1, **fix, "micro_batch": 1}
    what = f"{optimizer} {model} {fix} x{count}"
    worst = match_one_device(folder, path, SEQUENCE, fix["dp"] * count, optimizer, ranks_of(fix), fix, data, SEED, what)
    print(f"{what}: {worst:.2e}", flush=True)


def gradients_of(folder, model, fix, batch):
    """Returns initial parameters, and gradients of the first step."""
    path, data = write(folder, model)
    dte, start, dump = folder / "model.dte", folder / "start.safetensors", folder / "gradients.safetensors"
    pins = ",".join(f"{key}={value}" for key, value in fix.items())
    dtc("compile", path, "--topology", "cpu", "--devices", ranks_of(fix), "--global-batch", batch, "--fix", pins, "-o",
        dte)
    train(dte, ranks_of(fix), data, 0, "--seed", SEED, "--dump-params", start)
    train(dte, ranks_of(fix), data, 1, "--seed", SEED, "--dump-grads", dump)
    return read_safetensors(start), read_safetensors(dump)


def check_reference(folder, name, model, fix, batch):
    start, without = gradients_of(folder, {**model, "penalty": ""}, fix, batch)
    _, found = gradients_of(folder, {**model, "penalty": name}, fix, batch)
    shape, values = without[name]
    wanted = {**without, name: (shape, [a + 0.02 * b for a, b in zip(values, start[name][1], strict=True)])}
    worst = compare_gradients(found, wanted, f"derivative of the squares of '{name}' under {fix}")
    print(f"squares of '{name}' under {fix}: {worst:.2e}", flush=True)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for case in CASES:
            run_case(folder, *case)
        check_reference(folder, "head", UNTIED, {"dp": 1, "micro_batch": 2}, 8)
        check_reference(folder, "head", UNTIED, {"dp": 2, "zero": 2, "micro_batch": 1}, 8)
        check_reference(folder, "table", UNTIED, {"dp": 2, "pp": 2, "schedule": "1f1b", "micro_batch": 1}, 8)
        check_reference(folder, "shared", SHARED, {"tp": 2, "pp": 2, "schedule": "1f1b", "micro_batch": 1}, 4)
        for optimizer in sorted({"lamb", "lars"} & RATES.keys()):
            run_case(folder, BIASED, {"dp": 3, "tp": 3, "zero": 1}, 1, optimizer)


if __name__ == "__main__":
    main()

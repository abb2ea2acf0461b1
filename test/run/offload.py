#!/usr/bin/env python3
"""Optimizer state and its update in the memory of the host give the same numbers, to the bit, as on the device.

1. Losses, gradients and parameters are those of the same plan without offload, to the bit, in f32, bf16 and f16;
   except for LAMB and LARS in f32 under ZeRO, for which norms of a split copy are sums of partial sums. In f32 they
   are those of one device, too, within the tolerance of any plan (any_plan.py).
2. The device holds no optimizer state any more: its arena is smaller by that, and that of the host holds it.
3. Ranks send each other the same tensors, except for single numbers.
4. --init is where the copy on the host starts.
"""
import json
import math
import random
import sys
import tempfile
from pathlib import Path

from any_plan import RATES, STEPS, compare_runs, run_one, run_steps, train_once, write_case
from dtc_tools import dtc, read_safetensors, train

SEQUENCE, BATCH, ALIGNMENT = 16, 8, 64
SCALARS = 16 * ALIGNMENT  # bytes of scalars that are copied back, to be added up over ranks
GPT2 = {"model_type": "gpt2", "vocab_size": 61, "n_positions": SEQUENCE, "n_embd": 36, "n_layer": 3, "n_head": 3,
        "initializer_range": 0.08, "resid_pdrop": 0.1, "embd_pdrop": 0.1, "attn_pdrop": 0.1}
LLAMA = {"model_type": "llama", "vocab_size": 97, "max_position_embeddings": SEQUENCE, "hidden_size": 24,
         "intermediate_size": 50, "num_hidden_layers": 2, "num_attention_heads": 6, "num_key_value_heads": 2,
         "hidden_act": "silu", "initializer_range": 0.08, "tie_word_embeddings": False}
# Each case is: model, pins, optimizer, flags.
CASES = [(GPT2, {"micro_batch": 8}, "adamw", []),
         (GPT2, {"micro_batch": 2}, "sgd", ["--clip-norm", 0]),
         (LLAMA, {"micro_batch": 4}, "adamw", ["--clip-norm", 0.1]),
         (GPT2, {"dp": 2, "micro_batch": 2}, "adamw", []),
         (LLAMA, {"tp": 2, "sp": 1, "micro_batch": 4}, "lamb", []),
         (GPT2, {"dp": 2, "zero": 1, "micro_batch": 2}, "adamw", ["--clip-norm", 0.1]),
         (LLAMA, {"dp": 2, "zero": 2, "micro_batch": 2}, "lamb", []),
         (GPT2, {"dp": 4, "zero": 3, "zero_group": 2, "micro_batch": 1}, "sgd", []),
         (LLAMA, {"dp": 2, "tp": 2, "sp": 1, "zero": 3, "micro_batch": 2}, "adamw", []),
         (GPT2, {"dp": 2, "zero": 1, "micro_batch": 4}, "lars", []),
         (LLAMA, {"dp": 2, "zero": 1, "micro_batch": 2, "recompute": "full"}, "adamw", []),
         (GPT2, {"micro_batch": 4}, "adamw", ["--precision", "bf16"]),
         (LLAMA, {"dp": 2, "zero": 1, "micro_batch": 2}, "adamw", ["--precision", "bf16"]),
         (GPT2, {"dp": 2, "zero": 3, "micro_batch": 2}, "lamb", ["--precision", "bf16"]),
         (LLAMA, {"dp": 2, "zero": 1, "micro_batch": 4}, "adamw", ["--precision", "f16"]),
         (GPT2, {"dp": 1, "pp": 2, "micro_batch": 2}, "adamw", []),
         (LLAMA, {"dp": 2, "pp": 2, "zero": 1, "micro_batch": 2}, "lamb", [])]


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def compile_case(folder, path, fix, optimizer, flags, offload):
    dte = folder / f"offload{offload}.dte"
    fix = {"dp": 1, "tp": 1, "pp": 1, **fix, "offload": offload}
    dtc("compile", path, "--seq-len", SEQUENCE, "--topology", "cpu", "--devices", fix["dp"] * fix["tp"] * fix["pp"],
        "--global-batch", BATCH, "--optimizer", optimizer, "--epsilon", 1e-3, *flags, "--fix",
        ",".join(f"{key}={value}" for key, value in fix.items()), "-o", dte)
    return dte, json.loads(dtc("inspect", dte, "--format", "json"))["programs"][0]


def state_bytes(dte):
    """Returns the bytes of a rank's optimizer state in each memory, as laid out in the arenas."""
    rank = json.loads(dtc("inspect", dte, "--rank", 0, "--format", "json"))
    found = {"device": 0, "host": 0}
    for buffer in rank["memory_map"]:
        # The state of parameters is listed for each layer by itself.
        if buffer["kind"] == "optimizer" and buffer["name"].count(".") > 1 and "layer_stride" not in buffer:
            found[buffer["space"]] += -(-buffer["bytes"] // ALIGNMENT) * ALIGNMENT
    return found


def sent(program):
    """Returns the bytes that a rank sends in a step without single numbers: norms of a split copy are sums of partial
    sums.
    """
    return [each for each in program["communication"] if each["role"] != "control"]


def check_memory(what, on_device, on_host):
    (dte, without), (offloaded, program) = on_device, on_host
    before, after = state_bytes(dte), state_bytes(offloaded)
    check(before["host"] == 0 and without["host_bytes"] == 0, f"{what}: the host has memory without offload")
    check(after["device"] == 0 and before["device"] > 0,
          f"{what}: {after['device']} bytes of state are left on the device")
    check(program["host_bytes"] > after["host"] >= before["device"],
          f"{what}: {after['host']} bytes of state in a host arena of "
          f"{program['host_bytes']}; the device had {before['device']}")
    check(program["arena_bytes"] <= without["arena_bytes"] - before["device"] + SCALARS,
          f"{what}: the device has {program['arena_bytes']} "
          f"bytes, {without['arena_bytes']} without offload, {before['device']} of it state")
    check(sent(program) == sent(without), f"{what}: ranks send {sent(program)}, without offload {sent(without)}")


def raw_steps(folder, dte, ranks, data, rate):
    """Returns losses, skipped steps, and the bytes of the parameters and gradients after five steps."""
    parameters, gradients = folder / "parameters.safetensors", folder / "gradients.safetensors"
    lines = train(dte, ranks, data, STEPS, "--seed", 3, "--lr", rate, "--threads", 1, "--dump-params", parameters,
                  "--dump-grads", gradients)
    return [line["loss"] for line in lines], [line["skipped_steps"]
                                              for line in lines], parameters.read_bytes(), gradients.read_bytes()


def run_case(folder, data, config, fix, optimizer, flags):
    path, ranks = folder / "config.json", math.prod(fix.get(axis, 1) for axis in ("dp", "tp", "pp"))
    path.write_text(json.dumps(config))
    what = " ".join([config["model_type"], optimizer, *map(str, flags),
                     *(f"{key}={value}" for key, value in fix.items())])
    compiled = [compile_case(folder, path, fix, optimizer, flags, offload) for offload in (0, 1)]
    check_memory(what, *compiled)
    if "--precision" in flags or not (optimizer in ("lamb", "lars") and fix.get("zero", 0) > 0):
        wanted, found = (raw_steps(folder, dte, ranks, data, RATES[optimizer]) for dte, _ in compiled)
        for part, before, after in zip(("losses", "steps skipped", "parameters", "gradients"), wanted, found):
            check(after == before, f"{what}: other {part} than without offload")
    if flags:
        return 0.0
    found = run_steps(folder, compiled[1][0], ranks, data, 3, RATES[optimizer])
    one = train_once(lambda: run_one(folder, path, SEQUENCE, BATCH, optimizer, 1,
                                     {"dp": 1, "tp": 1, "micro_batch": BATCH}, data, 3),
                     "one device", path, data, optimizer)
    return compare_runs(found, one, what)


def check_init(folder, data):
    """Checks that parameters which are read reach the copy on the host: a step from them is that of the device."""
    path, first = folder / "config.json", folder / "first.safetensors"
    path.write_text(json.dumps(LLAMA))
    fix, dumped = {"dp": 2, "zero": 1, "micro_batch": 4}, []
    programs = [compile_case(folder, path, fix, "adamw", [], offload)[0] for offload in (0, 1)]
    train(programs[1], 2, data, 3, "--seed", 5, "--lr", 1e-2, "--dump-params", first)
    for number, dte in enumerate(programs):
        out = folder / f"second{number}.safetensors"
        train(dte, 2, data, 2, "--seed", 9, "--lr", 1e-2, "--init", first, "--dump-params", out)
        dumped.append(read_safetensors(out))
    check(dumped[0] == dumped[1], "a run from --init differs where the host updates")
    check(dumped[0] != read_safetensors(first), "two steps from --init change nothing")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _, data = write_case(folder, GPT2, random.Random(1))
        worst = max(run_case(folder, data, *case) for case in CASES)
        check_init(folder, data)
    print(f"{len(CASES)} offloaded plans train to the bit as those on the device do; from one device they differ by "
          f"{worst:.2e} at most")


if __name__ == "__main__":
    main()

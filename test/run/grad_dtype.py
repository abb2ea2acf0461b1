#!/usr/bin/env python3
"""--grad-dtype bf16: gradients are rounded, added up over ranks in bf16, and used in f32; half as many bytes travel.

The results are exact: all samples of the data are the same, so that every rank, and every micro-batch, has the same
addend of each gradient. The rounded addends, a power of two of equal ones, sum to the rounding of the sum: a run with
--grad-dtype bf16 dumps the rounding of what the same plan dumps without. This holds for dp, every ZeRO (2 and 3 round
in each micro-batch), in groups, with tensor parallelism, in pipelines, with tied embeddings on two stages, and with
16-bit parameters. And fewer bytes are reduced.
"""
import json
import math
import struct
import sys
import tempfile
from pathlib import Path

from dtc_tools import as_bytes, dtc, read_safetensors, train

SEQUENCE, SEED = 8, 3
LLAMA = {"model_type": "llama", "vocab_size": 61, "max_position_embeddings": SEQUENCE, "hidden_size": 24, "head_dim": 6,
         "intermediate_size": 30, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
         "hidden_act": "silu", "initializer_range": 0.08, "tie_word_embeddings": False}
TIED = {**LLAMA, "tie_word_embeddings": True}
# Each case is: --precision, and --fix without its one sample per micro-batch and rank; a step has two micro-batches.
CASES = [("f32", {"dp": 2, "zero": 0}), ("f32", {"dp": 2, "zero": 0, "overlap": 0}), ("f32", {"dp": 2, "zero": 1}),
         ("f32", {"dp": 2, "zero": 2}), ("f32", {"dp": 2, "zero": 3}), ("f32", {"dp": 4, "zero": 1, "zero_group": 2}),
         ("f32", {"dp": 4, "zero": 3, "zero_group": 2}), ("f32", {"dp": 2, "tp": 2, "sp": 0, "zero": 1}),
         ("f32", {"dp": 2, "pp": 2, "schedule": "1f1b", "zero": 1}), ("bf16", {"dp": 4, "zero": 1}),
         ("bf16", {"dp": 2, "zero": 3}), ("f16", {"dp": 2, "zero": 0})]
# Tied embeddings on two stages are added up in f32 first; each stage goes on with the sum in bf16, or widens it, as
# it comes. ZeRO-2 and 3 round the addend of each stage before it is added up.
TIED_CASES = [("f32", {"dp": 2, "pp": 2, "schedule": schedule, "zero": zero}) for schedule, zero in (
    ("1f1b", 0), ("1f1b", 1), ("gpipe", 0), ("zero-bubble", 1))]
TIED_CASES += [("bf16", {"dp": 2, "pp": 2, "schedule": "1f1b", "zero": 1}),
               ("f16", {"dp": 2, "pp": 2, "schedule": "1f1b", "zero": 0})]


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def bits(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def rounded(value):
    """Returns the nearest bf16, ties to even, as the bits of an f32."""
    b = bits(value)
    return (b + 0x7FFF + (b >> 16 & 1)) >> 16 << 16


def run(folder, model, precision, fix, dtype):
    config, data, dte, dump = (folder / name for name in ("config.json", "text.txt", "model.dte",
                                                          "gradients.safetensors"))
    config.write_text(json.dumps(model))
    data.write_bytes(bytes(range(SEQUENCE)) * 400)  # a window of SEQUENCE + 1 begins every SEQUENCE
    ranks = math.prod(fix.get(key, 1) for key in ("dp", "tp", "pp"))
    pins = ",".join(f"{key}={value}" for key, value in {"tp": 1, "pp": 1, "micro_batch": 1, **fix}.items())
    dtc("compile", config, "--seq-len", SEQUENCE, "--topology", "cpu", "--devices", ranks, "--global-batch",
        2 * fix["dp"], "--precision", precision, "--grad-dtype", dtype, "--fix", pins, "-o", dte)
    steps = train(dte, ranks, as_bytes(data), 1, "--seed", SEED, "--dump-grads", dump)
    check(steps[-1]["skipped_steps"] == 0, f"{precision} {fix}: the step was skipped")
    programs = json.loads(dtc("inspect", dte, "--format", "json"))["programs"]
    sent = sum(each["bytes"] for program in programs for each in program["communication"]
               if each["role"] == "gradient" and each["kind"] in ("all_reduce", "reduce_scatter"))
    return read_safetensors(dump), sent


def run_case(folder, model, precision, fix):
    what = f"{precision} {fix}" + (", tied" if model is TIED else "")
    (wide, sent), (narrow, sent_narrow) = (run(folder, model, precision, fix, dtype) for dtype in ("f32", "bf16"))
    check(sorted(wide) == sorted(narrow), f"{what}: gradients {set(wide) ^ set(narrow)} are in one file only")
    for name, (_, values) in wide.items():
        for place, (a, b) in enumerate(zip(values, narrow[name][1], strict=True)):
            check(bits(b) == rounded(a), f"{what}: gradient {place} of '{name}' is {b}, wanted the rounding of {a}")
    check(0 < sent_narrow < sent, f"{what}: {sent_narrow} bytes of gradients are reduced, {sent} in f32")


def main():
    for model, cases in ((LLAMA, CASES), (TIED, TIED_CASES)):
        for case in cases:
            with tempfile.TemporaryDirectory() as name:
                run_case(Path(name), model, *case)
            print(*case, "is to the bit" + (" with tied embeddings" if model is TIED else ""), flush=True)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Shards of gradients and parameters train like one device.

The cases have buckets of any size, beside compute or not, in groups of ranks, in the stages of a pipeline. Sizes of
the models do not divide; they are tied and untied, with dropout. The plan's `bucket_bytes` is edited to less than a
layer and to more than the model. The bytes that a rank sends follow from the placements alone: gradients once a
micro-batch and no other way, parameters before forward and before backward, whatever the buckets; smaller ones are
more collectives of as many bytes.
"""
import json
import random
import sys
import tempfile
from pathlib import Path

from any_plan import compare_runs, run_one, run_steps
from dtc_tools import as_bytes, dtc

SEQUENCE, BATCH = 16, 8
GPT2 = {"model_type": "gpt2", "vocab_size": 61, "n_positions": SEQUENCE, "n_embd": 36, "n_layer": 3, "n_head": 3,
        "initializer_range": 0.08, "resid_pdrop": 0.1, "embd_pdrop": 0.1, "attn_pdrop": 0.1}
LLAMA = {"model_type": "llama", "vocab_size": 97, "max_position_embeddings": SEQUENCE, "hidden_size": 24,
         "intermediate_size": 50, "num_hidden_layers": 2, "num_attention_heads": 6, "num_key_value_heads": 2,
         "hidden_act": "silu", "initializer_range": 0.08, "tie_word_embeddings": False}
GPT2_4, LLAMA_4 = {**GPT2, "n_layer": 4}, {**LLAMA, "num_hidden_layers": 4}
LITTLE, MUCH = 4000, 1 << 30
# Each case is: model, pins, bucket_bytes of the plan or nothing if it stays as planned.
CASES = [(GPT2, {"dp": 2, "zero": 2, "micro_batch": 4}, LITTLE),
         (GPT2, {"dp": 2, "zero": 2, "micro_batch": 2}, MUCH),
         (GPT2, {"dp": 2, "zero": 3, "micro_batch": 4}, MUCH),
         (GPT2, {"dp": 2, "zero": 3, "micro_batch": 1}, LITTLE),
         (GPT2, {"dp": 4, "zero": 3, "micro_batch": 1, "overlap": 0}, None),
         (GPT2, {"dp": 4, "zero": 3, "zero_group": 2, "micro_batch": 1}, LITTLE),
         (LLAMA, {"dp": 4, "zero": 2, "zero_group": 2, "micro_batch": 2}, MUCH),
         (LLAMA, {"dp": 4, "zero": 1, "zero_group": 2, "micro_batch": 1}, None),
         (LLAMA, {"dp": 2, "tp": 2, "sp": 1, "zero": 3, "micro_batch": 2}, LITTLE),
         (LLAMA, {"dp": 3, "zero": 3, "micro_batch": 1}, None),
         (GPT2, {"dp": 2, "pp": 2, "schedule": "1f1b", "zero": 3, "micro_batch": 1}, LITTLE),
         (GPT2, {"dp": 2, "pp": 2, "schedule": "gpipe", "zero": 2, "micro_batch": 2}, MUCH),
         (LLAMA_4, {"dp": 2, "pp": 2, "schedule": "interleaved", "virtual_stages": 2, "zero": 2, "micro_batch": 1},
          LITTLE),
         (LLAMA_4, {"dp": 2, "pp": 2, "schedule": "interleaved", "virtual_stages": 2, "zero": 3, "recompute": "full",
                    "micro_batch": 1}, MUCH),
         (LLAMA, {"dp": 2, "tp": 2, "pp": 2, "sp": 1, "schedule": "zero-bubble", "zero": 3, "micro_batch": 1}, None),
         # Embeddings are tied and on one stage.
         (GPT2_4, {"dp": 2, "pp": 2, "schedule": "zero-bubble", "virtual_stages": 2, "zero": 3,
                   "recompute": "selective", "micro_batch": 1}, LITTLE),
         (LLAMA_4, {"dp": 4, "pp": 2, "schedule": "1f1b", "zero": 3, "zero_group": 2, "micro_batch": 1}, MUCH),
         (GPT2, {"dp": 2, "pp": 2, "schedule": "zero-bubble", "zero": 2, "overlap": 0, "micro_batch": 1}, None)]


def sent(dte):
    """Returns for each program: (group, kind, role) -> collectives and bytes of a step, without the sums over stages.
    """
    programs = json.loads(dtc("inspect", dte, "--format", "json"))["programs"]
    return [{(each["group"], each["kind"], each["role"]): (each["count"], each["bytes"])
             for each in program["communication"]
             if not each["group"].startswith("stages")} for program in programs]


def check_sent(what, fix, found, merged):
    """Checks that little buckets and large ones send as many bytes, except for padding."""
    scatters = [key for key in found if key[1:] == ("reduce_scatter", "gradient") and key[0] != "tp"]
    gathers = [key for key in found if key[1:] == ("all_gather", "parameter") and key[0] != "tp"]
    if len(scatters) != 1 or len(gathers) != 1 or scatters[0][0] != gathers[0][0]:
        sys.exit(f"FAILED: {what}: gradients are scattered and parameters gathered over {scatters + gathers}, wanted "
                 f"one group")
    across = [key for key in found if key[1:] == ("all_reduce", "gradient") and key[0] != "tp"]
    if bool(across) != ("zero_group" in fix) or any(key[0] == scatters[0][0] for key in across):
        sys.exit(f"FAILED: {what}: gradients are added up over {across}; wanted that between groups alone")
    for key in scatters + gathers:
        if not found[key][0] > merged[key][0] or not 0.9 < found[key][1] / merged[key][1] <= 1.0:
            sys.exit(f"FAILED: {what}: {key}: {found[key]} in little buckets, {merged[key]} in large ones")


def run_case(folder, data, wanted, config, fix, bucket_bytes):
    fix = {"tp": 1, **fix}
    ranks, batch = fix["dp"] * fix["tp"] * fix.get("pp", 1), BATCH if BATCH % fix["dp"] == 0 else 6
    what = (f"{config['model_type']} {' '.join(f'{key}={value}' for key, value in fix.items())} "
            f"bucket_bytes={bucket_bytes}")
    path, plan, dte = folder / "config.json", folder / "plan.json", folder / "model.dte"
    path.write_text(json.dumps(config))
    key = json.dumps(config), batch
    if key not in wanted:
        wanted[key] = run_one(folder, path, SEQUENCE, batch, "adamw", 1, {"dp": 1, "tp": 1, "micro_batch": batch}, data,
                              3)
    asked = ["--seq-len", SEQUENCE, "--topology", "cpu", "--devices", ranks, "--global-batch", batch]
    dtc("plan", path, *asked, "--fix", ",".join(f"{key}={value}" for key, value in fix.items()), "-o", plan)
    counts = []
    for size in [bucket_bytes] if bucket_bytes != LITTLE else [MUCH, LITTLE]:
        edited = json.loads(plan.read_text())
        if size is not None:
            edited["bucket_bytes"] = size
        plan.write_text(json.dumps(edited))
        dtc("compile", path, *asked, "--plan", plan, "--epsilon", 1e-3, "-o", dte)
        counts.append(sent(dte))
    for merged, found in zip(*counts) if len(counts) == 2 else ():
        check_sent(what, fix, found, merged)
    worst = compare_runs(run_steps(folder, dte, ranks, data, 3, 1e-2), wanted[key], what)
    print(f"{what}: largest difference {worst:.2e}", flush=True)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder, wanted = Path(name), {}
        # With the text of seed 3 one device is itself up to 9.4e-5 off with other micro-batches: five steps of AdamW
        # enlarge the rounding of one element of Llama's embedding, on some processors beyond the tolerance.
        rng = random.Random(4)
        data = folder / "text.txt"
        data.write_bytes(bytes(rng.randrange(60) for _ in range(4000)))
        for case in CASES:
            run_case(folder, as_bytes(data), wanted, *case)
    print(f"{len(CASES)} plans match one device")


if __name__ == "__main__":
    main()

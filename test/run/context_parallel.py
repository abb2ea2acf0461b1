#!/usr/bin/env python3
"""Sequences on several ranks train like one device, and send what the formula says.

Usage: context_parallel.py [--only N]; exits 0 only if all cases match. Small models are trained under context
parallelism of each kind that dtc compiles, beside data and tensor parallelism, pipelines, ZeRO and recomputation, by
SGD but for three cases: AdamW would hide gradients that are too large by a factor. Losses, norms, gradients and
parameters are compared with one process as in any_plan.py. Positions are learned (gpt2) or rotary (llama); some
attention has windows, dropout or fewer kv heads than ranks; some cases are in bf16, some on emulated GPUs. What a
program sends along cp has the bytes of the formula.
"""
import json
import math
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from any_plan import match_one_device, run_listed_cases, write_case
from dtc_tools import BIN, dtc

SEQUENCE = 16
REFERENCE = Path(__file__).resolve().parent / "reference"
GPT2 = {"model_type": "gpt2", "vocab_size": 61, "n_positions": 32, "n_embd": 32, "n_layer": 2, "n_head": 8,
        "n_inner": 48, "initializer_range": 0.08, "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0,
        "tie_word_embeddings": True}
DROPS = {**GPT2, "resid_pdrop": 0.1, "embd_pdrop": 0.1, "attn_pdrop": 0.1}
DROPS_OUTSIDE = {**DROPS, "attn_pdrop": 0.0}
LLAMA = {"model_type": "llama", "vocab_size": 61, "max_position_embeddings": 64, "hidden_size": 32, "head_dim": 4,
         "intermediate_size": 40, "num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 4,
         "hidden_act": "silu", "initializer_range": 0.08, "tie_word_embeddings": False, "attention_bias": True,
         "mlp_bias": True}
NARROW = {**LLAMA, "num_attention_heads": 4, "hidden_size": 16}
GROUPED = {**LLAMA, "num_key_value_heads": 2}
WINDOW = {**{key: value for key, value in LLAMA.items() if "bias" not in key}, "model_type": "mistral",
          "sliding_window": 5}
# The model of reference/attention_masks.mlir without its bias: slopes, these masks and, unless keys pass by, lengths of
# samples.
PREFIXED = {"model_type": "masked", "masks": "causal prefix 5"}
SLOPED = {"model_type": "masked", "masks": "causal"}
AROUND = {"model_type": "masked", "masks": "sliding 4"}
LATE = {"model_type": "masked", "masks": "causal sliding 3"}

EXCHANGED, GATHERED, RING = "all-to-all", "all-gather", "ring"
# Each case is: config, kind, other keys of --fix, optimizer.
CASES = [
    (GPT2, EXCHANGED, {"cp": 2}, "sgd"),
    (LLAMA, EXCHANGED, {"cp": 2}, "sgd"),
    (LLAMA, EXCHANGED, {"cp": 4}, "sgd"),
    (GROUPED, EXCHANGED, {"cp": 4}, "sgd"),  # kv heads are repeated
    (DROPS, EXCHANGED, {"cp": 2, "dp": 2}, "sgd"),
    (WINDOW, EXCHANGED, {"cp": 2, "zero": 1}, "sgd"),
    (LLAMA, EXCHANGED, {"cp": 2, "tp": 2}, "sgd"),
    (LLAMA, EXCHANGED, {"cp": 2, "tp": 2, "sp": 1, "zero": 3}, "sgd"),
    (GPT2, EXCHANGED, {"cp": 2, "tp": 2, "sp": 1}, "sgd"),
    (GPT2, EXCHANGED, {"cp": 2, "dp": 2, "zero": 1}, "sgd"),
    (LLAMA, EXCHANGED, {"cp": 2, "dp": 2, "zero": 2, "micro_batch": 2}, "sgd"),
    (LLAMA, EXCHANGED, {"cp": 4, "zero": 3, "recompute": "full"}, "sgd"),
    (LLAMA, EXCHANGED, {"cp": 2, "dp": 4, "zero": 1, "zero_group": 2}, "sgd"),
    (GPT2, EXCHANGED, {"cp": 2, "pp": 2, "recompute": "full"}, "sgd"),
    (DROPS, EXCHANGED, {"cp": 2, "tp": 2, "pp": 2, "recompute": "selective"}, "sgd"),
    (LLAMA, EXCHANGED, {"cp": 2, "zero": 1, "recompute": "selective"}, "adamw"),
    (GPT2, GATHERED, {"cp": 2}, "sgd"),
    (LLAMA, GATHERED, {"cp": 4}, "sgd"),
    (GROUPED, GATHERED, {"cp": 4, "tp": 2}, "sgd"),
    (LLAMA, GATHERED, {"cp": 2, "tp": 2, "sp": 1, "zero": 3, "recompute": "selective"}, "sgd"),
    (GPT2, GATHERED, {"cp": 2, "dp": 2, "zero": 2, "micro_batch": 2}, "sgd"),
    (LLAMA, GATHERED, {"cp": 4, "pp": 2, "zero": 2, "recompute": "full"}, "sgd"),
    (GPT2, GATHERED, {"cp": 2, "tp": 2, "pp": 2, "recompute": "full"}, "sgd"),
    (GPT2, GATHERED, {"cp": 4, "zero": 2}, "lamb"),
    (DROPS_OUTSIDE, GATHERED, {"cp": 2, "tp": 2, "sp": 1}, "sgd"),
    (WINDOW, GATHERED, {"cp": 2}, "sgd"),
    (WINDOW, GATHERED, {"cp": 4, "tp": 2, "zero": 3, "recompute": "full"}, "sgd"),
    (WINDOW, GATHERED, {"cp": 2, "pp": 2, "precision": "bf16"}, "sgd"),
    (WINDOW, GATHERED, {"cp": 2, "target": "simt"}, "sgd"),
    (PREFIXED, GATHERED, {"cp": 2, "recompute": "full"}, "sgd"),
    (SLOPED, GATHERED, {"cp": 4, "tp": 2, "zero": 1}, "sgd"),
    (AROUND, GATHERED, {"cp": 4, "dp": 2}, "sgd"),
    (LATE, GATHERED, {"cp": 2, "target": "simt", "recompute": "full"}, "sgd"),
    (GPT2, RING, {"cp": 2}, "sgd"),
    (LLAMA, RING, {"cp": 4}, "sgd"),
    (GROUPED, RING, {"cp": 4, "tp": 2}, "sgd"),
    (LLAMA, RING, {"cp": 2, "tp": 4, "zero": 1}, "sgd"),  # gradients of kv heads are sums over tp
    (LLAMA, RING, {"cp": 2, "tp": 2, "sp": 1, "zero": 3, "recompute": "selective"}, "sgd"),
    (GPT2, RING, {"cp": 2, "dp": 2, "zero": 2, "micro_batch": 2}, "sgd"),
    (LLAMA, RING, {"cp": 4, "pp": 2, "zero": 2, "recompute": "full"}, "sgd"),
    (GPT2, RING, {"cp": 2, "tp": 2, "pp": 2, "recompute": "full"}, "sgd"),
    (LLAMA, RING, {"cp": 4, "zero": 3, "overlap": 0}, "adamw"),
    (DROPS_OUTSIDE, RING, {"cp": 2, "dp": 2}, "sgd"),
    (WINDOW, RING, {"cp": 2, "zero": 1}, "sgd"),
    (WINDOW, RING, {"cp": 4, "tp": 2, "recompute": "full"}, "sgd"),
    (WINDOW, RING, {"cp": 2, "pp": 2, "precision": "bf16"}, "sgd"),
    (WINDOW, RING, {"cp": 2, "target": "simt"}, "sgd"),
    (PREFIXED, RING, {"cp": 4}, "sgd"),
    (AROUND, RING, {"cp": 4, "tp": 2, "recompute": "full"}, "sgd"),
    (SLOPED, RING, {"cp": 2, "dp": 2}, "sgd"),
    (LLAMA, EXCHANGED, {"cp": 2, "precision": "bf16"}, "sgd"),
    (LLAMA, GATHERED, {"cp": 2, "precision": "bf16"}, "sgd"),
    (LLAMA, RING, {"cp": 4, "precision": "bf16"}, "sgd"),
    (LLAMA, EXCHANGED, {"cp": 2, "target": "simt"}, "sgd"),
    (LLAMA, GATHERED, {"cp": 2, "target": "simt"}, "sgd"),
    (LLAMA, RING, {"cp": 2, "target": "simt"}, "sgd"),
    ({**GROUPED, "num_hidden_layers": 1}, RING, {"cp": 4, "target": "simt", "recompute": "full"}, "sgd"),
]


def write_model(folder, config, rng, kind):
    """Writes the files of a case as write_case does."""
    if config["model_type"] != "masked":
        return write_case(folder, config, rng)
    text = (REFERENCE / "attention_masks.mlir").read_text().replace(" bias %bias", "")
    text = text.replace("tensor<1x4x16x16xf32>,", "").replace("causal prefix 5", config["masks"])
    if kind == RING:
        text = text.replace(" lengths %lengths", "").replace("2x6xf32>, tensor<?xi32>,", "2x6xf32>,")
    _, data = write_case(folder, {"model_type": "masked"}, rng)
    path = folder / "model.mlir"
    path.write_text("".join(line for line in text.splitlines(True) if "%bias" not in line))
    return path, data


def heads_of(config):
    if config["model_type"] == "masked":
        return 2, 4, 2, 7  # of keys 8, of values 6
    if config["model_type"] == "gpt2":
        return config["n_layer"], config["n_head"], config["n_head"], config["n_embd"] // config["n_head"]
    return (config["num_hidden_layers"], config["num_attention_heads"], config["num_key_value_heads"],
            config["head_dim"])


def formula(config, kind, fix):
    """Returns the bytes that a rank sends in a step along cp. To exchange: of its share of queries, keys,
    values and results all but what stays, and of their gradients. To gather: its part of keys and values to each other
    rank, forward and backward, and their gradients to the ranks that own them. A ring sends as much: keys and values
    of all ranks but one on to the next rank, forward and backward, and sums of their gradients, in f32.
    """
    layers, heads, kv_heads, head_dim = heads_of(config)
    cp, samples = fix["cp"], 2 * fix["micro_batch"]
    copies = cp * fix["tp"] // math.gcd(kv_heads, cp * fix["tp"])
    part = layers * samples * SEQUENCE // cp * head_dim // fix["tp"]  # elements of one head
    size = 2 if fix.get("precision") == "bf16" else 4
    if kind == EXCHANGED:
        return 2 * part * size * (2 * heads + 2 * kv_heads * copies) * (cp - 1) // cp
    return (2 * size + (4 if kind == RING else size)) * part * 2 * kv_heads * (cp - 1)


def check_bytes(dte, config, kind, fix, what):
    (program,) = json.loads(dtc("inspect", dte, "--format", "json"))["programs"]
    sent = [entry for entry in program["communication"]
            if entry["group"] in ("cp", "cp ring") and entry["role"] == "activation"]
    # Each micro-batch gathers the gradient of learned positions, with that of tp under sequence parallelism.
    table = 0 if fix.get("sp") else SEQUENCE * config.get("n_embd", 0) * 4
    positions = 2 * table * (fix["cp"] - 1) // fix["cp"]
    kinds = {EXCHANGED: {"all_to_all"}, GATHERED: {"all_gather", "reduce_scatter"}, RING: {"send"}}[kind]
    if {entry["kind"] for entry in sent} != kinds | ({"all_gather"} if positions else set()):
        sys.exit(f"FAILED: {what}: {sent}, wanted {kinds} alone")
    found, wanted = sum(entry["bytes"] for entry in sent) - positions, formula(config, kind, fix)
    if found != wanted:
        sys.exit(f"FAILED: {what}: a rank sends {found} bytes of parts of sequences in a step, wanted {wanted}: {sent}")
    explained = json.loads(dtc("explain", dte, "--format", "json"))["collectives"]
    parts = sum(entry["bytes"] * entry["runs"] for entry in explained
                if entry["axis"] == "cp" and entry["what"].startswith("layer, "))
    has_copies = kind == EXCHANGED and heads_of(config)[2] % fix["cp"] != 0  # plans count no copies of kv heads
    if not has_copies and parts * (fix["cp"] - 1) != found * fix["cp"]:
        sys.exit(f"FAILED: {what}: a rank sends {found} bytes of parts of sequences in a step, planned were others: "
                 f"{explained}")


def run_case(index):
    config, kind, fix, optimizer = CASES[index]
    fix = {"cp_kind": kind, "dp": 1, "tp": 1, "pp": 1, "micro_batch": 1, "recompute": "none", **fix}
    ranks = fix["dp"] * fix["tp"] * fix["pp"] * fix["cp"]
    what = f"case {index}: {config['model_type']}, {fix}, {optimizer}"
    os.environ["DTC_EMULATED_GPU"] = "1" if "target" in fix else "0"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, data = write_model(folder, config, random.Random(index), kind)
        batch = 2 * fix["dp"] * fix["micro_batch"]
        difference = match_one_device(folder, path, SEQUENCE, batch, optimizer, ranks, fix, data, index, what)
        if fix["pp"] == 1 and fix["recompute"] == "none" and config["model_type"] != "masked":
            check_bytes(folder / f"r{ranks}.dte", config, kind, fix, what)
        return difference


def check_own_choice():
    """Two ranks of one sample and one stage share its sequence without a pin that asks for it, by a kind that the
    attention of the model permits.
    """
    length, pins = 1024, {"tp": 1, "pp": 1}
    kinds = {"send", "all_to_all", "all_gather"}
    for config in (LLAMA, WINDOW):
        config = {**config, "max_position_embeddings": length, "num_hidden_layers": 1}
        what = f"{config['model_type']} of {length} tokens without a pin of cp"
        with tempfile.TemporaryDirectory() as name:
            path, data = write_case(Path(name), config, random.Random(1))
            match_one_device(Path(name), path, length, 1, "sgd", 2, pins, data, 1, what)
            inspected = json.loads(dtc("inspect", Path(name) / "r2.dte", "--format", "json"))
            (program,) = inspected["programs"]
            sent = {entry["kind"] for entry in program["communication"] if entry["role"] == "activation"}
            if inspected["mesh"].get("cp") != 2 or not sent & kinds:
                sys.exit(f"FAILED: {what}: mesh {inspected['mesh']} with {sent}, wanted cp=2 with one of {kinds}")


MIXTRAL = {"model_type": "mixtral", "vocab_size": 61, "max_position_embeddings": 64, "hidden_size": 16,
           "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 4,
           "num_local_experts": 4, "num_experts_per_tok": 2}


def check_refusals():
    with tempfile.TemporaryDirectory() as name:
        for config, length, fix, wanted in (
                (GPT2, SEQUENCE, "cp=4,cp_inner=2", ["use --fix cp_kind=ring, all-to-all or all-gather"]),
                (DROPS, SEQUENCE, "cp=2,cp_kind=ring", ["has dropout", "plan with --fix cp_kind=all-to-all"]),
                (DROPS, SEQUENCE, "cp=2,cp_kind=all-gather", ["has dropout", "plan with --fix cp_kind=all-to-all"]),
                (LLAMA, SEQUENCE, "cp=4,tp=4", ["the 2 tokens of a part of a sequence can't be cut into 4 equal",
                                                "use tp=2"]),
                (GPT2, 14, "cp=4", ["a sequence of 14 tokens can't be cut into 2 x 4 equal parts"]),
                (NARROW, SEQUENCE, "cp=8,cp_kind=all-to-all", ["do not divide the 4 kv heads of the model"]),
                (MIXTRAL, SEQUENCE, "cp=2", ["a model with experts, which dtc can't compile", "use cp=1"])):
            path, _ = write_case(Path(name), config, random.Random(1))
            result = subprocess.run([BIN / "dtc", "compile", path, "--seq-len", str(length), "--topology", "cpu",
                                     "--devices", "16", "--global-batch", "16", "--fix", fix, "-o", "x.dte"],
                                    cwd=name, capture_output=True, text=True)
            if result.returncode != 1 or any(text not in result.stderr for text in wanted):
                sys.exit(f"FAILED: {fix}: exit code {result.returncode}, wanted {wanted}:\n{result.stderr}")


if __name__ == "__main__":
    run_listed_cases(__doc__, len(CASES), run_case, check_refusals, check_own_choice)

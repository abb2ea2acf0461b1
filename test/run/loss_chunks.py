#!/usr/bin/env python3
"""A loss in chunks of tokens is that of all tokens at once, and needs less memory.

1. Losses, norms, gradients and parameters of plans with loss_chunks are those of one device without, within the
   tolerance of any plan (any_plan.py): under dp, tp with a vocabulary that ranks share and pad, sp, pp with several
   schedules, ZeRO and cp, for heads that are tied or not, capped logits, ignored targets, and a loss beside them that
   reads the logits, too. Evaluations give the same loss.
2. The arena of a program shrinks by the logits and their gradients that are not there any more, and the plan says
   the bytes of the arena.
3. Ranks send each other the same bytes as without chunks.
"""
import json
import math
import random
import sys
import tempfile
from pathlib import Path

from any_plan import RATES, compare_runs, run_steps, train_once, write_case
from dtc_tools import compare_steps, dtc, train
from inputs import beside_z_loss, ignoring

SEQUENCE, BATCH = 16, 8
GPT2 = {"model_type": "gpt2", "vocab_size": 61, "n_positions": SEQUENCE, "n_embd": 36, "n_layer": 2, "n_head": 3,
        "initializer_range": 0.08, "resid_pdrop": 0.1, "embd_pdrop": 0.1, "attn_pdrop": 0.1}
LLAMA = {"model_type": "llama", "vocab_size": 97, "max_position_embeddings": SEQUENCE, "hidden_size": 24,
         "intermediate_size": 50, "num_hidden_layers": 2, "num_attention_heads": 6, "num_key_value_heads": 2,
         "hidden_act": "silu", "initializer_range": 0.08, "tie_word_embeddings": False}
GEMMA = {"model_type": "gemma2", "vocab_size": 64, "max_position_embeddings": SEQUENCE, "hidden_size": 24,
         "intermediate_size": 50, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
         "head_dim": 8, "query_pre_attn_scalar": 8, "sliding_window": 8, "initializer_range": 0.08,
         "attn_logit_softcapping": 5.0, "final_logit_softcapping": 3.0}


def ignored(text):
    return ignoring(text, 7)


def beside(text):
    return beside_z_loss(text, 7, SEQUENCE, counted=True)


# Each case is: model, change of its graph, pins.
CASES = [(GPT2, None, {"micro_batch": 8, "loss_chunks": 4}),
         (GPT2, None, {"micro_batch": 2, "loss_chunks": 4}),
         (GEMMA, None, {"micro_batch": 4, "loss_chunks": 2, "recompute": "full"}),
         (LLAMA, ignored, {"dp": 2, "micro_batch": 2, "loss_chunks": 8}),
         (GPT2, beside, {"dp": 2, "zero": 1, "micro_batch": 1, "loss_chunks": 2}),
         (GPT2, None, {"tp": 2, "micro_batch": 4, "loss_chunks": 4}),
         (LLAMA, beside, {"tp": 2, "sp": 1, "micro_batch": 2, "loss_chunks": 4}),
         (GEMMA, None, {"tp": 3, "micro_batch": 8, "loss_chunks": 2}),
         (LLAMA, None, {"dp": 2, "zero": 2, "micro_batch": 2, "loss_chunks": 4}),
         (GPT2, None, {"dp": 4, "zero": 3, "zero_group": 2, "micro_batch": 1, "loss_chunks": 4}),
         (LLAMA, ignored, {"dp": 2, "tp": 2, "sp": 1, "zero": 3, "micro_batch": 2, "loss_chunks": 2}),
         (GPT2, None, {"pp": 2, "micro_batch": 2, "loss_chunks": 2}),
         (LLAMA, None, {"dp": 2, "pp": 2, "zero": 1, "schedule": "gpipe", "micro_batch": 2, "loss_chunks": 2}),
         (GPT2, None, {"pp": 2, "schedule": "zero-bubble", "micro_batch": 1, "loss_chunks": 4}),
         (GPT2, None, {"tp": 2, "pp": 2, "micro_batch": 2, "loss_chunks": 2}),
         (LLAMA, None, {"cp": 2, "micro_batch": 2, "loss_chunks": 2})]
GAP, MOST_TENSORS = 64, 3  # the output layer, its norm, and a norm's bias
WIDE = {"vocab_size": 8192, "n_embd": 32, "n_layer": 1, "n_head": 2, "n_positions": 64}


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def compile_case(folder, path, fix, name):
    """Compiles the plan for these pins, with the chunks written into it: a plan for less memory may differ in more."""
    fix, plan, dte = {"dp": 1, "tp": 1, "pp": 1, **fix}, folder / f"{name}.json", folder / f"{name}.dte"
    chunks, devices = fix.pop("loss_chunks", 1), math.prod(fix.get(axis, 1) for axis in ("dp", "tp", "pp", "cp"))
    common = [path, *([] if path.suffix == ".mlir" else ["--seq-len", SEQUENCE]), "--topology", "cpu", "--devices",
              devices, "--global-batch", BATCH]
    pins = ",".join(f"{key}={value}" for key, value in fix.items())
    dtc("plan", *common, "--optimizer", "adamw", "--fix", pins, "-o", plan)
    plan.write_text(json.dumps({**json.loads(plan.read_text()), "loss_chunks": chunks}))
    dtc("compile", *common, "--epsilon", 1e-3, "--plan", plan, "-o", dte)
    return dte, devices, json.loads(dtc("inspect", dte, "--format", "json"))["programs"]


def sent(programs):
    """Returns the bytes that a rank of each program sends in a step, by group, kind and role."""
    return [{(each["group"], each["kind"], each["role"]): each["bytes"] for each in program["communication"]}
            for program in programs]


def is_as_much(found, wanted):
    """Returns whether ranks send as much, but for the gaps between tensors of a bucket: chunks change which gradients
    of the output layer, and which gathers of it, are in one. A tensor begins at a multiple of GAP bytes.
    """
    def fits(key, mine, others):
        return mine == others if key[2] not in ("gradient", "parameter") else abs(mine - others) < GAP * MOST_TENSORS
    return [sorted(mine) for mine in found] == [sorted(others) for others in wanted] and all(
        fits(key, mine[key], others[key]) for mine, others in zip(found, wanted) for key in mine)


def model_of(folder, config, change):
    """Writes a model, as graph IR where its loss is changed, and its text."""
    path, data = write_case(folder, config, random.Random(1))
    if not change:
        return path, data
    graph = folder / "model.mlir"
    dtc("import", path, "--seq-len", SEQUENCE, "-o", graph)
    graph.write_text(change(graph.read_text()))
    return graph, data


def run_case(folder, config, change, fix):
    path, data = model_of(folder, config, change)
    what = " ".join([config["model_type"], change.__name__ if change else "",
                     *(f"{key}={value}" for key, value in fix.items())])
    without = {key: value for key, value in fix.items() if key != "loss_chunks"}
    whole = compile_case(folder, path, without, "whole")
    dte, ranks, programs = compile_case(folder, path, fix, "chunks")
    found, wanted = sent(programs), sent(whole[2])
    check(is_as_much(found, wanted), f"{what}: ranks send {found}, without chunks {wanted}")
    found = run_steps(folder, dte, ranks, data, 3, RATES["adamw"])
    wanted = train_once(lambda: run_steps(folder, compile_case(folder, path, {"micro_batch": BATCH}, "one")[0], 1, data,
                                          3, RATES["adamw"]), "one device", path, data)
    return compare_runs(found, wanted, what)


def check_evaluation(folder):
    path, data = model_of(folder, GPT2, None)
    losses = []
    for chunks in (1, 4):
        dte, ranks, _ = compile_case(folder, path, {"dp": 2, "micro_batch": 2, "loss_chunks": chunks}, "evaluated")
        lines = train(dte, ranks, data, 3, "--seed", 3, "--lr", 1e-2, "--eval-data", data, "--eval-every", 1)
        losses.append([line["eval_loss"] for line in lines if "eval_loss" in line])
    check(len(losses[0]) == 3, f"{len(losses[0])} evaluations")
    compare_steps(losses[1], losses[0], 1e-4, "loss of evaluations")


def check_memory(folder):
    """Checks the arenas of one micro-batch of 8 samples of 64 tokens with 8192 words, whose logits are 16 MiB."""
    path = folder / "config.json"
    path.write_text(json.dumps({**GPT2, **WIDE}))
    logits = 8 * 64 * WIDE["vocab_size"] * 4
    arenas = {}
    for chunks in (1, 2, 4, 8, 16):
        dte = folder / "memory.dte"
        dtc("compile", path, "--seq-len", 64, "--topology", "cpu", "--devices", 1, "--global-batch", BATCH, "--fix",
            f"micro_batch=8,loss_chunks={chunks}", "-o", dte)
        arenas[chunks] = json.loads(dtc("inspect", dte, "--format", "json"))["programs"][0]["arena_bytes"]
        peak = json.loads(dtc("explain", dte, "--format", "json"))["peak_memory_bytes"]
        check(peak == arenas[chunks], f"{chunks} chunks: the plan says {peak} bytes, the arena has {arenas[chunks]}")
    # Logits and their gradients share memory with other tensors once they are small.
    for fewer, more in ((1, 2), (2, 4)):
        saved, least = arenas[fewer] - arenas[more], logits / fewer - logits / more
        check(saved >= 0.9 * least, f"{more} chunks save {saved} bytes over {fewer}, wanted {least:.0f}")
    check(arenas[16] <= arenas[8] <= arenas[4], f"more chunks need more memory: {arenas}")
    return arenas


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        worst = max(run_case(folder, *case) for case in CASES)
        check_evaluation(folder)
        arenas = check_memory(folder)
    print(f"{len(CASES)} plans with a loss in chunks differ from one device by {worst:.2e} at most; 16 chunks need "
          f"{arenas[16] / arenas[1]:.2f} of the memory of one")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Pipelines train like one process: every schedule, with dp, tp, sp, ZeRO-1, dropout and uneven stages.

1. GPT-2, whose embedding is on the first and the last stage, and Llama, untied and with fewer kv heads than heads:
   losses, gradients and parameters of every case of CASES are those of one process (compare_runs of any_plan.py).
2. A plan with stages that were edited by hand trains equally, and one whose layers are on the wrong stages is
   refused.
3. --eval-data prints one process's loss; parameters that a pipeline dumps start one process, and the other way round.
"""
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from any_plan import TOLERANCE, compare_runs, run_one, run_steps
from dtc_tools import BIN, as_bytes, compare_steps, dtc, read_safetensors, train

SEQUENCE, SEED = 16, 5
GPT2 = {"model_type": "gpt2", "vocab_size": 61, "n_positions": SEQUENCE, "n_embd": 24, "n_layer": 5, "n_head": 4,
        "initializer_range": 0.08, "resid_pdrop": 0.1, "embd_pdrop": 0.1, "attn_pdrop": 0.1}
LLAMA = {"model_type": "llama", "vocab_size": 61, "max_position_embeddings": SEQUENCE, "hidden_size": 32,
         "intermediate_size": 40, "num_hidden_layers": 8, "num_attention_heads": 4, "num_key_value_heads": 2,
         "hidden_act": "silu", "initializer_range": 0.08, "tie_word_embeddings": False}

SHORT = {**GPT2, "n_layer": 2}

# Each case is: model, --fix without pp and micro_batch = 1, pp, micro-batches. Zero-bubble with two virtual stages is
# ZB-V.
CASES = [
    (GPT2, {"schedule": "1f1b"}, 2, 1),
    (GPT2, {"schedule": "1f1b"}, 2, 4),
    (GPT2, {"schedule": "gpipe"}, 2, 3),
    (GPT2, {"schedule": "interleaved", "virtual_stages": 2}, 2, 4),
    (GPT2, {"schedule": "zero-bubble"}, 2, 4),
    (GPT2, {"schedule": "zero-bubble", "virtual_stages": 2}, 2, 5),
    (GPT2, {"schedule": "zb-2p"}, 2, 4),
    (GPT2, {"schedule": "v-half"}, 2, 4),
    (GPT2, {"schedule": "1f1b", "dp": 2, "zero": 1}, 2, 2),
    (GPT2, {"schedule": "1f1b", "tp": 2, "sp": 1}, 2, 2),
    (GPT2, {"schedule": "zero-bubble", "virtual_stages": 2, "dp": 2, "tp": 2}, 2, 3),
    (GPT2, {"schedule": "1f1b", "recompute": "full"}, 2, 3),
    (LLAMA, {"schedule": "interleaved", "virtual_stages": 2, "recompute": "selective", "tp": 2, "sp": 1}, 2, 4),
    (LLAMA, {"schedule": "1f1b"}, 4, 8),
    (LLAMA, {"schedule": "gpipe"}, 4, 2),
    (LLAMA, {"schedule": "interleaved", "virtual_stages": 2}, 4, 6),
    (LLAMA, {"schedule": "zero-bubble", "tp": 2}, 4, 5),
    (LLAMA, {"schedule": "zero-bubble", "virtual_stages": 2}, 4, 8),
    (LLAMA, {"schedule": "v-half", "tp": 2, "recompute": "selective"}, 4, 8),
    (LLAMA, {"schedule": "v-min", "dp": 2, "zero": 3}, 4, 6),
    (LLAMA, {"schedule": "interleaved", "virtual_stages": 4, "dp": 2}, 2, 4),
    # This case has sums within groups and between them, of two chunks of a stage.
    (LLAMA, {"schedule": "interleaved", "virtual_stages": 2, "dp": 4, "zero": 1, "zero_group": 2}, 2, 3),
    # Two layers are in four chunks: embedding and head have one each.
    (SHORT, {"schedule": "1f1b", "tp": 2}, 4, 4),
    (SHORT, {"schedule": "interleaved", "virtual_stages": 2, "dp": 2, "zero": 1}, 2, 2),
    (SHORT, {"schedule": "zero-bubble", "virtual_stages": 2, "recompute": "full"}, 2, 4),
]


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def run_case(folder, data, model, fix, pp, count, one):
    degrees = {"dp": 1, "tp": 1, **fix, "pp": pp, "micro_batch": 1}
    ranks, batch = degrees["dp"] * degrees["tp"] * pp, degrees["dp"] * count
    key = (json.dumps(model), batch)
    if key not in one:
        one[key] = run_one(folder, write(folder, model), SEQUENCE, batch, "adamw", 1,
                           {"dp": 1, "tp": 1, "pp": 1, "micro_batch": batch}, data, SEED)
    what = f"{model['model_type']} {degrees} x{count}"
    found = run_one(folder, write(folder, model), SEQUENCE, batch, "adamw", ranks, degrees, data, SEED)
    worst = compare_runs(found, one[key], what)
    print(f"{what}: {worst:.2e}", flush=True)
    return worst


def write(folder, model):
    path = folder / f"{model['model_type']}.json"
    path.write_text(json.dumps(model))
    return path


def cut_by_hand(folder, data, one):
    """Checks stages of 4 and 1 layers, and refuses layers in the wrong order."""
    model, flags = write(folder, GPT2), ["--seq-len", SEQUENCE, "--topology", "cpu", "--devices", 2, "--epsilon", 1e-3]
    path, dte = folder / "plan.json", folder / "cut.dte"
    dtc("plan", model, *flags[:-2], "--global-batch", 4, "--fix", "dp=1,tp=1,pp=2,micro_batch=1,schedule=1f1b", "-o",
        path)
    plan = json.loads(path.read_text())

    def cut(*runs):
        for stage, (first, last) in zip(plan["stages"], runs):
            stage.update(layers=[first, last], chunks=[[first, last]], recompute=["none"] * (last - first + 1))
        path.write_text(json.dumps(plan))
        command = [BIN / "dtc", "compile", model, *flags, "--plan", path, "-o", dte]
        return subprocess.run([str(part) for part in command], capture_output=True, text=True)

    compiled = cut((0, 3), (4, 4))
    check(compiled.returncode == 0, f"cut by hand: {compiled.stderr}")
    worst = compare_runs(run_steps(folder, dte, 2, data, SEED, 1e-2), one[(json.dumps(GPT2), 4)],
                         "stages of 4 and 1 layers")
    print(f"stages of 4 and 1 layers: {worst:.2e}", flush=True)
    refused = cut((2, 4), (0, 1))
    check(refused.returncode == 1 and "the plan has layers from 2 on in stage 0, where chunk 0 of a '1f1b' pipeline "
          "begins "
          "with layer 0" in refused.stderr, f"layers on the wrong stage: {refused.stderr}")


def evaluate_and_start(folder, data):
    """Checks losses of other data, and parameters that are handed on."""
    model, programs = write(folder, GPT2), {}
    for pp in 1, 2:
        programs[pp] = folder / f"pp{pp}.dte"
        schedule = ",schedule=zero-bubble,virtual_stages=2" if pp > 1 else ""
        dtc("compile", model, "--seq-len", SEQUENCE, "--topology", "cpu", "--devices", pp, "--global-batch", 4,
            "--epsilon", 1e-3, "--fix", f"dp=1,tp=1,pp={pp},micro_batch=1{schedule}", "-o", programs[pp])
    flags = ["--seed", SEED, "--lr", 1e-2, "--threads", 1]
    evaluations, dumps = {}, {}
    for pp, dte in programs.items():
        dumps[pp] = folder / f"pp{pp}.safetensors"
        lines = train(dte, pp, data, 4, *flags, "--eval-data", data, "--eval-every", 2, "--dump-params", dumps[pp])
        evaluations[pp] = [line["eval_loss"] for line in lines if "eval_loss" in line]
    check(len(evaluations[1]) >= 2, f"{len(evaluations[1])} evaluations")
    compare_steps(evaluations[2], evaluations[1], TOLERANCE, "evaluation in a pipeline")
    for pp, dte in programs.items():
        lines = train(dte, pp, data, 2, *flags, "--init", dumps[3 - pp])
        evaluations[pp] = [line["loss"] for line in lines]
    compare_steps(evaluations[2], evaluations[1], TOLERANCE, "loss after --init")
    names = [sorted(read_safetensors(dump)) for dump in dumps.values()]
    check(names[0] == names[1], f"parameters {set(names[0]) ^ set(names[1])} are in one file only")


def main():
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as name:
        folder, one = Path(name), {}
        data = folder / "text.txt"
        data.write_bytes(bytes(rng.randrange(61) for _ in range(4000)))
        worst = [run_case(folder, as_bytes(data), *case, one) for case in CASES]
        cut_by_hand(folder, as_bytes(data), one)
        evaluate_and_start(folder, as_bytes(data))
    print(f"{len(worst)} pipelines train like one process, largest difference {max(worst):.2e}, at most {TOLERANCE:g}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Layers that recompute differently train like one device, save what their kind saves, and send what they repeat.

The plans are those of `dtc plan`, with the list of what each layer recomputes changed by hand: as a pipeline of
mixtures would have it, and worse, one kind after every other. Dropout is on, so that a mask drawn anew would show. In
16 bits the bound of the difference is how far rounding moves each number (rounding.py).
"""
import json
import random
import sys
import tempfile
from pathlib import Path

from any_plan import compare_rounded, compare_runs, draw_rounding, run_one, run_steps, train_once, write_case
from dtc_tools import dtc

LAYERS, SEQUENCE = 4, 16
GPT2 = {"model_type": "gpt2", "vocab_size": 61, "n_positions": SEQUENCE, "n_embd": 24, "n_layer": LAYERS, "n_head": 4,
        "activation_function": "gelu_new", "initializer_range": 0.08, "tie_word_embeddings": True, "resid_pdrop": 0.1,
        "embd_pdrop": 0.1, "attn_pdrop": 0.1}
N, S, F = "none", "selective", "full"
A, L = "selective+attention", "selective+linear"
# Each case is: dp, tp, sp, zero, samples of a micro-batch, micro-batches, layers, precision.
CASES = [(1, 1, 0, 0, 2, 2, [F, F, N, N], "f32"), (1, 1, 0, 0, 1, 1, [F, S, N, F], "f32"),
         (1, 2, 0, 0, 2, 1, [S, S, F, N], "f32"), (2, 1, 0, 1, 1, 3, [N, F, N, S], "f32"),
         (2, 2, 1, 1, 1, 2, [F, N, S, S], "f32"), (2, 1, 0, 3, 1, 2, [F, S, N, F], "bf16"),
         (1, 2, 1, 0, 2, 1, [N, S, F, S], "f16"), (1, 1, 0, 0, 2, 2, [L, A, L, A], "f32"),
         (1, 2, 1, 0, 1, 2, [A, L, F, N], "f32"), (2, 2, 0, 3, 1, 2, [L, S, A, L], "f32"),
         (2, 1, 0, 3, 1, 2, [A, L, L, F], "bf16")]
RATE, SEED = 1e-2, 1


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def compile_plan(folder, config, flags, plan, kinds):
    """Returns the program of the plan with these kinds of layers, and the output of `dtc inspect` on it."""
    plan = {**plan, "recompute": kinds[0] if len(set(kinds)) == 1 else "mixed",
            "stages": [{**plan["stages"][0], "recompute": kinds}]}
    path, dte = folder / "plan.json", folder / "model.dte"
    path.write_text(json.dumps(plan))
    dtc("compile", config, *flags, "--plan", path, "--epsilon", 1e-3, "-o", dte)
    (program,) = json.loads(dtc("inspect", dte, "--format", "json"))["programs"]
    return dte, program


def sent(program):
    """Returns the all-reduces and gathers of activations in a step."""
    return sum(each["count"] for each in program["communication"]
               if each["role"] == "activation" and each["kind"] != "reduce_scatter")


def run_case(folder, case):
    dp, tp, sp, zero, micro, count, kinds, precision = case
    what, batch = f"dp={dp} tp={tp} sp={sp} zero={zero} {kinds} {precision}", dp * micro * count
    config, data = write_case(folder, GPT2, random.Random(what))
    flags = ["--seq-len", SEQUENCE, "--topology", "cpu", "--devices", dp * tp, "--global-batch", batch,
             "--precision", precision]
    fix = f"dp={dp},tp={tp},sp={sp},zero={zero},micro_batch={micro},recompute=none"
    dtc("plan", config, *flags, "--fix", fix, "-o", folder / "none.json")
    plan = json.loads((folder / "none.json").read_text())
    kept, gathers = {}, {}
    for kind in (N, S, A, L, F):
        _, program = compile_plan(folder, config, flags, plan, [kind] * LAYERS)
        kept[kind], gathers[kind] = program["memory"]["activation"], sent(program)
    dte, program = compile_plan(folder, config, flags, plan, kinds)
    check(kept[F] < kept[L] < kept[S] < kept[N] and kept[F] < kept[A] < kept[S], f"{what}: activations of {kept} bytes")
    bounds = [sum(kept[kind] for kind in kinds) / LAYERS * share for share in (0.8, 1.2)]
    check(bounds[0] < program["memory"]["activation"] < bounds[1],
          f"{what}: {program['memory']['activation']} bytes of activations, whole models have {kept}")
    # Each layer that recomputes matmuls repeats as many collectives; cheap ops and attention repeat none.
    repeated = gathers[N] + sum((gathers[kind] - gathers[N]) // LAYERS for kind in kinds)
    check(gathers[S] == gathers[A] == gathers[N] and gathers[L] == gathers[F] and sent(program) == repeated
          and (tp == 1 or gathers[F] > gathers[N]),
          f"{what}: {sent(program)} collectives, whole models have {gathers}")
    found = run_steps(folder, dte, dp * tp, data, SEED, RATE)
    one = {"dp": 1, "tp": 1, "micro_batch": batch, "precision": precision}
    wanted = train_once(lambda: run_one(folder, config, SEQUENCE, batch, "adamw", 1, one, data, SEED), "one device",
                        config, data, batch, precision)
    if precision == "f32":
        difference = compare_runs(found, wanted, what)
    else:
        draws = train_once(lambda: draw_rounding(folder, config, SEQUENCE, batch, "adamw", one, data, SEED, tp),
                           "rounding", config, data, batch, precision, tp)
        difference = compare_rounded(found, wanted, draws, precision, what)
    print(f"{what}: within {difference:.1e} of one device, {kept[N]} to "
          f"{program['memory']['activation']} bytes of activations", flush=True)


def main():
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            run_case(Path(folder), case)
    print(f"{len(CASES)} mixtures of layers train like one device")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""The bounds of rounding find planted faults: addends of sums and gradients that are left out, or counted twice.

1. One device trains a model in slices (partial_sums.py), and one matrix product of one rank is left out, or counted
   twice: beside one device that trains the model itself, this is a fault for compare_rounded of any_plan.py. Without
   a planted fault there is none.
2. One rank's addend of a gradient that ranks of data parallelism add up is left out, or counted twice, in one
   parameter at a time: a fault for the bounds of --precision bf16 or f16 and of --grad-dtype bf16 together, and so
   for the first alone, which is less.
"""
import copy
import itertools
import random
import re
import sys
import tempfile
from pathlib import Path

from any_plan import (RATES, as_graph, compile_plan, compare_rounded, draw_rounding, reduction_bound, run_one,
                      run_steps, write_case)
from partial_sums import in_parts

SEED, SEQUENCE = 3, 8
GPT2 = {"model_type": "gpt2", "vocab_size": 61, "n_positions": SEQUENCE, "n_embd": 24, "n_layer": 1, "n_head": 4,
        "activation_function": "gelu_new", "initializer_range": 0.08, "resid_pdrop": 0.0, "embd_pdrop": 0.0,
        "attn_pdrop": 0.0, "tie_word_embeddings": True}
LLAMA = {"model_type": "llama", "vocab_size": 61, "max_position_embeddings": SEQUENCE, "hidden_size": 24, "head_dim": 4,
         "intermediate_size": 30, "num_hidden_layers": 1, "num_attention_heads": 6, "num_key_value_heads": 3,
         "hidden_act": "silu", "initializer_range": 0.08, "tie_word_embeddings": False, "attention_bias": False,
         "mlp_bias": False}
WRITTEN = {"model_type": "written", "vocab_size": 64, "width": 18, "n_layer": 2, "shared": True, "skip": True,
           "positions": False, "tied": False, "penalty": "", "penalty_form": "squares"}
# Each case is: model, precision, ranks of tensor parallelism, of data parallelism, optimizer.
CASES = [(GPT2, "bf16", 2, 4, "adamw"), (LLAMA, "f16", 3, 2, "sgd"), (WRITTEN, "bf16", 9, 9, "lamb")]
# This pattern finds the second partial sum of a product and the sum that it is added to; the rest of the line has its
# type.
ADDED = re.compile(r"^    (%\w+)_s1x(\d+) = graph\.add (%\w+), (%\w+) : \(([^,]*), [^\n]*\n", re.MULTILINE)
LEAST = 1e-3  # smallest gradient with planted faults, as a share of the root mean square of all


def leave_out(found, product):
    name, place, partial, _, kind = found.groups()
    return found.group() if name != product else f"    {name}_s1x{place} = graph.scale {partial} by 1.0 : {kind}\n"


def count_twice(found, product):
    name, place, partial, added, kind = found.groups()
    if name != product:
        return found.group()
    return (f"    {name}_t{place} = graph.add {partial}, {added} : ({kind}, {kind}) -> {kind}\n"
            f"    {name}_s1x{place} = graph.add {name}_t{place}, {added} : ({kind}, {kind}) -> {kind}\n")


def finds(found, wanted, draws, precision, what, reduction=0.0):
    """Returns true if the comparison ends the test."""
    try:
        compare_rounded(found, wanted, draws, precision, what, reduction)
    except SystemExit:
        return True
    return False


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def check_partial_sums(folder, text, model, one, wanted, draws, ranks):
    """Returns the number of faults that were planted in the products of the model, all of which were found."""
    precision, planted, parts = one["precision"], 0, in_parts(text, ranks)
    products = sorted({found.group(1) for found in ADDED.finditer(parts)})
    check(len(products) >= 3, f"the model has the products {products}")
    for product, fault in [("", leave_out), *itertools.product(products, (leave_out, count_twice))]:
        path, dte = folder / "planted.mlir", folder / "planted.dte"
        path.write_text(ADDED.sub(lambda found: fault(found, product), parts))
        compile_plan(dte, path, SEQUENCE, model["batch"], model["optimizer"], 1, one)
        found = run_steps(folder, dte, 1, model["data"], SEED, RATES[model["optimizer"]])
        what = f"{fault.__name__} of '{product}' over {ranks} ranks in {precision}"
        check(finds(found, wanted, draws, precision, what) == bool(product),
              f"{what}: the bounds {'miss' if product else 'find'} it")
        planted += bool(product)
    return planted


def check_gradients(part, wanted, draws, precision, ranks):
    """Returns the number of faults that were planted in the gradients, all of which were found."""
    values = [value for _, of_one in wanted.gradients[1].values() for value in of_one]
    least, planted = LEAST * (sum(value * value for value in values) / len(values)) ** 0.5, 0
    for name, (shape, gradient) in wanted.gradients[1].items():
        if (sum(value * value for value in gradient) / len(gradient)) ** 0.5 < least:
            continue  # the gradient of a bias of keys is zero except for rounding
        for sign in (-1, 1):
            found = copy.copy(wanted)
            of_rank = part.gradients[1][name][1]
            faulty = (shape, [value + sign * other / ranks for value, other in zip(gradient, of_rank, strict=True)])
            found.gradients = {**wanted.gradients, 1: {**wanted.gradients[1], name: faulty}}
            check(finds(found, wanted, draws, precision, name, reduction_bound(ranks)),
                  f"a part of 1 / {ranks} of the gradient of '{name}' in {precision}, "
                  f"{'left out' if sign < 0 else 'counted twice'}: the "
                  "bounds miss it")
            planted += 1
    return planted


def run_case(folder, config, precision, tp, dp, optimizer):
    path, data = write_case(folder, config, random.Random(SEED), SEQUENCE)
    one = {"dp": 1, "tp": 1, "micro_batch": dp, "precision": precision}
    wanted = run_one(folder, path, SEQUENCE, dp, optimizer, 1, one, data, SEED)
    part = run_one(folder, path, SEQUENCE, 1, optimizer, 1, {**one, "micro_batch": 1}, data, SEED)
    draws = draw_rounding(folder, path, SEQUENCE, dp, optimizer, one, data, SEED, tp)
    model = {"batch": dp, "optimizer": optimizer, "data": data}
    sums = check_partial_sums(folder, as_graph(path, SEQUENCE).read_text(), model, one, wanted, draws, tp)
    return sums, check_gradients(part, wanted, draws, precision, dp)


def main():
    for case in CASES:
        with tempfile.TemporaryDirectory() as name:
            sums, parts = run_case(Path(name), *case)
        config, precision, tp, dp, optimizer = case
        print(f"{config['model_type']} in {precision} with {optimizer}: found are {sums} faults in partial sums of "
              f"{tp} ranks, {parts} in "
              f"gradients of {dp}", flush=True)


if __name__ == "__main__":
    main()

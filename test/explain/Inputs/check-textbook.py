#!/usr/bin/env python3
"""Checks that tensor parallelism sends what Megatron's layers send, and nothing else.

  check-textbook.py EXPLANATION.json --activation BYTES [--sp]

EXPLANATION.json is what `dtc explain --format json` prints of a plan of a dense model whose layers are all on one
stage, without recomputation of products. BYTES are those of one activation of a micro-batch on the ranks of tensor
parallelism together.
"""
import argparse
import json
from collections import Counter

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("explanation")
parser.add_argument("--activation", type=float, required=True)
parser.add_argument("--sp", action="store_true")
options = parser.parse_args()

with open(options.explanation) as file:
    explanation = json.load(file)
layers = sum(last - first + 1 for first, last in explanation["chunks"])

found, once = Counter(), []
for each in explanation["collectives"]:
    if each["axis"] != "tp":
        continue
    if each["what"].startswith("layer, "):
        assert each["bytes"] == options.activation, f"{each['what']}: {each['kind']} of {each['bytes']} bytes"
        found[each["what"].removeprefix("layer, "), each["kind"]] += each["runs"]
    elif "once a step" in each["what"]:
        once.append(each["kind"])
    else:  # rows of the loss have three numbers each
        small = each["what"] == "head, forward" and each["kind"] == "all-reduce"
        assert small or each["bytes"] == options.activation, f"{each['what']}: {each['kind']} of {each['bytes']} bytes"

if options.sp:
    wanted = {("forward", "all-gather"): 2, ("forward", "reduce-scatter"): 2,
              ("backward", "all-gather"): 4, ("backward", "reduce-scatter"): 2}
else:
    wanted = {("forward", "all-reduce"): 2, ("backward", "all-reduce"): 2}
assert set(found) == set(wanted), f"collectives of a layer: {dict(found)}"
# Each runs once a layer and micro-batch.
passes = {key: runs / layers / wanted[key] for key, runs in found.items()}
assert len(set(passes.values())) == 1, f"runs of a layer's collectives: {dict(found)}"
each = next(iter(passes.values()))
assert each >= 1 and each == int(each), f"runs of a layer's collectives: {dict(found)}"
assert once == (["all-reduce"] if options.sp else []), f"once a step: {once}"

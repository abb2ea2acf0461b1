"""Checks a plan whose stages share the vocabulary out against the same one whose stages do not.

usage: compare-vocabularies.py SHARED.json WHOLE.json
"""
import json
import sys

shared, whole = (json.load(open(path)) for path in sys.argv[1:3])
words, width, stages = 128256, 4096, 8  # sizes of Llama 3 8B


def parameters(plan):
    return [stage["memory"]["parameters"] // 2 for stage in plan["stages"]]  # each has 2 bytes


rows = words * width
layers = sum(parameters(whole)) - 2 * rows
per_layer = layers / 32
for stage, own in zip(shared["stages"], parameters(shared)):
    first, last = stage["layers"]
    least = (last - first + 1) * per_layer * 0.999 + 2 * rows / stages
    assert least <= own <= least + 0.01 * per_layer, (stage["layers"], own, least)
assert [s["in_flight"] for s in shared["stages"]] == [stages - i + 1 for i in range(stages)]
assert [s["in_flight"] for s in whole["stages"]] == [stages - i for i in range(stages)]
# 32 layers are four a stage; with the output layer on the last stage they are not.
assert len({s["layers"][1] - s["layers"][0] for s in shared["stages"]}) == 1
assert len({s["layers"][1] - s["layers"][0] for s in whole["stages"]}) > 1
assert shared["predicted"]["step_time_s"] < whole["predicted"]["step_time_s"]

"""Prints a plan's word for what layers recompute, and checks that it follows from the lists of its stages.

check-recompute.py PLAN.json...
"""
import json
import sys

for path in sys.argv[1:]:
    with open(path) as file:
        plan = json.load(file)
    layers = {word for stage in plan["stages"] for word in stage["recompute"]}
    word = layers.pop() if len(layers) == 1 else "mixed"
    assert plan["recompute"] == word, f"{path}: recompute is {plan['recompute']}, its stages say {word}"
    print(word)

"""Checks that the JSON of 'dtc diff A B' adds up: check-diff.py A.json B.json DIFF.json"""
import json
import sys

a, b, diff = (json.load(open(path)) for path in sys.argv[1:4])
assert diff["schema"] == "dtc.diff/1"
step_a, step_b = (plan["predicted"]["step_time_s"] for plan in (a, b))
step = diff["step_time_s"]
assert (step["a"], step["b"]) == (step_a, step_b)
assert abs(step["share"] - (step_b / step_a - 1)) < 1e-12
# The parts of a step make up the step, so that their changes make up its change.
parts = sum(part["change"] for part in diff["time"])
assert abs(parts - step["change"]) < 1e-6 * step_a, (parts, step["change"])
changes = [abs(part["change"]) for part in diff["time"]]
assert changes == sorted(changes, reverse=True)
memory = sum(part["change"] for part in diff["memory"])
assert memory == diff["peak_memory_bytes"]["change"], memory
for decision in diff["decisions"]:
    if decision["key"] in a["mesh"]:
        assert int(decision["a"]) == a["mesh"][decision["key"]]
        assert int(decision["b"]) == b["mesh"][decision["key"]]
moved = {
    (name, axis)
    for name in a["tensors"]
    for axis in a["tensors"][name]
    if a["tensors"][name][axis] != b["tensors"][name].get(axis, "replicate")
}
assert sum(group["count"] for group in diff["tensors"]) == len(moved)

"""Checks the costs of pins against plans made without them: check-pins.py PLAN.json KEY=WITHOUT.json..."""
import json
import sys

plan = json.load(open(sys.argv[1]))
others = dict(argument.split("=", 1) for argument in sys.argv[2:])
step = plan["predicted"]["step_time_s"]
pins = {pin["key"]: pin for pin in plan["search"]["pins"]}
assert sorted(pins) == sorted(others), (sorted(pins), sorted(others))
for key, path in others.items():
    without = json.load(open(path))["predicted"]["step_time_s"]
    pin = pins[key]
    assert pin["exhaustive"]
    assert abs(pin["step_time_without_s"] - without) <= 1e-9 * without, (key, pin, without)
    assert abs(pin["costs_s"] - (step - without)) <= 1e-9 * step
    assert without <= step

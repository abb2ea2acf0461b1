"""Edits a good plan in one place at a time; each edit must be refused in one line that names the key, by every reader.

  check-mistakes.py PLAN.json FOLDER
"""
import copy
import json
import subprocess
import sys
from pathlib import Path

# Each edit is: the path in the plan, the new value, the expected message.
EDITS = [
    ("mesh.pp", 3, "'mesh' is dp 1 x tp 2 x pp 3 x cp 1, wanted the 8 devices"),
    ("mesh.pp", 2**39, "'mesh' is dp 1 x tp 2 x pp 549755813888 x cp 1, wanted the 8 devices"),
    ("mesh.dp", 2**63, "'dp' is 9223372036854775808, wanted a whole number of 1 or more"),
    ("mesh.dp", 2.5, "'dp' is 2.5, wanted a whole number of 1 or more"),
    ("mesh.ep", 3, "'ep' is 3 with dp 1, cp 1, tp 2, etp tp: ep has to divide dp x cp"),
    ("topology.devices", 10**9, "'devices' is 1000000000, wanted at most 1048576"),
    ("topology.nodes", 9, "'nodes' is 9, more than the 8 devices"),
    ("num_micro_batches", 10**9,
     "'global_batch' is 64, but dp x micro_batch x num_micro_batches is 1 x 8 x 1000000000"),
    ("zero", 9, "'zero' is 9, wanted 0 to 3"),
    ("schedule", "fast", "'schedule' is wrong: there is no schedule 'fast'"),
    ("virtual_stages", 3, "'virtual_stages' is 3 with schedule 1f1b: 1f1b has at most 1 virtual stage"),
    ("axis_order", "tp tp dp pp", "'axis_order' is 'tp tp dp pp', wanted tp, cp, dp and pp in some order"),
    ("recompute", "some", "'recompute' is 'some', wanted one of mixed, none, selective"),
    ("precision", "fp3", "'precision' is 'fp3', wanted one of f32, bf16, f16"),
    ("optimizer", "adam", "'optimizer' is 'adam', wanted one of adamw, sgd, lamb, lars, muon"),
    ("stages", [], "'stages' has 0 stages, wanted pp = 4"),
    ("stages.0.layers", [5, 2], "'layers' is [5, 2] of some stage, wanted where its chunks begin and end"),
    ("stages.1.chunks", [[3, 5]], "'layers' is [4, 7] of some stage"),
    ("stages.0.ranks", "all", "'ranks' has 0 ranks in some stage, wanted devices / pp = 2"),
    ("stages.0.ranks", [0, 10**12], "'ranks' has 1000000000000, wanted ranks from 0 to 7"),
    ("stages.0.ranks", [1, 0], "'ranks' has 0 after 1, wanted each rank in one stage, ascending"),
    ("stages.0.ranks", [6, 7], "'ranks' has 6 in two stages, wanted each rank in one stage, ascending"),
    ("stages.0.forward_s", -1.0, "'forward_s' is -1.0, wanted a number from 0 to 1e30"),
    ("stages.0.in_flight", 1e300, "'in_flight' is 1e+300, wanted a number from 0 to 1e30"),
    ("predicted.step_time_s", 0, "'step_time_s' is 0, wanted a positive number of seconds"),
    ("tensors.transformer/wte/weight.tp", "split", "is placed 'split' on axis 'tp', wanted replicate or shard(DIM)"),
    ("tensors.transformer/wte/weight.zz", "replicate", "is placed on axis 'zz', wanted dp, tp, pp, cp or ep"),
]



def stage_twice(text):
    plan = json.loads(text)
    plan["stages"][1] = plan["stages"][0]
    return json.dumps(plan, indent=1)


def without_stages(text):
    """Returns the plan without its stages, and with the time of a boundary between them."""
    plan = json.loads(text)
    del plan["stages"]
    plan["predicted"]["transfers_s"] = [1]
    return json.dumps(plan, indent=1)


TEXTS = [
    (without_stages, "'stages' is missing"),
    (stage_twice, "'layers' has the run [0, 3] in some stage"),
    (lambda text: text[: len(text) // 2], "not JSON from here on"),
    (lambda text: text.replace('"step_time_s": ', '"step_time_s": NaN, "x": '), "not JSON from here on (near '"),
    (lambda text: text.replace('"step_time_s": ', '"step_time_s": 1e400, "x": '),
     "not JSON from here on (near '1e400')"),
    (lambda text: "[" * 100000, "the JSON is nested deeper than 64 levels"),
    (lambda text: "[]", "a plan is one JSON object"),
    (lambda text: "", "not JSON from here on"),
]


def edited(plan, path, value):
    plan = copy.deepcopy(plan)
    keys = [key.replace("/", ".") for key in path.split(".")]
    place = plan
    for key in keys[:-1]:
        place = place[int(key) if isinstance(place, list) else key]
    place[keys[-1]] = value
    return json.dumps(plan, indent=1)


def check(text, message, folder, good):
    bad, trace = folder / "bad.json", folder / "trace.json"
    bad.write_text(text)
    commands = [["simulate", bad, "--trace", trace], ["diff", good, bad], ["explain", bad]]
    if text.startswith("{"):  # otherwise inspect takes the file for an executable
        commands.append(["inspect", bad])
    for command in commands:
        run = subprocess.run(["dtc", *command], capture_output=True, text=True, timeout=60)
        lines = run.stderr.splitlines()
        shown = f"{command[0]}: exit {run.returncode}, {run.stderr[:500]!r}, wanted {message!r}"
        assert run.returncode == 1 and not run.stdout and not trace.exists(), shown
        assert len(lines) == 1 and lines[0].startswith(f"{bad}:") and message in lines[0], shown


def main():
    good, folder = Path(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(exist_ok=True)
    text = good.read_text()
    plan = json.loads(text)
    for path, value, message in EDITS:
        check(edited(plan, path, value), message, folder, good)
    for change, message in TEXTS:
        check(change(text), message, folder, good)
    print(f"{len(EDITS) + len(TEXTS)} mistakes named")


main()

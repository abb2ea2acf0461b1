"""Checks that all-reduces over tp take longer in the second trace of the same step, whose tp is across nodes."""
import json
import sys


def seconds(path):
    """Returns the seconds of the first event of each name."""
    found = {}
    for event in json.load(open(path))["traceEvents"]:
        if (event.get("cat") == "transfer" and event["pid"] == 0
            and event["name"].startswith("all_reduce of activations over tp ")):
            found.setdefault(event["name"], event["dur"])
    return found


inside, across = seconds(sys.argv[1]), seconds(sys.argv[2])
both = set(inside) & set(across)
assert both, (inside, across)
assert all(across[name] > 1.5 * inside[name] for name in both), (inside, across)

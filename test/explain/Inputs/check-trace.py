"""Checks a trace of 'dtc simulate' against its JSON: check-trace.py PLAN.json SIMULATION.json TRACE.json"""
import collections
import json
import sys

plan, simulation, trace = (json.load(open(path)) for path in sys.argv[1:4])
events = trace["traceEvents"]
slices = [event for event in events if event["ph"] == "X"]
stages, micro_batches = plan["mesh"]["pp"], plan["num_micro_batches"]

# Every stage has every micro-batch once forward and once backward.
names = collections.defaultdict(list)
for event in slices:
    names[event["pid"]].append(event["name"])
for stage in range(stages):
    for kind in "FB":
        tasks = [name for name in names[stage] if name[0] == kind and name[1:].isdigit()]
        assert sorted(tasks) == sorted(kind + str(m) for m in range(micro_batches)), tasks

# The last slice ends with the step, and tasks of one stream do not overlap.
end = max(event["ts"] + event["dur"] for event in slices) / 1e6
assert abs(end - simulation["makespan_s"]) < 1e-6 * end, (end, simulation["makespan_s"])
streams = collections.defaultdict(list)
for event in slices:
    streams[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
for tasks in streams.values():
    tasks.sort()
    for before, after in zip(tasks, tasks[1:]):
        assert before[1] <= after[0] + 2e-3, (before, after)

# The memory track peaks where the plan says.
for stage, planned in enumerate(plan["stages"]):
    samples = [e["args"]["bytes"] for e in events if e["ph"] == "C" and e["pid"] == stage]
    peak = simulation["stages"][stage]["peak_memory_bytes"]
    assert max(samples) == peak
    assert abs(peak - planned["peak_memory_bytes"]) <= 1e-3 * peak + 64, (stage, peak, planned["peak_memory_bytes"])

"""Checks 'dtc explain --format json': check-explain.py PLAN.json STAGE.json... (of all stages, in order)"""
import json
import sys

plan, *stages = (json.load(open(path)) for path in sys.argv[1:])
assert len(stages) == len(plan["stages"])
step = plan["predicted"]["step_time_s"]
mesh = plan["mesh"]
flops = 0
for index, (stage, planned) in enumerate(zip(stages, plan["stages"])):
    assert stage["stage"] == index and stage["ranks"] == planned["ranks"]
    # The parts are the step, and the kinds of memory the peak.
    assert abs(sum(stage["step"].values()) - step) < 1e-6 * step, (index, stage["step"], step)
    assert sum(stage["memory"].values()) == planned["peak_memory_bytes"]
    # The planner's own sum for the stage has the ops and, in parts of few ops, waiting for launches.
    ops, other = sum(op["step_s"] for op in stage["ops"]), stage["step"]["other_s"]
    assert abs(ops + other - planned["compute_s"]) < 1e-9, (ops, other, planned["compute_s"])
    assert -1e-9 < other < (0.05 if index == 0 else 1e-6) * ops, (index, other, ops)
    for op in stage["ops"]:
        assert abs(op["step_s"] - op["runs"] * op["seconds"]) < 1e-12
        if op["joined"] or op["measured"]:
            continue
        terms = (op["launch_s"] + max(op["compute_s"], op["memory_s"])) / op["software_share"]
        assert abs(op["seconds"] - terms) <= 1e-9 * terms, op
        if "tile" in op:
            product = 2 * op["batch"] * op["m"] * op["n"] * op["k"]
            assert abs(op["flops"] - product) < 1e-9 * product, op
            use = ("sustained", "tile_efficiency", "tile_use", "wave_use", "depth_use", "aligned_use")
            rate = op["peak_flops_per_s"]
            for factor in use:
                assert 0 < op[factor] <= 1, (factor, op)
                rate *= op[factor]
            assert abs(op["compute_s"] - op["flops"] / rate) < 1e-9 * op["compute_s"], op
    for collective in stage["collectives"]:
        assert abs(collective["step_s"] - collective["runs"] * collective["seconds"]) < 1e-9
    # Causal attention does half of what model flops count.
    ranks = mesh["tp"] * mesh["dp"]
    flops += ranks * sum(
        op["runs"] * op["flops"] * (2 if op["op"].startswith("attention") else 1)
        for op in stage["ops"]
        if "m" in op
    )
# All stages together do the model's flops; the last rank of tp has a row of padding.
wanted = plan["model"]["flops_per_step"]
assert abs(flops - wanted) < 1e-4 * wanted, (flops, wanted)

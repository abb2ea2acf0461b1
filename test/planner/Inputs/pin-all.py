"""Pins every decision of chosen plans: each stack has to accept them all, and to plan the same.

Prints the number of plans.

pin-all.py CONFIGS STACK...
"""
import json
import subprocess
import sys

# Each problem is: model, tokens, nodes of 8 H100, samples, earlier pins.
PROBLEMS = [("gpt2", 1024, 1, 64, ""), ("gpt2", 1024, 1, 64, "pp=2"), ("mixtral-8x7b", 4096, 4, 128, "pp=1")]


def plan(command, pins):
    fix = ["--fix", pins] if pins else []
    return subprocess.run([*command, *fix], capture_output=True, text=True, check=False)


def pins_of(plan):
    """Returns every key of --fix for which the plan has one value."""
    pins = {key: plan["mesh"][key] for key in ("dp", "tp", "pp", "cp", "ep")}
    if "etp" in plan["mesh"]:
        pins["etp"] = 1
    for key in ("sp", "zero", "micro_batch", "schedule", "virtual_stages", "placement"):
        pins[key] = plan[key]
    pins["zero_group"], pins["vocab_over_pp"] = plan.get("zero_group", 0), plan.get("vocab_over_pp", 0)
    pins["overlap"], pins["offload"] = int(plan["overlap_gradients"]), int(plan["offload_optimizer"])
    if plan["overlap_gradients"] and plan["bucket_bytes"] > 0:
        pins["bucket_mib"] = plan["bucket_bytes"] >> 20
    if plan["recompute"] != "mixed":
        pins["recompute"] = plan["recompute"]
    on_host = plan.get("offload_activations", "none")
    if on_host != "some":
        pins["offload_activations"] = int(on_host == "all")
    pins["axis_order"] = plan["axis_order"].replace(" ", "-")
    for key in ("cp_kind", "cp_inner"):
        if key in plan:
            pins[key] = plan[key]
    return ",".join(f"{key}={value}" for key, value in pins.items())


def main():
    configs, *stacks = sys.argv[1:]
    count, wrong = 0, []
    for stack in stacks:
        for model, tokens, nodes, batch, before in PROBLEMS:
            command = ["dtc", "plan", f"{configs}/{model}.json", "--seq-len", str(tokens), "--topology", "dgx-h100",
                       "--nodes", str(nodes)]
            command += ["--global-batch", str(batch), "--precision", "bf16", "--stack", stack, "--format", "json"]
            made = plan(command, before)
            if made.returncode != 0:
                wrong.append(f"{stack} {model} {before}: {made.stderr}")
                continue
            chosen = json.loads(made.stdout)
            pins = pins_of(chosen)
            again = plan(command, pins)
            count += 1
            if again.returncode != 0:
                wrong.append(f"{stack} {model} --fix {pins}: {again.stderr}")
                continue
            seconds = [each["predicted"]["step_time_s"] for each in (chosen, json.loads(again.stdout))]
            if abs(seconds[1] / seconds[0] - 1) > 1e-3:
                wrong.append(f"{stack} {model} --fix {pins}: {seconds[1]} s, chosen {seconds[0]} s")
    print(f"{count} plans, {len(wrong)} that are not accepted as they were chosen")
    sys.exit("\n".join(wrong) or 0)


main()

"""Plans for a launcher's stack are plans that the launcher accepts.

Whatever is pinned, either planning refuses the pin, or the export is whole. Prints the number of plans.
"""
import itertools
import subprocess
import sys
import tempfile
from pathlib import Path

CONFIGS = Path(__file__).parents[2] / "models" / "configs"
LAUNCHERS = {"megatron-core": "megatron-lm", "megatron-bridge": "megatron-bridge", "torchtitan": "torchtitan",
             "deepspeed": "deepspeed", "maxtext": "maxtext"}
# Each problem is: model, tokens, nodes of 8 H100, samples. They are one node, small batches, experts.
PROBLEMS = [("gpt2", 1024, 1, 64), ("llama-3-8b", 8192, 8, 8), ("mixtral-8x7b", 4096, 8, 128)]
PINS = ["", "cp=2", "offload=1", "zero=0", "zero=1", "pp=2", "tp=2,pp=1"]


def run(*command):
    return subprocess.run(["dtc", *map(str, command)], capture_output=True, text=True, check=False)


def main():
    planned = 0
    wrong = []
    plan = Path(tempfile.mkdtemp()) / "plan.json"
    for (model, tokens, nodes, batch), (stack, launcher), pins in itertools.product(PROBLEMS, LAUNCHERS.items(), PINS):
        fix = ["--fix", pins] if pins else []
        made = run("plan", CONFIGS / f"{model}.json", "--seq-len", tokens, "--topology", "dgx-h100", "--nodes", nodes,
                   "--global-batch", batch, "--precision", "bf16", "--stack", stack, *fix, "-o", plan)
        if made.returncode != 0:
            if not made.stderr.startswith(("error: --fix", "error: global batch", "error: no plan fits")):
                wrong.append(f"{stack} {model} {pins}: {made.stderr}")
            continue
        planned += 1
        told = run("export", plan, "--to", launcher)
        if told.returncode != 0:
            wrong.append(f"{stack} {model} {pins}: {told.stderr}")
    print(f"{planned} plans, {len(wrong)} that their launcher can't be told")
    sys.exit("\n".join(wrong) or 0)


main()

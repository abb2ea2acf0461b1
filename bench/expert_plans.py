#!/usr/bin/env python3
"""Plans of mixtures of experts on H100 and B200, each beside the published recipe that is nearest to it.

Usage: expert_plans.py [--table PUBLISHED.csv] [--model NAME] [--system NAME] [--gpus N]
       [--search-seconds S]. Models are those of the
catalogue, sequences have 4,096 tokens, plans are bf16. `dtc compile` does not take all of them: Mixtral's experts have
a capacity, and cp beside experts is only planned. The recipe of a row is that of
the same model and GPU whose sequence is nearest to 4,096, of these the one with the nearest number of GPUs, of these
one in bf16 before others, of these the fastest; where none has this GPU, of any GPU of NVIDIA. A plan has as many
tokens a GPU as the recipe. The last column is what the planner says of the recipe's own mesh on the row's GPUs:
`--fix` of its tp, pp, cp and ep, all else being chosen. A row is printed as soon as its plans are there.
"""

import argparse
import csv
import json
import math
import os
import subprocess
import sys
from pathlib import Path

from about import commit, machine

ROOT = Path(__file__).resolve().parent.parent
SEQUENCE, OF_NODE = 4096, 8
SYSTEMS = {"dgx-h100": "H100", "dgx-b200": "B200"}
# The names that a model has in the table, in lower case and without hyphens and spaces, and the number of its experts.
MODELS = {"mixtral-8x7b": (("mixtral8x7b",), 8), "mixtral-8x22b": (("mixtral8x22b",), 8),
          "gpt-oss-120b": (("gptoss120b",), 128), "qwen3-235b-a22b": (("qwen3235ba22b",), 128),
          "deepseek-v3": (("deepseekv3", "dsv3", "deepseekv3671b"), 256)}
MESH = ("dp", "tp", "pp", "cp", "ep")


def recipes_of(table, model):
    """Returns the rows of the table that have a mesh and a figure for the model."""
    names, experts = MODELS[model]
    with Path(table).open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [row for row in rows if row["model"].lower().replace("-", "").replace(" ", "") in names
            and row["moe_experts"] == str(experts) and row["gpu"].startswith(("H", "B", "G"))
            and all(row[key] for key in ("n_gpus", "global_batch", "tp", "pp"))
            and (row["tokens_per_s_per_gpu"] or row["mfu"] or row["tflops_per_gpu"])]


def nearest(recipes, gpu, count):
    """Returns the recipe that is beside a plan for a number of GPUs; None if there are no recipes."""
    same = [row for row in recipes if row["gpu"].split("-")[0] == gpu]

    def distance(row):
        length = int(row["seq_len"] or SEQUENCE)
        return (abs(math.log(length / SEQUENCE)), abs(math.log(int(row["n_gpus"]) / count)), row["precision"] != "bf16",
                -float(row["tokens_per_s_per_gpu"] or 0), -float(row["mfu"] or 0))

    return min(same or recipes, key=distance, default=None)


def plan(model, system, count, batch, fix, seconds):
    """Returns the plan of a model, or the reason in a line why there is none."""
    command = [Path(os.environ.get("DTC_BIN", ROOT / "build/bin")) / "dtc", "plan", model, "--seq-len", str(SEQUENCE),
               "--topology", system, "--nodes", str(count // OF_NODE), "--global-batch", str(batch),
               "--search-seconds", str(seconds), "--format", "json", *(["--fix", fix] if fix else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0 and done.stdout:
        return json.loads(done.stdout)
    return (done.stderr.strip().splitlines() or ["no plan"])[0]


def text_of_mesh(of):
    return " ".join(f"{key} {of[key]}" for key in MESH if of.get(key) and (key == "dp" or int(of[key]) > 1))


def text_of_plan(found, batch, count):
    if isinstance(found, str):
        return found.removeprefix("error: ")
    predicted, rate = found["predicted"], batch * SEQUENCE / count
    if not predicted["fits"]:
        return "does not fit"
    cut = " (search cut short)" if found["search"]["ended_by"] == "seconds" else ""
    return (f"{text_of_mesh(found['mesh'])}, ZeRO-{found['zero']}, {found['recompute']}: "
            f"{predicted['step_time_s']:.2f} s, {rate / predicted['step_time_s']:,.0f} tokens/s/GPU, "
            f"{predicted['peak_memory_bytes'] / 1e9:.0f} GB{cut}")


def text_of_recipe(recipe):
    figure = (f"{float(recipe['tokens_per_s_per_gpu']):,.0f} tokens/s/GPU" if recipe["tokens_per_s_per_gpu"]
              else f"MFU {recipe['mfu']} %" if recipe["mfu"] else f"{recipe['tflops_per_gpu']} TFLOP/s/GPU")
    return (f"{recipe['n_gpus']} {recipe['gpu']}, {recipe['seq_len'] or 'unknown'} tokens, {text_of_mesh(recipe)}, "
            f"{recipe['precision']}: {figure} ({recipe['source']})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", default=ROOT.parent / "shared/data/published.csv")
    parser.add_argument("--model", choices=MODELS)
    parser.add_argument("--system", choices=SYSTEMS)
    parser.add_argument("--gpus", type=int, choices=(64, 256, 512, 1024, 2048))
    parser.add_argument("--search-seconds", type=float, default=600.0, help="as that of dtc plan")
    options = parser.parse_args()
    if not Path(options.table).is_file():
        sys.exit(f"expert_plans.py: there is no {options.table}; give the table of published figures with --table")
    print(f"# {machine()['cpu']}, {commit()}")
    print("| model | GPUs | samples | dtc's plan | published recipe | the recipe's mesh, planned |")
    print("| --- " * 6 + "|")
    for model in [options.model] if options.model else MODELS:
        recipes = recipes_of(options.table, model)
        for count in [options.gpus] if options.gpus else (64, 256, 2048):
            for system in [options.system] if options.system else SYSTEMS:
                recipe = nearest(recipes, SYSTEMS[system], count)
                if not recipe:
                    sys.exit(f"expert_plans.py: {options.table} has no recipe of {model}")
                tokens = int(recipe["global_batch"]) * int(recipe["seq_len"] or SEQUENCE)
                batch = tokens * count // int(recipe["n_gpus"]) // SEQUENCE
                pins = ",".join(f"{key}={recipe[key]}" for key in MESH[1:] if recipe[key])
                plans = [text_of_plan(plan(model, system, count, batch, fix, options.search_seconds), batch, count)
                         for fix in ("", pins)]
                print(f"| {model} | {count} {SYSTEMS[system]} | {batch} | {plans[0]} | {text_of_recipe(recipe)} | "
                      f"{plans[1]} |", flush=True)


if __name__ == "__main__":
    main()

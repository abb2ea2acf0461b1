#!/usr/bin/env python3
"""Prints dtc's step times in RESULTS.json of measure.py as rows of published.csv.

bench/planner.sh --table compares these rows with the planner.

Usage: rows.py RESULTS.json... > bench/planner/measured.csv
"""
import csv
import sys

from measure import key_of
from report import read_results, seconds_a_step
from settings import SETTINGS

COLUMNS = ["source", "model", "n_layers", "d_model", "n_heads", "n_kv_heads", "d_ff", "vocab", "seq_len", "gpu",
           "gpus_per_node", "n_gpus", "dp", "tp", "pp", "cp", "zero_stage", "micro_batch", "global_batch", "recompute",
           "precision", "step_time_s", "notes"]


def row_of(entry, run):
    shape = SETTINGS[entry["model"]].shape
    return {"source": f"dtc on {run['device']['name']}", "model": entry["model"], "n_layers": shape.layers,
            "d_model": shape.width, "n_heads": shape.heads, "n_kv_heads": shape.kv_heads, "d_ff": shape.inner,
            "vocab": entry["vocabulary"], "seq_len": entry["sequence"],
            "gpu": run["device"]["name"].removeprefix("NVIDIA "), "gpus_per_node": 1, "n_gpus": 1, "dp": 1, "tp": 1,
            "pp": 1, "cp": 1, "zero_stage": 0, "micro_batch": entry["batch"], "global_batch": entry["samples"],
            "recompute": entry["recompute"], "precision": "bf16",
            "step_time_s": f"{seconds_a_step(entry['contenders']['dtc']):.5g}",
            "notes": f"{key_of(entry)}{'' if entry['complete'] else ', not all turns'}; shared embedding; commit "
            f"{run['commit']}; {run['date']}; driver {run['device']['driver']}"}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    rows = []
    for path in sys.argv[1:]:
        results = read_results(path)
        rows += [row_of(entry, results["runs"][entry["run"]]) for entry in results["measured"].values()
                 if entry["contenders"]["dtc"]["turns"]]
    writer = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(sorted(rows, key=lambda row: (row["model"], row["recompute"], row["global_batch"])))


if __name__ == "__main__":
    main()

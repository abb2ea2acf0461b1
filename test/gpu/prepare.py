#!/usr/bin/env python3
"""Compiles random plans of small models for a GPU and trains the same on one CPU: the half that needs dtc and no GPU.

Usage: prepare.py [--target cuda:sm_90] [--cases N] [--seed S] -o FOLDER; then check.py FOLDER on a machine with a GPU.
"""
import argparse
import pickle
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "run"))
from any_plan import FLAGS, RATES, compile_plan, draw_rounding, random_case, run_one, write_case


def prepare(folder, case, target):
    """Writes what check.py needs of a case: program, data, and what one CPU makes of it."""
    folder.mkdir(parents=True)
    case.fix.update(offload=0, target=target)
    path, data = write_case(folder, case.config, random.Random(case.seed))
    one = {"dp": 1, "tp": 1, "micro_batch": case.batch, **{key: case.fix[key] for key in FLAGS if key in case.fix and key != "target"}}
    wanted = run_one(folder, path, case.sequence, case.batch, case.optimizer, 1, one, data, case.seed)
    precision, draws = case.fix["precision"], []
    if precision != "f32":
        draws = draw_rounding(folder, folder / "r1.dte", data, case.seed, RATES[case.optimizer], precision)
    compile_plan(folder / "program.dte", path, case.sequence, case.batch, case.optimizer, case.ranks, case.fix)
    for left in [*folder.glob("*.safetensors"), folder / "r1.dte"]:
        left.unlink()
    (folder / "case.pickle").write_bytes(pickle.dumps((case, wanted, draws)))


def on_one_rank(case):
    """The same model and step on one GPU: what a machine with one and without MPI can run."""
    kept = {key: case.fix[key] for key in ("micro_batch", "recompute", "precision")}
    case.fix = {"dp": 1, "tp": 1, "pp": 1, "sp": 0, "zero": 0, **kept}
    return case


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="cuda:sm_90")
    parser.add_argument("--cases", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", dest="folder", type=Path, required=True)
    arguments = parser.parse_args()
    if arguments.folder.exists():
        sys.exit(f"prepare.py: {arguments.folder} exists; give a new folder")
    for index in range(arguments.cases):
        case = random_case(index, arguments.seed)
        prepare(arguments.folder / f"{index:03}", on_one_rank(case) if index % 2 == 0 else case, arguments.target)
    print(f"{arguments.cases} cases for {arguments.target} are in {arguments.folder}")


if __name__ == "__main__":
    main()

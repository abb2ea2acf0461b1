#!/usr/bin/env python3
"""Trains what prepare.py has compiled on this machine's GPUs and compares with one CPU: the half that needs a GPU and no dtc.

Usage: check.py FOLDER; the programs are looked for as in test/run. Exit status: 0 all match, 1 some do not, 77 there is no GPU.
"""
import argparse
import ctypes
import os
import pickle
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "run"))
import any_plan
from any_plan import RATES, compare_rounded, compare_runs, run_steps

SKIPPED = 77


def has_gpu():
    if os.environ.get("DTC_EMULATED_GPU") == "1":
        return True
    try:
        cuda, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
    except OSError:
        return False
    return cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


class Unpickler(pickle.Unpickler):
    """prepare.py's classes are any_plan's."""

    def find_class(self, module, name):
        return super().find_class(any_plan.__name__ if module in ("any_plan", "__main__") else module, name)


def check(folder):
    with open(folder / "case.pickle", "rb") as file:
        case, wanted, draws = Unpickler(file).load()
    what = f"case {folder.name}: {case}"
    found = run_steps(folder, folder / "program.dte", case.ranks, folder / "text.txt", case.seed, RATES[case.optimizer])
    if draws:
        return compare_rounded(found, wanted, draws, case.fix["precision"], what)
    return compare_runs(found, wanted, what)


def ranks_of(folder):
    with open(folder / "case.pickle", "rb") as file:
        return Unpickler(file).load()[0].ranks


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folders = sorted(path.parent for path in parser.parse_args().folder.glob("*/case.pickle"))
    if not folders:
        sys.exit("check.py: no case is there; make some with prepare.py")
    if not has_gpu():
        print("skipped: there is no NVIDIA GPU with a driver here")
        sys.exit(SKIPPED)
    runnable = [folder for folder in folders if ranks_of(folder) == 1 or shutil.which("mpirun")]
    results, failed = [], []
    for folder in runnable:
        try:
            results.append(check(folder))
        except SystemExit as failure:
            print(failure, flush=True)
            failed.append(folder.name)
    print(f"{len(results)} of {len(runnable)} cases match one CPU, largest difference {max(results, default=0):.2e}; "
          f"{len(folders) - len(runnable)} skipped for want of mpirun" + (f"; failed: {failed}" if failed else ""))
    sys.exit(1 if failed or not results else 0)


if __name__ == "__main__":
    main()

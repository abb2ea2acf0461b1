#!/usr/bin/env python3
"""Any plan trains on GPUs like one CPU.

The random models and plans of any_plan.py are compiled for CUDA's lowering, run on emulated GPUs, and compared with
one process on the CPU.

Usage: emulated_gpu.py [--cases N] [--seed S] [--only I]; the last line is the summary. The emulator checks every
access of every thread: one out of bounds, misaligned, of memory that nothing has written, or in a race with another
thread ends a run.
"""
import os
import sys

from any_plan import random_case, run_cases, try_case

SEEDS = 7  # seeds of the order in which the emulated GPU lets streams go on


def run_case(index, seed):
    case = random_case(index, seed)
    case.fix["target"] = "simt"
    os.environ["DTC_EMULATED_GPU"], os.environ["DTC_EMULATED_SEED"] = "1", str(index % SEEDS)
    os.environ["DTC_TUNING_MS"] = "100" if index % 2 else "0"  # longest time that algorithms of matmuls are measured
    return try_case(case, f"case {index}")


def main():
    _, match = run_cases(__doc__, 12, run_case, lambda results: f"largest difference {max(results, default=0):.2e}")
    sys.exit(0 if match else 1)


if __name__ == "__main__":
    main()

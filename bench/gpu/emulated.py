#!/usr/bin/env python3
"""Runs every test that executes code for GPUs on the emulated one, and prints what passed, as Markdown.

Usage: emulated.py [--build DIR] [--plans N]
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(1, str(ROOT / "bench"))
from about import commit, machine

# This maps a program of the build to the description of its tests.
PROGRAMS = {
    "GpuKernelTest": "generated kernels, against formulas",
    "GpuUnalignedKernelTest": "the same, buffers that no vector is aligned to",
    "TwinKernelTest":
        "each kind of generated kernel against its twin on the CPU, sizes 1, 31, 32, 33, 1000; coalescing",
    "LibraryKernelsTest": "programs' hand-written kernels, linked into their device code",
    "CudaKernelTest": "hand-written kernels (attention, embedding, copies) against the CPU's",
    "CudaPlanTest": "how they are launched",
    "CudaTest": "device, driver, streams, graphs, products and collectives on the fake driver, cuBLASLt and NCCL",
    "CudaLibraryTest": "instructions of a program that are no generated kernel, against the CPU",
    "SimtTest": "the emulator itself: what it finds and counts",
    "RetargetTest": "device code to code for the emulator",
    "PtxCodeTest": "PTX, and what ptxas makes of it",
}


def run_program(path):
    """Returns (tests, failed, skipped, seconds) of a GoogleTest program; None if it is not built."""
    if not path.exists():
        return None
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        began = time.monotonic()
        subprocess.run([path, f"--gtest_output=json:{report.name}", "--gtest_brief=1"], capture_output=True, text=True,
                       check=False)
        seconds = time.monotonic() - began
        text = Path(report.name).read_text()
    if not text:
        return (0, 1, 0, seconds)  # it ended before it could report anything
    said = json.loads(text)
    cases = [case for suite in said["testsuites"] for case in suite["testsuite"]]
    return len(cases), said["failures"], sum(case["result"] == "SKIPPED" for case in cases), seconds


def run_plans(build, cases):
    began = time.monotonic()
    done = subprocess.run([sys.executable, ROOT / "test/run/emulated_gpu.py", "--cases", str(cases)],
                          capture_output=True, text=True, check=False,
                          env={**os.environ, "DTC_BIN": str(build / "bin")})
    lines = done.stdout.strip().splitlines()
    passed = int(found[1]) if lines and (found := re.match(r"(\d+) of", lines[-1])) else 0
    return cases, cases - passed, 0, time.monotonic() - began, lines[-1] if lines else "no output"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--plans", type=int, default=12, help="random plans of run.emulated_gpu")
    options = parser.parse_args()
    print(f"`bench/gpu/emulated.py --plans {options.plans}`, commit {commit()}, {machine()['cpu']}.\n")
    print("| test | what | cases | passed | failed | skipped | s |\n|---|---|---|---|---|---|---|")
    rows = [(name, what, run_program(options.build / "test" / name)) for name, what in PROGRAMS.items()]
    failed = 0
    for name, what, found in rows:
        if found is None:
            print(f"| {name} | {what} | not built | | | | |")
            failed += 1
            continue
        tests, failures, skipped, seconds = found
        failed += failures
        print(f"| {name} | {what} | {tests} | {tests - failures - skipped} | {failures} | {skipped} | {seconds:.0f} |",
              flush=True)
    if options.plans:
        cases, failures, _, seconds, says = run_plans(options.build, options.plans)
        failed += failures
        print(f"| run.emulated_gpu | random models and plans on 1 to 8 ranks: {says} | {cases} | {cases - failures} | "
              f"{failures} | 0 | "
              f"{seconds:.0f} |")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

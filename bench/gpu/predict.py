#!/usr/bin/env python3
"""Predicts the models of bench/gpu on one GPU, and lists the resources of their kernels: no GPU runs anything.

Usage: predict.py [--topology dgx-h100] [--models NAME,NAME] [--arch sm_90] [--kernels FILE.md]; Markdown on standard
output.

Takes the micro-batch of settings.py with most tokens a second by the simulator, among those whose arena fits.
--kernels writes the resources of generated kernels by ptxas; bench/cuda-resources.py lists those of hand-written
ones.
"""
import argparse
import contextlib
import importlib.util
import json
import lzma
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from instructions import BOUND_BY_BYTES, LEAST_BLOCKS
from prepare import Failure, commit, compile_one, dtc
from settings import PEAK_FLOPS, SETTINGS, USUAL

ROOT = Path(__file__).resolve().parents[2]
RESERVED = 3 * 2**30  # GPU memory that a driver and its libraries reserve
MUCH = 2**20  # bytes from which on a launch with few blocks is reported
GIB = 2**30


def load_resources():
    """Loads bench/cuda-resources.py, whose name is no module's."""
    spec = importlib.util.spec_from_file_location("cuda_resources", ROOT / "bench" / "cuda-resources.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def memory_of(topology):
    described = json.loads(dtc("topology", "show", topology, "--format", "json"))
    return described["device"]["memory"]


def best_of(setting, options, memory, folder):
    """Returns the program of the fastest micro-batch that fits, and why others do not."""
    found = []
    for batch in setting.batches:
        with tempfile.TemporaryDirectory() as work:
            try:
                made = compile_one(setting, batch, options, folder, Path(work))
            except Failure as failure:
                print(f"{setting.name}, batch {batch}: {failure}", file=sys.stderr)
                continue
        if made["arena_bytes"] + RESERVED <= memory:
            found.append(made)
    return max(found, key=lambda made: made["batch"] / made["simulated_s"], default=None)


def print_steps(programs):
    print("| model | batch | planned ms | simulated ms | tokens/s, simulated | MFU full | MFU causal | arena GiB | "
          "instructions |")
    print("|---|---|---|---|---|---|---|---|---|")
    for p in programs:
        rate = p["batch"] * p["sequence"] / p["simulated_s"]
        print(f"| {p['model']} | {p['batch']} x {p['sequence']} | {p['planned_s'] * 1e3:.1f} | "
              f"{p['simulated_s'] * 1e3:.1f} | {rate:,.0f} | "
              f"{rate * p['flops_full'] / PEAK_FLOPS:.1%} | {rate * p['flops_causal'] / PEAK_FLOPS:.1%} | "
              f"{p['arena_bytes'] / GIB:.1f} | "
              f"{p['instructions']} |")


def print_shares(programs):
    kinds = sorted({kind for p in programs for kind in p["simulated"]["kinds"]},
                   key=lambda kind: -sum(p["simulated"]["kinds"].get(kind, {"seconds": 0})["seconds"] / p["simulated_s"]
                                         for p in programs))
    print("\n| kind | " + " | ".join(p["model"] for p in programs) + " |\n|---|" + "---|" * len(programs))
    for kind in kinds:
        shares = [p["simulated"]["kinds"].get(kind) for p in programs]
        cells = [f"{s['seconds'] / p['simulated_s']:.1%} ({s['seconds'] * 1e3:.2f} ms, {s['runs']})" if s else ""
                 for s, p in zip(shares, programs)]
        print(f"| {kind} | " + " | ".join(cells) + " |")


def print_few_blocks(programs):
    """Prints launches that the cost model takes for memory-bound, and that have too few blocks for it."""
    print(f"\nLaunches of {MUCH >> 20} MiB and more with fewer blocks than a GPU has multiprocessors ({LEAST_BLOCKS}):")
    print("\n| model | kind | launches | MB in all | share of the bytes that are not products' | blocks "
          "|\n|---|---|---|---|---|---|")
    for p in programs:
        launches = [each for each in p["simulated"]["kernels"] if each["kind"] in BOUND_BY_BYTES]
        whole = sum(each["bytes"] for each in launches)
        few = [each for each in launches if each["blocks"] and each["blocks"] < LEAST_BLOCKS and each["bytes_of_one"]
               >= MUCH]
        for kind in sorted({each["kind"] for each in few}):
            these = [each for each in few if each["kind"] == kind]
            blocks = sorted({each["blocks"] for each in these})
            print(f"| {p['model']} | {kind} | {sum(each['runs'] for each in these)} | "
                  f"{sum(each['bytes'] for each in these) / 1e6:.0f} | "
                  f"{sum(each['bytes'] for each in these) / whole:.1%} | {', '.join(map(str, blocks))} |")


def ptx_of(program, inspected):
    segment = next(segment for segment in inspected["segments"] if segment["kind"] == "ptx")
    return program[segment["offset"]: segment["offset"] + segment["bytes"]].rstrip(b"\0")


def generated(made, folder, arch, resources, ptxas):
    """Returns kernel -> numbers of ptxas, of the kernels that dtc has generated."""
    with tempfile.TemporaryDirectory() as work:
        file, ptx = Path(work) / "program.dte", Path(work) / "kernels.ptx"
        file.write_bytes(lzma.decompress((folder / made["file"]).read_bytes()))
        inspected = json.loads(dtc("inspect", file, "--format", "json"))
        ptx.write_bytes(ptx_of(file.read_bytes(), inspected))
        done = subprocess.run([ptxas, f"-arch={arch}", "-O3", "-v", str(ptx), "-o", str(Path(work) / "kernels.cubin")],
                              capture_output=True, text=True, check=True)
        threads = {name: int(most) for name, most in re.findall(r"\.entry (\w+)\(.*?\.reqntid (\d+)", ptx.read_text(),
                                                                re.S)}
    kernels = {name: kernel for name, kernel in resources.read_ptxas(done.stdout + done.stderr).items()
               if name.startswith("kernel_")}
    for name, kernel in kernels.items():
        kernel["threads"], kernel["dynamic"] = threads.get(name, 32), 0
    return kernels


def print_generated(programs, folder, arch):
    resources = load_resources()
    ptxas = resources.find_ptxas()
    if not ptxas:
        sys.exit("predict.py: there is no ptxas on PATH, in CUDA_HOME or in /usr/local/cuda, which --kernels asks")
    version = re.search(r"release (\S+),", resources.run([ptxas, "--version"]))[1]
    print("# Generated CUDA kernels\n\nWhat kernels that dtc generates take of a GPU, and what they move: "
          "`bench/gpu/predict.py --kernels FILE`, "
          f"ptxas {version}, commit {commit()}. Nothing here was run on a GPU.\n")
    print(f"| model | kernel | kind | runs | MB each | blocks | threads | registers | shared bytes | spills | "
          f"occupancy ({arch}) |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for p in programs:
        taken, rows = generated(p, folder, arch, resources, ptxas), {}
        for each in p["simulated"]["kernels"]:
            rows.setdefault(each["name"].partition(":")[0], each)
        for name, kernel in sorted(taken.items(), key=lambda item: int(re.search(r"\d+", item[0])[0])):
            about = rows.get(name)
            if about:
                warps = (kernel["threads"] + 31) // 32
                occupancy = resources.blocks_of(kernel, arch) * warps * 100 // resources.WARPS
                print(f"| {p['model']} | {about['name'][:50]} | {about['kind']} | {about['runs']} | "
                      f"{about['bytes_of_one'] / 1e6:.2f} | "
                      f"{about['blocks']} | {kernel['threads']} | {kernel['registers']} | {kernel['static']} | "
                      f"{kernel['spills']} | {occupancy} % |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topology", default="dgx-h100")
    parser.add_argument("--models", default=",".join(USUAL), help=f"of {', '.join(SETTINGS)}")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--kernels", type=Path, help="a file for the table of generated kernels")
    options = parser.parse_args()
    options.target = f"cuda:{options.arch}"
    for name in options.models.split(","):
        if name not in SETTINGS:
            parser.error(f"--models names '{name}', wanted some of {', '.join(SETTINGS)}")
    memory = memory_of(options.topology)
    with tempfile.TemporaryDirectory() as folder:
        found = [best_of(SETTINGS[name], options, memory, Path(folder)) for name in options.models.split(",")]
        programs = [made for made in found if made]
        print(f"`bench/gpu/predict.py --topology {options.topology} --arch {options.arch}`, commit {commit()}; no GPU "
              f"ran anything.\n")
        print_steps(programs)
        print_shares(programs)
        print_few_blocks(programs)
        if options.kernels:
            with open(options.kernels, "w") as file, contextlib.redirect_stdout(file):
                print_generated(programs, Path(folder), options.arch)
    sys.exit(0 if programs else 1)


if __name__ == "__main__":
    main()

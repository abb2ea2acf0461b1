#!/usr/bin/env python3
"""Lists the GPU resources of every hand-written CUDA kernel: registers, shared memory, spills, and occupancy.

bench/cuda-resources.py [--build DIR] [--arch sm_90] [--check] [--out FILE.md]

Compiles the bitcode of the build with opt and llc to PTX, and with ptxas to machine code. --check fails if a kernel
spills registers, keeps variables in local memory, calls an undefined function, or is missing. The exit status is 77,
with the reason, if there is no ptxas.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PTX = {"sm_80": "ptx71", "sm_90": "ptx80", "sm_100": "ptx86"}  # the first version that has the architecture
# These are the KiB of a multiprocessor; every block takes 1 of them beside its own.
SHARED = {"sm_80": 164, "sm_90": 228, "sm_100": 228}
REGISTERS, WARPS, BLOCKS = 65536, 64, 32  # resources of a multiprocessor, on all three


def find_ptxas():
    roots = [os.environ.get("CUDA_HOME"), "/usr/local/cuda"]
    found = [Path(root) / "bin/ptxas" for root in roots if root and (Path(root) / "bin/ptxas").exists()]
    return shutil.which("ptxas") or (str(found[0]) if found else None)


def run(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"cuda-resources.py: {command[0]}: {done.stderr.strip()}")
    return done.stdout + done.stderr


def resources_of(bitcode, options, ptxas):
    """Returns kernel -> numbers of ptxas, for one file."""
    with tempfile.TemporaryDirectory() as folder:
        optimised, ptx = Path(folder) / "kernels.bc", Path(folder) / "kernels.ptx"
        run([options.llvm / "opt", "-O3", bitcode, "-o", optimised])
        llc = [options.llvm / "llc", "-O3", f"-mcpu={options.arch}", f"-mattr=+{PTX[options.arch]}",
               "-fp-contract=fast"]
        run(llc + [optimised, "-o", ptx])
        if open_names := re.findall(r"^\.extern \.func.*?(\w+)\s*(?:\(|$)", ptx.read_text(), re.M):
            sys.exit(f"cuda-resources.py: {bitcode.stem} calls {', '.join(open_names)}, which it does not have")
        said = run([ptxas, f"-arch={options.arch}", "-O3", "-v", ptx, "-o", Path(folder) / "kernels.cubin"])
    return read_ptxas(said)


def read_ptxas(said):
    """Parses the output of 'ptxas -v' to kernel -> numbers."""
    kernels = {}
    for part in said.split("Compiling entry function '")[1:]:
        number = lambda pattern: int(found[1]) if (found := re.search(pattern, part)) else 0
        kernels[part.split("'")[0]] = {
            "registers": number(r"Used (\d+) registers"),
            "static": number(r"(\d+) bytes smem"),
            "stack": number(r"(\d+) bytes stack frame"),
            "spills": number(r"(\d+) bytes spill stores") + number(r"(\d+) bytes spill loads"),
        }
    return kernels


def blocks_of(kernel, arch):
    """Returns the number of blocks that fit on a multiprocessor."""
    warps = (kernel["threads"] + 31) // 32
    registers = -(-kernel["registers"] * 32 // 256) * 256 * warps  # allocated to warps in units of 256
    shared = kernel["static"] + kernel["dynamic"] + 1024
    return min(REGISTERS // registers, SHARED[arch] * 1024 // shared, WARPS // warps, BLOCKS)


def table_of(kernels, arch):
    yield f"| kernel ({arch}) | threads | registers | shared bytes | spills | blocks a multiprocessor | occupancy |"
    yield "|---|---|---|---|---|---|---|"
    for name, kernel in sorted(kernels.items()):
        blocks = blocks_of(kernel, arch)
        occupancy = blocks * ((kernel["threads"] + 31) // 32) * 100 // WARPS
        shared = kernel["static"] + kernel["dynamic"]
        yield (f"| {name} | {kernel['threads']} | {kernel['registers']} | {shared} | {kernel['spills']} | {blocks} | "
               f"{occupancy} % |")


def mistakes_of(kernels, planned, arch):
    for name in sorted(planned.keys() - kernels.keys()):
        yield f"{name} is planned and no bitcode has it"
    for name in sorted(kernels.keys() - planned.keys()):
        yield f"{name} is never planned"
    for name, kernel in sorted(kernels.items()):
        if kernel["spills"] or kernel["stack"]:
            yield f"{name} spills {kernel['spills']} bytes and has {kernel['stack']} bytes of local memory, wanted 0"
        if name in planned and blocks_of(kernel, arch) < 1:
            yield f"{name} does not fit on a multiprocessor"


def main():
    root = Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=root / "build")
    parser.add_argument("--llvm", type=Path, default=Path("/usr/lib/llvm-22/bin"), help="where opt and llc are")
    parser.add_argument("--arch", choices=PTX, default="sm_90")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--out", type=Path, help="where the table goes; default: it is printed")
    options = parser.parse_args()
    ptxas = find_ptxas()
    if not ptxas:
        print("cuda-resources.py: skipped: no ptxas on PATH, in CUDA_HOME or in /usr/local/cuda")
        return 77
    listed = run([options.build / "test/PrintKernels"]).splitlines()
    planned = {name: (int(threads), int(shared)) for name, threads, shared in map(str.split, listed)}
    files = sorted((options.build / "kernels/cuda/bitcode").glob("*.bc"))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda file: resources_of(file, options, ptxas), files))
    kernels = {name: kernel for file in found for name, kernel in file.items()}
    for name, kernel in kernels.items():
        kernel["threads"], kernel["dynamic"] = planned.get(name, (32, 0))
    table = "\n".join(table_of(kernels, options.arch)) + "\n"
    if options.out:
        version = re.search(r"release (\S+),", run([ptxas, "--version"]))[1]
        words = (f"What the hand-written CUDA kernels take of a GPU: `bench/cuda-resources.py --arch {options.arch}`, "
                 f"ptxas {version}.")
        options.out.write_text(f"# CUDA kernels\n\n{words} It takes no GPU.\n\n{table}")
    elif not options.check:
        print(table, end="")
    mistakes = list(mistakes_of(kernels, planned, options.arch))
    for mistake in mistakes if options.check else ():
        print(f"cuda-resources.py: {mistake}")
    print(f"cuda-resources.py: {len(kernels)} kernels of {len(files)} files for {options.arch}", file=sys.stderr)
    return 1 if options.check and mistakes else 0


if __name__ == "__main__":
    sys.exit(main())

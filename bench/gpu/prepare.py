#!/usr/bin/env python3
"""Compiles the programs that bench/gpu measures, with dtc's predictions: the half that needs dtc and no GPU.

Usage: prepare.py [--models NAME,NAME] [--target cuda:sm_90] [--topology dgx-h200] [--recompute full]
                  [--micro-batches N] [--no-dtrun] -o FOLDER

Then run measure.py FOLDER on a machine with a GPU. The folder holds the programs, dtrun with its libraries
(tools/pack_dtrun.py), and about.json: a description of each program, the predictions of the plan and the simulator,
and the bytes that its kernels move. dtrun makes the parameters.
"""
import argparse
import json
import lzma
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from instructions import describe, read_trace, sum_trace
from settings import (BETAS, CLIP_NORM, EPSILON, LEARNING_RATE, PEAK_FLOPS, SETTINGS, USUAL, WEIGHT_DECAY, config_of,
                      token_flops)

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / "bench"), str(ROOT / "tools")]
from about import commit
from pack_dtrun import pack
from profile_shares import kernel_ops

DTC = Path(os.environ.get("DTC_BIN", ROOT / "build" / "bin")) / "dtc"
MOST_MIB = 50  # limit of the files that travel to the GPU machine, beside this tree


class Failure(Exception):
    """An error of a program of dtc, in a line."""


def dtc(*arguments):
    done = subprocess.run([str(word) for word in (DTC, *arguments)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        raise Failure(f"dtc {arguments[0]}: {lines[0] if lines else 'no message'}")
    return done.stdout


def compile_one(setting, batch, options, folder, work, recompute="none", micro_batches=1):
    """Compiles one program and returns its description."""
    config, plan, program = work / "config.json", work / "plan.json", work / "program.dte"
    samples = batch * micro_batches
    config.write_text(json.dumps(config_of(setting.shape)))
    dtc("plan", config, "--seq-len", setting.shape.sequence, "--topology", options.topology, "--devices", 1,
        "--global-batch", samples, "--precision", "bf16",
        "--fix", f"micro_batch={batch},recompute={recompute}", "--executable", "-o", plan)
    dtc("compile", config, "--seq-len", setting.shape.sequence, "--plan", plan, "--target", options.target,
        "--save-temps", work, "--lr", LEARNING_RATE, "--lr-schedule", "constant", "--warmup-steps", 0, "--beta1",
        BETAS[0], "--beta2", BETAS[1], "--epsilon", EPSILON, "--weight-decay", WEIGHT_DECAY, "--clip-norm", CLIP_NORM,
        "-o", program)
    simulated = json.loads(dtc("simulate", program, "--trace", work / "trace.json", "--format", "json"))
    inspected = json.loads(dtc("inspect", program, "--rank", 0, "--format", "json"))
    planned = json.loads(plan.read_text())
    tasks = describe(inspected, kernel_ops((work / "03-schedule.mlir").read_text()))
    stored = f"{setting.name}-{batch}.dte.xz"
    (folder / stored).write_bytes(lzma.compress(program.read_bytes(), preset=6))
    full, causal = token_flops(setting.shape, planned["model"]["parameters"])
    return {"model": setting.name, "batch": batch, "micro_batches": micro_batches, "samples": samples,
            "recompute": recompute, "sequence": setting.shape.sequence, "vocabulary": setting.shape.vocabulary,
            "parameters": planned["model"]["parameters"], "file": stored, "flops_full": full, "flops_causal": causal,
            "planned_s": simulated["predicted_step_time_s"], "simulated_s": simulated["step_time_s"],
            "planned_bytes": planned["stages"][0]["peak_memory_bytes"], "arena_bytes": inspected["peak_memory_bytes"],
            "instructions": simulated["classes"][0]["instructions"],
            "simulated": sum_trace(read_trace(work / "trace.json"), tasks), "tasks": tasks}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(USUAL), help=f"of {', '.join(SETTINGS)}")
    parser.add_argument("--batches", type=int, nargs="+", help="micro-batches, in place of those of settings.py")
    parser.add_argument("--target", default="cuda:sm_90")
    parser.add_argument("--topology", default="dgx-h200", help="the device that is predicted")
    parser.add_argument("--recompute", default="none", help="as --fix recompute")
    parser.add_argument("--micro-batches", type=int, default=1, help="of a step, whose gradients are added up (1); "
                        "peers have one")
    parser.add_argument("--no-dtrun", action="store_true", help="leave dtrun out: it is where the programs will be run")
    parser.add_argument("-o", dest="folder", type=Path, required=True)
    options = parser.parse_args()
    names = options.models.split(",")
    for name in names:
        if name not in SETTINGS:
            parser.error(f"--models names '{name}', wanted some of {', '.join(SETTINGS)}")
    if options.folder.exists():
        sys.exit(f"prepare.py: {options.folder} exists; give a new folder")
    options.folder.mkdir(parents=True)
    programs, refused = [], []
    for name in names:
        for batch in options.batches or SETTINGS[name].batches:
            with tempfile.TemporaryDirectory() as work:
                try:
                    programs.append(compile_one(SETTINGS[name], batch, options, options.folder, Path(work),
                                                options.recompute, options.micro_batches))
                except Failure as failure:
                    refused.append({"model": name, "batch": batch, "why": str(failure)})
                    print(f"{name}, batch {batch}: {failure}", file=sys.stderr, flush=True)
                    continue
            made = programs[-1]
            print(f"{name}, batch {batch} x {made['sequence']}: simulated {made['simulated_s'] * 1e3:.1f} ms, planned "
                  f"{made['planned_s'] * 1e3:.1f} ms, arena {made['arena_bytes'] / 2**30:.1f} GiB", file=sys.stderr,
                  flush=True)
    (options.folder / "about.json").write_text(json.dumps({
        "schema": "dtc.bench-gpu.programs/1", "commit": commit(), "target": options.target,
        "topology": options.topology, "peak_flops": PEAK_FLOPS, "programs": programs, "refused": refused}))
    if not options.no_dtrun:
        pack(options.folder / "dtrun.tar.xz")
    size = sum(file.stat().st_size for file in options.folder.iterdir()) / 2**20
    print(f"{len(programs)} programs for {options.target} are in {options.folder}: {size:.1f} MiB"
          + (f"; {len(refused)} were refused" if refused else ""))
    if size > MOST_MIB:
        sys.exit(f"prepare.py: that is more than {MOST_MIB} MiB; name fewer --models")
    sys.exit(0 if programs else 1)


if __name__ == "__main__":
    main()

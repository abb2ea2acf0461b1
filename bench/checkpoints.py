#!/usr/bin/env python3
"""Measures the seconds that training waits for a checkpoint, beside a step's, at three sizes of GPT-2.

bench/checkpoints.py [--build DIR] [--ranks N] [--checkpoints N] [--format json]

Each model trains with AdamW, and with a checkpoint after every few steps. The line of the next step reports the stall
(`checkpoint_stall_s`). Steps during the write of a checkpoint share disk, memory and processors with it, so their
seconds are listed apart. The aim is a stall of at most 1 s or 3 % of a step, whichever is more.
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from about import commit, machine

ROOT = Path(__file__).resolve().parent.parent
GPT2 = {"model_type": "gpt2", "activation_function": "gelu_new", "tie_word_embeddings": True, "embd_pdrop": 0,
        "attn_pdrop": 0, "resid_pdrop": 0, "vocab_size": 50257}
# Each size is: layers, width, heads, sequence; batch of a step; steps between two checkpoints.
SIZES = {"13 M": (4, 192, 4, 128, 4, 10), "51 M": (8, 512, 8, 256, 4, 5), "124 M": (12, 768, 12, 512, 4, 4)}
MOST_SECONDS, MOST_SHARE = 1.0, 0.03


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stderr}")
    return done.stdout


def measure(arguments, folder, size):
    layers, width, heads, sequence, batch, every = SIZES[size]
    config, program, data = folder / "config.json", folder / "a.dte", folder / "text.txt"
    config.write_text(json.dumps(GPT2 | {"n_layer": layers, "n_embd": width, "n_head": heads, "n_positions": sequence}))
    data.write_bytes((ROOT / "README.md").read_bytes() * 8)
    programs = arguments.build / "bin"
    run(programs / "dtc", "compile", config, "--seq-len", sequence, "--topology", "cpu", "--devices", arguments.ranks,
        "--global-batch", batch, "--fix", f"dp={arguments.ranks},tp=1,pp=1,zero=1", "-o", program)
    saved = folder / "checkpoints"
    # The first checkpoint is after steps that warm up.
    steps = every * (arguments.checkpoints + 1) + every - 1
    lines = [json.loads(line) for line in run(programs / "dtrun", program, "-n", arguments.ranks, "--data",
                                              f"bytes:{data}", "--steps", steps, "--format", "json", "--checkpoint-dir",
                                              saved, "--checkpoint-every", every, "--keep", 1).splitlines()]
    lines = [line for line in lines if "step" in line]
    after = [line for line in lines if line["step"] % every == 1 and line["step"] > every + 1]
    others = [line["step_time_s"] for line in lines if line["step"] > every and line["step"] % every != 1]
    step = statistics.median(others)
    stalls = [line["checkpoint_stall_s"] for line in after]
    files = next(saved.glob("step-*"))
    return {"model": size, "checkpoint_bytes": sum(file.stat().st_size for file in files.iterdir()),
            "checkpoints": len(stalls), "step_s": step,
            "step_beside_writing_s": statistics.median(line["step_time_s"] for line in after),
            "stall_s": statistics.median(stalls), "stall_most_s": max(stalls),
            "within_aim": max(stalls) <= max(MOST_SECONDS, MOST_SHARE * step)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="folder of the build whose programs are "
                        "measured")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--checkpoints", type=int, default=8, help="that are measured at each size")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    arguments = parser.parse_args()
    rows = []
    for size in SIZES:
        with tempfile.TemporaryDirectory() as name:
            rows.append(measure(arguments, Path(name), size))
    if arguments.format == "json":
        print(json.dumps({"machine": machine(), "commit": commit(), "ranks": arguments.ranks, "rows": rows}))
        return
    print(f"{commit()}, {machine()}, {arguments.ranks} ranks, data parallel, ZeRO-1, AdamW, f32")
    print(f"{'parameters':>10} {'checkpoint':>11} {'step':>8} {'beside writing':>15} {'stall: median':>14} "
          f"{'most':>8} {'of a step':>10}  within 1 s or 3 %")
    for row in rows:
        print(f"{row['model']:>10} {row['checkpoint_bytes'] / 1e6:8.0f} MB {row['step_s']:6.2f} s "
              f"{row['step_beside_writing_s']:13.2f} s "
              f"{row['stall_s'] * 1e3:11.0f} ms {row['stall_most_s'] * 1e3:5.0f} ms "
              f"{row['stall_s'] / row['step_s']:10.1%}  "
              f"{'yes' if row['within_aim'] else 'no'}")


if __name__ == "__main__":
    main()

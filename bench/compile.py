#!/usr/bin/env python3
"""Times `dtc compile` and sizes its executables, case by case (see bench/compile.sh).

The cases take turns, a compilation each, for some rounds; times are the least of a case's. Wall seconds are the time
that a person waits; processor seconds (user and system) measure the same on a machine with other work. A case that
fails ends the run.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from about import commit, machine

ROOT = Path(__file__).resolve().parent.parent
MB, GIB = 10**6, 2**30
SMALL = {"n_embd": 64, "n_head": 4, "vocab_size": 512, "n_positions": 64}
GPT3 = {"n_embd": 12288, "n_head": 96, "vocab_size": 50257, "n_positions": 2048}
ONE_RANK = "dp=1,tp=1,zero=0,sp=0"


LLAMA = {"model_type": "llama", "hidden_act": "silu", "hidden_size": 64, "intermediate_size": 176,
         "num_hidden_layers": 24, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 512,
         "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": False}


def flags_of(micro_batches, ranks=1, dp=1, fix=ONE_RANK, flags=()):
    return ["--topology", "cpu", "--devices", str(ranks), "--global-batch", str(micro_batches * dp),
            "--fix", f"{fix},micro_batch=1", *flags]


def case(sizes, layers, micro_batches, dropout=0.0, **rest):
    config = {"model_type": "gpt2", "activation_function": "gelu_new", "tie_word_embeddings": True, "n_layer": layers,
              "embd_pdrop": dropout, "attn_pdrop": dropout, "resid_pdrop": dropout, **sizes}
    return config, flags_of(micro_batches, **rest)


def cluster(config, nodes, global_batch, fix, flags=()):
    """Returns a case of a published model on nodes of 8 H100, in micro-batches of one sample, with sequence
    parallelism and ZeRO-1.
    """
    return (ROOT / f"models/configs/{config}.json",
            ["--topology", "dgx-h100", "--nodes", str(nodes), "--global-batch", str(global_batch), "--precision", "f32",
             "--fix", f"tp=8,sp=1,zero=1,micro_batch=1,{fix}", *flags])


# A model is a configuration or a file of ours. Names are layers x micro-batches, of GPT-2 by default; cases on
# clusters have model and ranks. A model that fits no known node has no memory limit.
CASES = {
    "layers-2x1": case(SMALL, 2, 1),
    "layers-24x1": case(SMALL, 24, 1),
    "layers-24x16": case(SMALL, 24, 16),
    "layers-24x64": case(SMALL, 24, 64),
    "layers-24x256": case(SMALL, 24, 256),
    "layers-24x16-dp2-tp2-sp-zero1": case(SMALL, 24, 16, ranks=4, dp=2, fix="dp=2,tp=2,zero=1,sp=1"),
    "layers-24x64-dropout": case(SMALL, 24, 64, dropout=0.1),
    "layers-8x8": case(SMALL, 8, 8),
    "layers-8x8-dropout": case(SMALL, 8, 8, dropout=0.1),
    "llama-24x16-tp2-sp": (LLAMA, flags_of(16, ranks=2, fix="dp=1,tp=2,zero=0,sp=1")),
    "convnet-x8": (ROOT / "models/digits/convnet.mlir", flags_of(8)),
    "gpt3-layers-12x96-tp8-sp": case(GPT3, 12, 96, ranks=8, fix="dp=1,tp=8,zero=0,sp=1",
                                     flags=["--max-memory", "none"]),
    "gpt3-1024-dp128": cluster("gpt3-175b", 128, 1536, "pp=1,dp=128", ["--max-memory", "none"]),
    "gpt3-1024-pp8": cluster("gpt3-175b", 128, 1536, "pp=8,dp=16,schedule=1f1b"),
    "gpt3-1024-pp16": cluster("gpt3-175b", 128, 1536, "pp=16,dp=8,schedule=1f1b"),
    "gpt3-1024-pp8-interleaved": cluster("gpt3-175b", 128, 1536,
                                         "pp=8,dp=16,schedule=interleaved,virtual_stages=4"),
    "gpt3-1024-pp16-interleaved": cluster("gpt3-175b", 128, 1536,
                                          "pp=16,dp=8,schedule=interleaved,virtual_stages=6"),
    "llama3-405b-16384-pp16": cluster("llama-3-405b", 2048, 2048, "pp=16,dp=128,schedule=1f1b,recompute=full",
                                      ["--max-memory", "none"]),
    "llama3-405b-16384-pp16-interleaved": cluster("llama-3-405b", 2048, 2048,
                                                  "pp=16,dp=128,schedule=interleaved,virtual_stages=7,recompute=full",
                                                  ["--max-memory", "none"]),
}


class Failure(Exception):
    """The reason, in a line, why something could not be measured."""


def run_measured(command):
    """Returns wall seconds, processor seconds and peak bytes of one dtc, its children included."""
    with tempfile.TemporaryFile("w+") as errors:
        began = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            errors.seek(0)
            raise Failure(f"dtc {command[1]} ended with {process.returncode}: {errors.read().strip()}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def sizes_of(dtc, program):
    done = subprocess.run([dtc, "inspect", program, "--format", "json"], text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise Failure(f"dtc inspect: {done.stderr.strip()}")
    about = json.loads(done.stdout)
    return {"file_bytes": program.stat().st_size,
            "code_bytes": sum(each["bytes"] for each in about["segments"] if each["kind"] == "code"),
            "instructions": sum(each["instructions"] for each in about["programs"])}


def compile_once(dtc, name, folder):
    model, arguments = CASES[name]
    program = Path(folder) / f"{name}.dte"
    if isinstance(model, dict):
        config, model = model, Path(folder) / f"{name}.json"
        model.write_text(json.dumps(config))
    try:
        wall, cpu, peak = run_measured([dtc, "compile", model, *arguments, "-o", program])
        proof, proof_cpu, _ = run_measured([dtc, "verify", program])
        return {"seconds": wall, "cpu_seconds": cpu, "peak_rss_bytes": peak, "verify_seconds": proof,
                "verify_cpu_seconds": proof_cpu, **sizes_of(dtc, program)}
    except Failure as failure:
        raise Failure(f"case {name}: {failure}") from None


def measure(dtc, names, runs):
    """Returns the least times and the largest memory of the runs of each case."""
    cases = {}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(runs):
            for name in names:
                now = compile_once(dtc, name, folder)
                print(f"run {turn + 1} of {runs}, {name}: {now['seconds']:.2f} s", file=sys.stderr, flush=True)
                best = cases.setdefault(name, now)
                best.update({key: min(best[key], now[key]) for key in now if key.endswith("seconds")},
                            peak_rss_bytes=max(best["peak_rss_bytes"], now["peak_rss_bytes"]))
    return cases


def targets(cases):
    """Returns for each target: its limit, the results by wall and by processor seconds, and whether wall meets it.

    Lists only cases that ran.
    """
    def found(wanted, value, cpu, limit, form):
        return wanted, form.format(value), form.format(cpu), "yes" if value <= limit else "no"

    def both(name):
        return cases[name]["seconds"], cases[name]["cpu_seconds"]

    rows = []
    if "layers-24x64" in cases:
        one = cases["layers-24x64"]
        rest = (one["file_bytes"] - one["code_bytes"]) / MB
        rows.append(found("layers-24x64 in at most 2 s", *both("layers-24x64"), 2, "{:.2f} s"))
        rows.append(found("layers-24x64 at most 1 MB without code", rest, rest, 1, "{:.2f} MB"))
    depths = [f"layers-24x{count}" for count in (1, 16, 64, 256)]
    if all(name in cases for name in depths):
        wall, cpu = ([both(name)[clock] for name in depths] for clock in (0, 1))
        rows.append(found("1 to 256 micro-batches: slowest / fastest at most 1.10", max(wall) / min(wall),
                          max(cpu) / min(cpu), 1.1, "{:.3f}"))
    for plain in ("layers-24x64", "layers-8x8"):
        if plain in cases and f"{plain}-dropout" in cases:
            wall, cpu = (ours / base for ours, base in zip(both(f"{plain}-dropout"), both(plain)))
            rows.append(found(f"{plain}: with / without dropout at most 1.10", wall, cpu, 1.1, "{:.3f}"))
    wide = "gpt3-layers-12x96-tp8-sp"
    if wide in cases:
        memory = cases[wide]["peak_rss_bytes"] / GIB
        rows.append(found(f"{wide} in at most 10 s", *both(wide), 10, "{:.2f} s"))
        rows.append(found(f"{wide} in at most 2 GiB", memory, memory, 2, "{:.2f} GiB"))
    for name, case in cases.items():
        if not name.startswith(("gpt3-1024", "llama3-405b-16384")):
            continue
        of_gpt3 = name.startswith("gpt3")
        limit = 60 if of_gpt3 else 120
        rows.append(found(f"{name} in at most {limit} s", *both(name), limit, "{:.2f} s"))
        if not of_gpt3:
            continue
        memory, size = case["peak_rss_bytes"] / GIB, case["file_bytes"] / MB
        proof, proof_cpu = case["verify_seconds"], case["verify_cpu_seconds"]
        rows.append(found(f"{name} in at most 4 GiB", memory, memory, 4, "{:.2f} GiB"))
        rows.append(found(f"{name} at most 20 MB", size, size, 20, "{:.2f} MB"))
        rows.append(found(f"{name} proved by dtc verify in at most 5 s", proof, proof_cpu, 5, "{:.2f} s"))
    return rows


def print_tables(cases, about, tree, runs):
    print(f"dtc compile, least of {runs} runs; {about['cpu']}, {about['cores']} cores, load "
          f"{about['load_average']:.1f} at "
          f"the start; commit {tree}")
    print("\n| case | wall s | cpu s | peak MiB | file bytes | code bytes | instructions | dtc verify s |")
    print("|---|---|---|---|---|---|---|---|")
    for name, c in cases.items():
        print(f"| {name} | {c['seconds']:.2f} | {c['cpu_seconds']:.2f} | {c['peak_rss_bytes'] / 2**20:.0f} | "
              f"{c['file_bytes']:,} | {c['code_bytes']:,} | {c['instructions']:,} | {c['verify_seconds']:.2f} |")
    print("\n| target | found | by cpu s | met |")
    print("|---|---|---|---|")
    for row in targets(cases):
        print("| " + " | ".join(row) + " |")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--runs", type=int, default=3, choices=range(1, 1001), metavar="N", help="of each case")
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES), metavar="NAME",
                        help="of: " + ", ".join(CASES))
    parser.add_argument("--dtc", type=Path, default=ROOT / "build/bin/dtc", metavar="PATH")
    return parser.parse_args()


def main():
    args = arguments()
    if not args.dtc.exists():
        raise Failure(f"no dtc at {args.dtc}; build it: cmake --preset default && cmake --build --preset default")
    about, tree = machine(), commit()
    cases = measure(args.dtc.resolve(), args.cases, args.runs)
    if args.format == "json":
        keys = ("seconds", "peak_rss_bytes", "file_bytes", "code_bytes", "instructions", "verify_seconds")
        print(json.dumps({"cases": {name: {key: c[key] for key in keys} for name, c in cases.items()}}))
    else:
        print_tables(cases, about, tree, args.runs)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"compile.py: {failure}")

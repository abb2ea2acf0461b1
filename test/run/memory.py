#!/usr/bin/env python3
"""Planned memory equals used memory: 63 programs, as planned, as compiled and as they run.

1. The plan predicts the bytes that its program has, to the byte; of the device and of its host; with a pipeline those
   of each stage's.
2. The memory that dtrun maps for a step, in each rank, is those bytes, to the page.
3. The program needs at most 2 % more than any layout of its buffers has to have.
4. Programs for GPUs, whose long sums are two steps, have the bytes that the plans in them predict.

--table prints the results as a table for bench/results/memory.md.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dtc_tools import BIN, dtc

ROOT = Path(__file__).resolve().parents[2]
PAGE = os.sysconf("SC_PAGE_SIZE")
ABOVE_BOUND = 0.02
SEQUENCE = 32
GPT2 = {"model_type": "gpt2", "activation_function": "gelu_new", "vocab_size": 256, "n_positions": SEQUENCE,
        "n_embd": 64, "n_layer": 2, "n_head": 4, "tie_word_embeddings": True, "embd_pdrop": 0.0, "attn_pdrop": 0.0,
        "resid_pdrop": 0.0}
LLAMA = {"model_type": "llama", "hidden_act": "silu", "hidden_size": 64, "intermediate_size": 176,
         "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 256,
         "max_position_embeddings": SEQUENCE, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": False}
CONVNET, DIGITS = "convnet", "digits"


def gpt2(layers=2, dropout=0.0, **other):
    return {**GPT2, "n_layer": layers, "embd_pdrop": dropout, "attn_pdrop": dropout, "resid_pdrop": dropout, **other}


def llama(layers=3, **other):
    return {**LLAMA, "num_hidden_layers": layers, **other}


# Each case is: name, model, dp, tp, sp, zero, samples of a micro-batch, micro-batches, further pins; flags.
CASES = [
    ("gpt2", gpt2(), 1, 1, 0, 0, 2, 1),
    ("gpt2 x2", gpt2(), 1, 1, 0, 0, 2, 2),
    ("gpt2 x5", gpt2(), 1, 1, 0, 0, 1, 5),
    ("gpt2 x64", gpt2(), 1, 1, 0, 0, 1, 64),
    ("gpt2, 1 layer", gpt2(1), 1, 1, 0, 0, 4, 1),
    ("gpt2, 3 layers", gpt2(3), 1, 1, 0, 0, 2, 1),
    ("gpt2, 12 layers", gpt2(12), 1, 1, 0, 0, 1, 2),
    ("gpt2, 24 layers", gpt2(24), 1, 1, 0, 0, 1, 1),
    ("gpt2, dropout", gpt2(dropout=0.1), 1, 1, 0, 0, 2, 2),
    ("gpt2, 8 layers, dropout", gpt2(8, 0.1), 1, 1, 0, 0, 2, 1),
    ("gpt2, untied", gpt2(tie_word_embeddings=False), 1, 1, 0, 0, 2, 1),
    ("gpt2, odd width", gpt2(n_embd=60, vocab_size=251), 1, 1, 0, 0, 3, 1),
    ("gpt2, large vocabulary", gpt2(vocab_size=8192), 1, 1, 0, 0, 1, 2),
    ("gpt2 dp2", gpt2(), 2, 1, 0, 0, 2, 1),
    ("gpt2 dp2 x3", gpt2(), 2, 1, 0, 0, 1, 3),
    ("gpt2 dp2 zero1", gpt2(), 2, 1, 0, 1, 2, 1),
    ("gpt2 dp2 zero1 x2, 6 layers", gpt2(6), 2, 1, 0, 1, 1, 2),
    ("gpt2 tp2", gpt2(), 1, 2, 0, 0, 2, 1),
    ("gpt2 tp2 sp", gpt2(), 1, 2, 1, 0, 2, 1),
    ("gpt2 tp2 sp, dropout", gpt2(dropout=0.1), 1, 2, 1, 0, 2, 2),
    ("gpt2 dp2 tp2 sp zero1", gpt2(4), 2, 2, 1, 1, 1, 2),
    ("llama", llama(), 1, 1, 0, 0, 2, 1),
    ("llama x4", llama(), 1, 1, 0, 0, 1, 4),
    ("llama, 10 layers", llama(10), 1, 1, 0, 0, 1, 1),
    ("llama, tied", llama(tie_word_embeddings=True), 1, 1, 0, 0, 2, 1),
    ("llama dp2 zero1", llama(), 2, 1, 0, 1, 1, 1),
    ("llama tp2 sp x2", llama(), 1, 2, 1, 0, 1, 2),
    ("gpt2 dp2 zero2 x2, 6 layers", gpt2(6), 2, 1, 0, 2, 1, 2),
    ("gpt2 dp2 zero3", gpt2(), 2, 1, 0, 3, 2, 1),
    ("gpt2 dp2 zero3 x2, 6 layers", gpt2(6), 2, 1, 0, 3, 1, 2),
    ("llama dp2 zero3 x2", llama(), 2, 1, 0, 3, 1, 2),
    ("convnet", CONVNET, 1, 1, 0, 0, 8, 1),
    ("convnet dp2 x2", CONVNET, 2, 1, 0, 0, 4, 2),
    ("digits x3", DIGITS, 1, 1, 0, 0, 8, 3),
    ("gpt2, 12 layers, dropout, full", gpt2(12, 0.1), 1, 1, 0, 0, 2, 2, "recompute=full"),
    ("gpt2, 12 layers, selective", gpt2(12), 1, 1, 0, 0, 2, 1, "recompute=selective"),
    ("llama dp2 tp2 sp zero1, 6 layers, full", llama(6), 2, 2, 1, 1, 1, 2, "recompute=full"),
    ("llama tp2, 6 layers, selective", llama(6), 1, 2, 0, 0, 2, 1, "recompute=selective"),
    ("llama tp2 sp x2, 6 layers, products", llama(6), 1, 2, 1, 0, 1, 2, "recompute=selective+linear"),
    ("gpt2, 12 layers, attention", gpt2(12), 1, 1, 0, 0, 2, 1, "recompute=selective+attention"),
    ("gpt2 x2 in bf16", gpt2(4), 1, 1, 0, 0, 2, 2, "", "--precision", "bf16"),
    ("llama dp2 zero1 in bf16", llama(4), 2, 1, 0, 1, 1, 2, "", "--precision", "bf16"),
    ("gpt2 tp2 sp in bf16", gpt2(3), 1, 2, 1, 0, 2, 1, "", "--precision", "bf16"),
    ("gpt2 dp2 in f16", gpt2(3), 2, 1, 0, 0, 2, 1, "", "--precision", "f16"),
    ("gpt2 tp2 in f16", gpt2(3), 1, 2, 0, 0, 2, 1, "", "--precision", "f16"),
    ("gpt2 dp2 x2, 6 layers, gradients in bf16", gpt2(6), 2, 1, 0, 0, 1, 2, "", "--grad-dtype", "bf16"),
    ("llama dp2 zero3 x2, gradients in bf16", llama(), 2, 1, 0, 3, 1, 2, "", "--grad-dtype", "bf16"),
    ("llama dp2 zero1 1f1b x3 in bf16, gradients too", llama(4), 2, 1, 0, 1, 1, 3, "pp=2,schedule=1f1b", "--precision",
     "bf16", "--grad-dtype", "bf16"),
    ("gpt2 dp2 zero3 x2, 6 layers, full", gpt2(6), 2, 1, 0, 3, 1, 2, "recompute=full"),
    ("llama dp2 zero3 x2, selective", llama(), 2, 1, 0, 3, 1, 2, "recompute=selective"),
    ("gpt2 1f1b x4", gpt2(4), 1, 1, 0, 0, 1, 4, "pp=2,schedule=1f1b"),
    ("gpt2 gpipe x3, 5 layers, dropout", gpt2(5, 0.1), 1, 1, 0, 0, 2, 3, "pp=2,schedule=gpipe"),
    ("llama interleaved x4, full", llama(4), 1, 1, 0, 0, 1, 4,
     "pp=2,schedule=interleaved,virtual_stages=2,recompute=full"),
    ("llama zero-bubble tp2 sp x4", llama(4), 1, 2, 1, 0, 1, 4, "pp=2,schedule=zero-bubble"),
    ("gpt2 zb-v x5", gpt2(4), 1, 1, 0, 0, 1, 5, "pp=2,schedule=zero-bubble,virtual_stages=2"),
    ("gpt2 dp2 zero1 1f1b x3", gpt2(4), 2, 1, 0, 1, 1, 3, "pp=2,schedule=1f1b"),
    ("llama dp2 zero2 interleaved x4", llama(4), 2, 1, 0, 2, 1, 4, "pp=2,schedule=interleaved,virtual_stages=2"),
    ("gpt2 dp2 zero3 1f1b x4, full", gpt2(4), 2, 1, 0, 3, 1, 4, "pp=2,schedule=1f1b,recompute=full"),
    ("llama dp2 zero3 zb-v x4, selective", llama(4), 2, 1, 0, 3, 1, 4,
     "pp=2,schedule=zero-bubble,virtual_stages=2,recompute=selective"),
    ("gpt2 offloaded", gpt2(6), 1, 1, 0, 0, 2, 1, "offload=1"),
    ("gpt2 dp2 zero1 x2 offloaded", gpt2(3), 2, 1, 0, 1, 1, 2, "offload=1"),
    ("gpt2 dp2 zero3 offloaded", gpt2(4), 2, 1, 0, 3, 2, 1, "offload=1"),
    ("llama tp2 sp x2 offloaded", llama(), 1, 2, 1, 0, 1, 2, "offload=1"),
    ("llama dp2 zero2 offloaded, lamb", llama(4), 2, 1, 0, 2, 1, 2, "offload=1", "--optimizer", "lamb"),
    ("llama dp2 zero1 offloaded in bf16", llama(4), 2, 1, 0, 1, 1, 2, "offload=1", "--precision", "bf16"),
]


# Programs for GPUs have the same fields up to the micro-batches, then pins and flags.
GPU_CASES = [
    ("gpt2 x2 for a GPU", gpt2(4), 1, 1, 0, 0, 2, 2, ""),
    ("gpt2 dp2 zero1 in bf16 for GPUs", gpt2(3), 2, 1, 0, 1, 2, 1, "", "--precision", "bf16"),
    ("llama tp2 sp for GPUs, lamb", llama(), 1, 2, 1, 0, 2, 1, "", "--optimizer", "lamb"),
    ("gpt2 1f1b x4 for GPUs", gpt2(4), 1, 1, 0, 0, 2, 4, "pp=2,schedule=1f1b"),
]


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def mapped_arenas(program):
    """Returns the mapped and touched bytes of the arenas of each rank that runs `program`: the mappings that ask for
    huge pages.
    """
    arenas = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
            if str(program).encode() not in words or not words[0].endswith(b"dtrun"):
                continue
            found = []
            for mapping in re.split(r"\n(?=[0-9a-f]+-[0-9a-f]+ )", (entry / "smaps").read_text()):
                if re.search(r"^VmFlags:.* hg\b", mapping, re.M):
                    kilobytes = [int(re.search(rf"^{key}: *(\d+) kB", mapping, re.M)[1]) for key in ("Size", "Rss")]
                    found.append([1024 * each for each in kilobytes])
            if found:
                arenas.append(tuple(map(sum, zip(*found))))
        except OSError:  # it has ended meanwhile
            continue
    return arenas


def run_and_look(program, ranks, data):
    """Returns the arenas of all ranks after two steps, and the bytes that dtrun reports."""
    job = subprocess.Popen([str(BIN / "dtrun"), str(program), "-n", str(ranks), "--data", data, "--steps", "100000000",
                            "--format", "json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        lines = [job.stdout.readline() for _ in range(3)]  # one line of the data and two of steps
        check(all(lines), f"{program.name}: dtrun prints no steps: {job.stderr.read() if not all(lines) else ''}")
        return mapped_arenas(program), json.loads(lines[2])["peak_memory_bytes"]
    finally:
        os.killpg(job.pid, signal.SIGKILL)
        job.communicate()


def measure(folder, number, case):
    name, model, dp, tp, sp, zero, micro_batch, count, *more = case
    pins, kind = [pin for pin in more[:1] if pin], more[1:]
    stages = int(dict(pin.split("=") for pin in ",".join(pins).split(",") if pin).get("pp", 1))
    ranks = dp * tp * stages
    digits = ROOT / "models/digits"
    path, flags, data = digits / f"{model}.mlir", [], f"images={digits / 'images.npy'},labels={digits / 'labels.npy'}"
    if isinstance(model, dict):
        path, flags, data = folder / f"{number}.json", ["--seq-len", SEQUENCE], "synthetic"
        path.write_text(json.dumps(model))
    plan, program, temps = folder / f"{number}-plan.json", folder / f"{number}.dte", folder / f"{number}"
    flags += ["--topology", "cpu", "--devices", ranks]
    dtc("plan", path, *flags, *kind, "--global-batch", dp * micro_batch * count, "--fix",
        ",".join([f"dp={dp},tp={tp},sp={sp},zero={zero},micro_batch={micro_batch}", *pins]), "-o", plan)
    dtc("compile", path, *flags, "--plan", plan, "--quick-code", "-o", program, "--save-temps", temps)
    written = json.loads(plan.read_text())
    planned, of_stages = written["predicted"]["peak_memory_bytes"], [each["peak_memory_bytes"]
                                                                     for each in written["stages"]]
    on_host = [each.get("host_bytes", 0) for each in written["stages"]]
    programs = json.loads(dtc("inspect", program, "--format", "json"))["programs"]
    compiled, host_arenas = ([each[key] for each in programs] for key in ("arena_bytes", "host_bytes"))
    bounds = [int(each) for each in re.findall(r"lower_bound_bytes = (\d+)", (temps / "03-schedule.mlir").read_text())]
    arenas, reported = run_and_look(program, ranks, data)

    check(of_stages == compiled, f"{name}: {of_stages} bytes of each stage planned, {compiled} compiled")
    check(on_host == host_arenas, f"{name}: {on_host} bytes of each stage planned on the host, {host_arenas} compiled")
    check(all((each > 0) == ("offloaded" in name) for each in on_host), f"{name}: {on_host} bytes on the host")
    check(planned == max(compiled), f"{name}: {planned} bytes planned, {compiled} compiled")
    check(reported == compiled[0], f"{name}: dtrun reports {reported} bytes on rank 0, the file has {compiled}")
    check(len(arenas) == ranks, f"{name}: {len(arenas)} arenas of {ranks} ranks")
    whole = sorted(sum(-(-arena // PAGE) * PAGE for arena in each) for each in zip(compiled, on_host)
                   for _ in range(dp * tp))
    mapped = sorted(mapped for mapped, _ in arenas)
    check(mapped == whole,
          f"{name}: {mapped} bytes mapped, the file has {compiled} and {on_host}, in whole pages {whole}")
    both = [sum(each) for each in zip(compiled, on_host)]
    for arena, bound in zip(both, bounds):
        check(bound <= arena <= bound * (1 + ABOVE_BOUND), f"{name}: {arena} bytes, the bound is {bound}")
    fullest = compiled.index(planned)
    return {"name": name, "planned": both[fullest], "arena": both[fullest], "bound": bounds[fullest],
            "mapped": mapped[-1], "touched": max(touched for _, touched in arenas)}


def measure_for_gpu(folder, number, case):
    name, model, dp, tp, sp, zero, micro_batch, count, pins, *kind = case
    stages = 2 if "pp=2" in pins else 1
    path, program, temps = folder / f"gpu{number}.json", folder / f"gpu{number}.dte", folder / f"gpu{number}"
    path.write_text(json.dumps(model))
    dtc("compile", path, "--seq-len", SEQUENCE, "--topology", "cpu", "--devices", dp * tp * stages, "--target", "simt",
        *kind, "--global-batch", dp * micro_batch * count, "-o", program, "--save-temps", temps, "--fix",
        ",".join(filter(None, [f"dp={dp},tp={tp},sp={sp},zero={zero},micro_batch={micro_batch}", pins])))
    compiled = [each["arena_bytes"] for each in json.loads(dtc("inspect", program, "--format", "json"))["programs"]]
    # The plan as a whole has a peak, and each stage has one.
    planned = {int(each) for each in re.findall(rb'"peak_memory_bytes": ?(\d+)', program.read_bytes())}
    check(planned == set(compiled), f"{name}: {planned} bytes planned, {compiled} compiled")
    text = (temps / "03-schedule.mlir").read_text()
    check("graph.sum_chunks" in text and "graph.sum_parts" in text, f"{name}: no sum is in two steps")


def print_table(rows):
    print("| program | planned | in the file | live-range bound | file / bound | mapped | touched |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        print(f"| {row['name']} | {row['planned']:,} | {row['arena']:,} | "
              f"{row['bound']:,} | {row['arena'] / row['bound']:.4f} | {row['mapped']:,} | {row['touched']:,} |")


def main():
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        rows = [measure(Path(name), number, case) for number, case in enumerate(CASES)]
        for number, case in enumerate(GPU_CASES):
            measure_for_gpu(Path(name), number, case)
    if "--table" in sys.argv[1:]:
        print_table(rows)
        return
    print(
        f"{len(rows) + len(GPU_CASES)} programs have the memory that was planned, in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()

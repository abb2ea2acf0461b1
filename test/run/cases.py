#!/usr/bin/env python3
"""Inputs of users that dtc once got wrong: each now works, or is refused in one line that says what to do.

`cases/` holds them unchanged. Those that train have the losses, norms, gradients and parameters of one device under
each of their plans (compare_runs of any_plan.py). The others give the expected exit code and message, and write
nothing.

Usage: cases.py [--only NAME]; the last line is the summary.
"""
import argparse
import array
import math
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from any_plan import match_one_device
from dtc_tools import BIN, dtc, read_safetensors, rows_of, run, train, write_npy, write_safetensors

HERE = Path(__file__).resolve().parent
CASES, CONFIGS = HERE / "cases", HERE.parents[1] / "models" / "configs"
SEED = 3

# This maps a file to its sequence length, samples of a step and plans.
TRAINS = {
    "unused.mlir": (8, 4, ["dp=2", "tp=2", "dp=2,zero=3,micro_batch=1"]),
    "call-unused.mlir": (8, 4, ["dp=2", "tp=2,sp=0"]),
    "positions-on-two-stages.mlir": (8, 4, ["pp=2,micro_batch=1", "dp=2,pp=2,micro_batch=1"]),
    "l2-of-tied-weight.mlir": (12, 8, ["pp=2,dp=2,micro_batch=1", "pp=2,tp=2,micro_batch=2", "dp=4"]),
    "batch-and-sequence-in-one.mlir": (8, 4, ["dp=2", "tp=2", "dp=2,micro_batch=1"]),
    "head-penalty.mlir": (8, 8, ["dp=2,zero=2,micro_batch=1", "dp=2,zero=3,micro_batch=1", "tp=2,micro_batch=4"]),
    "table-penalty.mlir": (8, 8, ["dp=2,pp=2,zero=1,micro_batch=1", "tp=2"]),
    "shared-penalty.mlir": (8, 8, ["tp=2,pp=2,micro_batch=1", "dp=2,zero=3"]),
    # The stages of this case use a weight several times, which zero-bubble has to sum.
    "shared.mlir": (8, 8, ["tp=2,pp=2,micro_batch=1", "dp=2,pp=2,zero=3,micro_batch=1",
                           "pp=2,schedule=zero-bubble,micro_batch=1",
                           "pp=2,schedule=zero-bubble,virtual_stages=2,micro_batch=2"]),
    "weight-in-slices.mlir": (8, 4, ["micro_batch=2", "dp=2", "tp=2", "dp=2,zero=3,micro_batch=1"]),
    "qwen3-small.mlir": (16, 4, ["tp=2", "dp=2,pp=2,micro_batch=1"]),
    "qwen3-small.json": (16, 4, ["tp=4", "dp=2,zero=3"]),
    "llama-pad-token.json": (8, 4, ["tp=2", "dp=2,zero=3"]),
}

# Each entry is: a name, the arguments of dtc, its exit code, a substring of one line of the answer.
ANSWERS = [
    ("pairs of samples", ["compile", CASES / "pairs-of-samples.mlir", "--topology", "cpu", "--global-batch", 64, "-o",
                          "out.dte"], 1,
     "pairs-of-samples.mlir:"),
    ("pairs of samples", ["plan", CASES / "pairs-of-samples.mlir", "--topology", "cpu", "--global-batch", 64], 1,
     "pairs the samples of a batch with each other"),
    ("yarn", ["import", CASES / "qwen2-yarn.json", "-o", "out.mlir"], 0, ""),
    *[(f"tied, gradients in bf16, ZeRO-{zero}",
       ["compile", CASES / "tied.json", "--seq-len", 16, "--topology", "cpu", "--devices", 4, "--global-batch", 16,
        "--fix", f"dp=2,pp=2,zero={zero},micro_batch=2,schedule=1f1b", "--grad-dtype", "bf16", "-o", "out.dte"], 0, "")
      for zero in range(4)],
    ("25 heads on tp=2", ["plan", CASES / "gpt2-xl.json", "--seq-len", 1024, "--topology", "dgx-h100", "--nodes", 1,
                          "--global-batch", 4, "--precision", "bf16", "--stack", "megatron-core", "--fix", "tp=2"], 1,
     "25"),
    ("9 heads on tp=2", ["plan", CASES / "smollm2-135m.json", "--seq-len", 2048, "--topology", "dgx-h100", "--nodes", 1,
                         "--global-batch", 64, "--precision", "bf16", "--stack", "megatron-core", "--fix", "tp=2,pp=4"],
     1, "9"),
]


def ask(arguments, folder):
    return subprocess.run([str(part) for part in (BIN / "dtc", *arguments)], cwd=folder, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=300)


def check_answer(name, arguments, code, wanted):
    with tempfile.TemporaryDirectory() as folder:
        answer = ask(arguments, folder)
        said = answer.stderr
        left = [path.name for path in Path(folder).iterdir()]
        if answer.returncode != code or wanted not in said or said.count("error:") != (code != 0) or (code and left):
            sys.exit(f"FAILED: {name}: exit code {answer.returncode}, wanted {code} and '{wanted}'; files "
                     f"{left}\n{said}")
        if "internal" in said:
            sys.exit(f"FAILED: {name}: {said}")


def check_heads():
    """Checks that without a pin the chosen tp divides the 25 heads, and that its export states that tp."""
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / "plan.json"
        dtc("plan", CASES / "gpt2-xl.json", "--seq-len", 1024, "--topology", "dgx-h100", "--nodes", 8, "--global-batch",
            64, "--precision", "bf16", "--stack", "megatron-core", "-o", plan)
        flags = dtc("export", plan, "--to", "megatron-lm").split()
        tensor = (int(flags[flags.index("--tensor-model-parallel-size") + 1]) if "--tensor-model-parallel-size" in flags
                  else 1)
        if 25 % tensor:
            sys.exit(f"FAILED: 25 heads are exported with a tp of {tensor}")


def check_capacity():
    """Checks that the capacity that a plan is made for is exported."""
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / "plan.json"
        dtc("plan", CASES / "mixtral-capacity-4.json", "--seq-len", 4096, "--topology", "dgx-h100", "--nodes", 4,
            "--global-batch", 256, "--precision", "bf16", "--stack", "megatron-core", "--fix",
            "dp=8,tp=1,pp=2,cp=2,ep=8", "-o", plan)
        flags = dtc("export", plan, "--to", "megatron-lm")
        if "--moe-expert-capacity-factor 4" not in flags:
            sys.exit(f"FAILED: the capacity of 4 is not exported:\n{flags}")


def check_lamb():
    """Checks LAMB with ZeRO-1 on sizes that a tp of 3 does not divide."""
    config = (
        '{"model_type":"llama","vocab_size":127,"max_position_embeddings":64,"hidden_size":32,"head_dim":4,"intermediate_size":40,'
              '"num_hidden_layers":1,"num_attention_heads":8,"num_key_value_heads":4,"hidden_act":"silu","tie_word_embeddings":true,'
              '"rms_norm_eps":1e-05,"rope_theta":10000.0,"attention_bias":true}')
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c33.json"
        path.write_text(config)
        return match_one_device(Path(folder), path, 15, 9, "lamb", 9,
                                {"dp": 3, "tp": 3, "zero": 1, "sp": 1, "micro_batch": 1}, "synthetic", SEED,
                                "LAMB on uneven tp")


def embedding_gradient(folder, program, ranks, data):
    """Returns row -> gradient of the embedding, for the rows that have one after a step."""
    gradients = folder / "gradients.safetensors"
    train(program, ranks, data, 1, "--dump-grads", gradients)
    (rows, width), values = read_safetensors(gradients)["model.embed_tokens.weight"]
    parts = {row: values[row * width: (row + 1) * width] for row in range(rows)}
    return {row: part for row, part in parts.items() if any(part)}


def check_refused(folder, data, wanted):
    """Checks that dtrun refuses data for m.dte of the folder in one line that has `wanted`."""
    done = subprocess.run([BIN / "dtrun", folder / "m.dte", "--data", data, "--steps", "1"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=300)
    if done.returncode != 1 or wanted not in done.stderr or len(done.stderr.splitlines()) != 1 or done.stdout:
        sys.exit(f"FAILED: {data}: exit code {done.returncode}, wanted 1 and '{wanted}':\n{done.stdout}{done.stderr}")


def check_ids_of_4_bytes():
    """Checks that a model of more than 65536 entries reads ids of 4 bytes without a header: a step looks up each of
    them.
    """
    with tempfile.TemporaryDirectory() as name:
        folder, rng = Path(name), random.Random(0)
        data = folder / "uint32-no-header.bin"
        # The targets are one position further.
        ids = array.array("I", [rng.randrange(128000) for _ in range(4 * 8 + 1)])
        data.write_bytes(ids.tobytes())
        dtc("compile", CASES / "large-vocabulary.json", "--seq-len", 8, "--topology", "cpu", "--global-batch", 4, "-o",
            folder / "m.dte")
        found = set(embedding_gradient(folder, folder / "m.dte", 1, data))
        if found != set(ids[:-1]):
            sys.exit(f"FAILED: the ids {sorted(set(ids[:-1]) ^ found)} of 4 bytes are in the file or in the step, not "
                     f"in both")
        check_refused(folder, f"u16:{data}",
                      "ids of 2 bytes cannot reach the model's 128256 vocabulary entries; write u32:")


def check_array_of_ids():
    """Checks that an array of ids is refused without the name of an input, and that the command which the message
    suggests works.

    A large vocabulary is checked, too.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ids = [random.Random(1).randrange(256) for _ in range(400)]
        write_npy(folder / "ids.npy", "<u2", "H", [400], ids)
        dtc("compile", CASES / "large-vocabulary.json", "--seq-len", 8, "--topology", "cpu", "--global-batch", 4, "-o",
            folder / "m.dte")
        check_refused(folder, folder / "ids.npy", ".astype('<u4').tofile('ids.bin') and give u32:ids.bin")
        (folder / "ids.bin").write_bytes(array.array("I", ids).tobytes())
        train(folder / "m.dte", 1, f"u32:{folder}/ids.bin", 1)


def check_padding_row():
    """Checks that the row of pad_token_id has no gradient from look-ups, as in transformers, and that other looked-up
    rows have one.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tokens = array.array("H", [place * 7 % 61 if place % 3 else 0 for place in range(4 * 8 + 1)])
        (folder / "tokens.bin").write_bytes(tokens.tobytes())
        for ranks, plan in ((1, "dp=1,tp=1"), (2, "tp=2"), (2, "dp=2,zero=3")):
            dtc("compile", CASES / "llama-pad-token.json", "--seq-len", 8, "--topology", "cpu", "--devices", ranks,
                "--global-batch", 4, "--fix", plan, "-o", folder / "m.dte")
            found = set(embedding_gradient(folder, folder / "m.dte", ranks, folder / "tokens.bin"))
            if found != set(tokens[:-1]) - {0}:
                sys.exit(f"FAILED: pad_token_id 0 under {plan}: rows {sorted(found)} have a gradient, "
                         f"{sorted(set(tokens[:-1]))} are read")


def check_megatron_collectives():
    """Checks that tensor parallelism of a plan for Megatron sends activations alone, as Megatron's layers do: no
    weights, no heads.
    """
    with tempfile.TemporaryDirectory() as name:
        plan, explanation = Path(name) / "plan.json", Path(name) / "explanation.json"
        dtc("plan", CONFIGS / "llama-3-8b.json", "--seq-len", 8192, "--topology", "dgx-h100", "--nodes", 4,
            "--global-batch", 128, "--precision", "bf16", "--stack", "megatron-core", "--fix",
            "tp=4,pp=1,cp=1,micro_batch=4,placement=megatron", "-o", plan)
        explanation.write_text(dtc("explain", plan, "--format", "json"))
        checker = HERE.parent / "explain" / "Inputs" / "check-textbook.py"
        run([sys.executable, checker, explanation, "--activation", 4 * 8192 * 4096 * 2, "--sp"])


def check_subnormals():
    """Checks that bf16 numbers below 2^-126 are multiplied on every processor: AVX-512 BF16 and AMX would flush them
    to 0.

    The table's numbers are subnormal, and two scaled identities make them k / 8, |k| <= 64, without rounding; with
    zeros instead the loss would be log(256). Logits, sums of 32 products of at most 8 and 1/4, are rounded once, by
    at most 2^-8 of 64, which moves the loss by at most twice that. The same program without these instructions has
    the same numbers except for the order of sums in f32.
    """
    with tempfile.TemporaryDirectory() as name:
        folder, rng = Path(name), random.Random(0)
        (folder / "data.txt").write_text("".join(f"{line}\n" for line in range(1, 2001)))

        def drawn(exponent):  # 7 bits fit in bf16, so that both precisions start from the same values
            return [math.ldexp(rng.randrange(-64, 65), exponent) for _ in range(256 * 32)]

        def identity(exponent):
            return [math.ldexp(place % 33 == 0, exponent) for place in range(32 * 32)]

        write_safetensors(folder / "init.safetensors", {
            "table": ([256, 32], drawn(-133)), "w1": ([32, 32], identity(17)), "w2": ([32, 32], identity(113)),
            "head": ([256, 32], drawn(-8))})

        def loss(precision, **variables):
            program = folder / f"{precision}.dte"
            dtc("compile", CASES / "bf16-subnormals.mlir", "--topology", "cpu", "--devices", 1, "--global-batch", 8,
                "--precision", precision, "-o", program)
            command = [BIN / "dtrun", program, "--data", folder / "data.txt", "--init", folder / "init.safetensors",
                       "--lr", "0", "--steps", "1", "--format", "json"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, **variables})
            rows = rows_of(done.stdout)
            if len(rows) != 1:
                sys.exit(f"FAILED: subnormal numbers in {precision}: exit code {done.returncode}\n{done.stderr}")
            return rows[0]["loss"]

        wide, narrow, plain = loss("f32"), loss("bf16"), loss("bf16", DNNL_MAX_CPU_ISA="AVX512_CORE")
        if (abs(wide - math.log(256)) < 2 or not abs(narrow - wide) <= 2 * 64 / 256 or not abs(narrow - plain) <= 1e-4
            * plain):
            sys.exit(f"FAILED: subnormal numbers: the loss is {wide} in f32, {narrow} in bf16, {plain} of it without "
                     f"AVX-512 BF16")
        if "avx512_bf16" not in Path("/proc/cpuinfo").read_text().split():
            print("cases: this processor has no AVX-512 BF16: subnormal numbers were multiplied in f32 only")


CHECKS = (check_heads, check_capacity, check_lamb, check_ids_of_4_bytes, check_array_of_ids, check_padding_row,
          check_megatron_collectives, check_subnormals)


def check_trains(name, sequence, batch, plans):
    worst = 0.0
    for plan in plans:
        fix = dict(pair.split("=") for pair in plan.split(","))
        ranks = 1
        for axis in ("dp", "tp", "pp"):
            ranks *= int(fix.setdefault(axis, "1"))
        fix.setdefault("micro_batch", str(batch // int(fix["dp"])))
        with tempfile.TemporaryDirectory() as folder:
            worst = max(worst, match_one_device(Path(folder), CASES / name, sequence, batch, "adamw", ranks, fix,
                                                "synthetic", SEED, f"{name} under {plan}"))
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    only = parser.parse_args().only
    worst, count = 0.0, 0
    for name, case in TRAINS.items():
        if only in name:
            worst, count = max(worst, check_trains(name, *case)), count + len(case[2])
    for answer in ANSWERS:
        if only in answer[0]:
            check_answer(*answer)
            count += 1
    for check in CHECKS:
        if only in check.__name__:
            worst, count = max(worst, check() or 0.0), count + 1
    print(f"cases: {count} cases are right, at most {worst:.2g} from one device")


if __name__ == "__main__":
    main()

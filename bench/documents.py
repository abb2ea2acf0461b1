#!/usr/bin/env python3
"""Packed documents: lines of a text packed and one a sample, and a step of documents beside the same ones alone.

documents.py lines --text FILE [--steps N]   the quickstart's model on the lines of a text
documents.py step [--repeat N]               CPU seconds of a step of documents of 1 to 4,096 tokens

`lines` trains models/configs/gpt2-quickstart.json from the same start on the same lines of at most 128 bytes: packed,
16 samples a step, and each in a sample of its own, as many lines a step as the packed samples hold on average. The
loss is that of held-out lines alone, by the same program for both.

`step` trains a Llama of 4 layers on one sample with a document of each power of two from 1 to 4,096 tokens, and one
more token. "Alone" is the sum over programs of each length, less the update of the parameters, of which a step has
one: that is taken from a program of one token. Times are CPU seconds of the process, of several steps less those of
one, so that neither start nor others on the machine count.
"""

import argparse
import array
import json
import os
import random
import resource
import statistics
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from about import commit, machine

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(os.environ.get("DTC_BIN", ROOT / "build" / "bin"))
QUICKSTART, SEQUENCE, BATCH, IGNORED, LINE_END = ROOT / "models/configs/gpt2-quickstart.json", 128, 16, -100, 10
LENGTHS = [1 << power for power in range(13)] + [1]
LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 256, "intermediate_size": 704,
         "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64,
         "vocab_size": 2048, "max_position_embeddings": 8192, "hidden_act": "silu", "tie_word_embeddings": False}


def run(*command):
    command = [str(part) for part in command]
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"documents.py: {' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def compile_model(config, sequence, batch, out, *flags):
    run(BIN / "dtc", "compile", config, "--seq-len", sequence, "--topology", "cpu", "--devices", 1, "--precision",
        "f32", "--global-batch", batch, "--fix", f"micro_batch={batch}", *flags, "-o", out)
    return out


def train(program, data, steps, *flags):
    """Returns the lines of the steps and evaluations of a run on one thread."""
    out = run(BIN / "dtrun", program, "-n", 1, "--data", data, "--steps", steps, "--threads", 1, "--seed", 1,
              "--format", "json", *flags)
    return [row for row in map(json.loads, filter(lambda line: line.startswith("{"), out.splitlines()))
            if "step" in row]


def used():
    """Returns the CPU seconds of all processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def write_npy(path, rows):
    header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({len(rows)}, {len(rows[0])}), }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
                     + array.array("i", [number for row in rows for number in row]).tobytes())
    return path


def write_alone(folder, name, lines):
    """Writes a sample for each line; what follows a line has no target. Returns the argument of --data."""
    tokens = [list(line) + [0] * (SEQUENCE - len(line)) for line in lines]
    targets = [list(line[1:]) + [IGNORED] * (SEQUENCE - len(line) + 1) for line in lines]
    return (f"tokens={write_npy(folder / f'{name}-tokens.npy', tokens)},"
            f"targets={write_npy(folder / f'{name}-targets.npy', targets)}")


def compare_lines(folder, text, steps):
    lines = [line + b"\n" for line in text.read_bytes().split(b"\n") if 1 <= len(line) < SEQUENCE]
    random.Random(1).shuffle(lines)
    held, lines = lines[:512], lines[512:]
    (folder / "lines.txt").write_bytes(b"".join(lines))
    evaluated = write_alone(folder, "held", held)
    a_step = round(BATCH * SEQUENCE * len(lines) / sum(map(len, lines)))
    packed = compile_model(QUICKSTART, SEQUENCE, BATCH, folder / "packed.dte", "--documents")
    alone = compile_model(QUICKSTART, SEQUENCE, a_step, folder / "alone.dte")
    contenders = {
        "packed": (packed, f"bytes:{folder / 'lines.txt'}", ["--document-end", LINE_END], BATCH),
        "one line a sample": (alone, write_alone(folder, "lines", lines), [], a_step),
    }
    print("| lines | samples a step | places of tokens | CPU ms a step | loss of held-out lines |\n"
          "| --- | --- | --- | --- | --- |")
    for name, (program, data, flags, samples) in contenders.items():
        dumped = folder / "trained.safetensors"
        before = used()
        train(program, data, steps, "--lr", 1e-3, "--dump-params", dumped, *flags)
        seconds = (used() - before) / steps
        (loss,) = train(alone, evaluated, 0, "--eval-data", evaluated, "--init", dumped)
        print(f"| {name} | {samples} | {samples * SEQUENCE:,} | {seconds * 1e3:.0f} | {loss['eval_loss']:.3f} |")
    print(f"\n{len(lines)} lines of {sum(map(len, lines)) / len(lines):.1f} bytes on average, {a_step} of them a step.")


def cpu_seconds(program, data, steps):
    """Returns the CPU seconds of a step: those of 1 + steps steps less those of one."""
    def of(count):
        before = used()
        train(program, data, count)
        return used() - before

    return (of(1 + steps) - of(1)) / steps


def compare_step(folder, repeat):
    config = folder / "llama.json"
    config.write_text(json.dumps(LLAMA))
    draw, total = random.Random(1), sum(LENGTHS)
    order = draw.sample(LENGTHS, len(LENGTHS))
    tokens = write_npy(folder / "tokens.npy", [[draw.randrange(2048) for _ in range(total)]])
    numbers = write_npy(folder / "documents.npy", [[n for n, length in enumerate(order) for _ in range(length)]])
    packed = compile_model(config, total, 1, folder / "packed.dte", "--documents")
    programs = {length: compile_model(config, length, 1, folder / f"{length}.dte") for length in sorted(set(LENGTHS))}
    ratios = []
    print("| packed | alone | ratio |\n| --- | --- | --- |")
    for _ in range(repeat):
        whole = cpu_seconds(packed, f"tokens={tokens},documents={numbers}", 3)
        each = {length: cpu_seconds(program, "synthetic", 3 if length >= 512 else 20)
                for length, program in programs.items()}
        alone = each[1] + sum(each[length] - each[1] for length in LENGTHS)
        ratios.append(whole / alone)
        print(f"| {whole * 1e3:.0f} ms | {alone * 1e3:.0f} ms | {ratios[-1]:.2f} |", flush=True)
    print(f"\nmedian ratio {statistics.median(ratios):.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["lines", "step"])
    parser.add_argument("--text", type=Path, help="a text, for lines")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    print(f"{machine()} commit {commit()}", file=sys.stderr)
    with tempfile.TemporaryDirectory() as name:
        if args.what == "step":
            compare_step(Path(name), args.repeat)
        elif args.text:
            compare_lines(Path(name), args.text, args.steps)
        else:
            parser.error("lines needs --text")


if __name__ == "__main__":
    main()

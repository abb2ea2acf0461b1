#!/usr/bin/env python3
"""dtrun --data A:0.7,B:0.3 trains on the samples that reference/sampler.py says, under any plan and after --resume.

1. With --lr 0 the loss of each step is that of an evaluation of the parameters on the step's samples, which are written
   to files from the reference, for two and three sources of several formats, one of which is read many times.
2. The losses are the same on one process and on four with micro-batches, and a run that saves, ends and resumes on
   another number of processes goes on with the samples that it has not seen.
3. The line on the data has each source with its weight and epochs.
"""

import array
import json
import struct
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

from dtc_tools import BIN, compare_steps, dtc, run, train, write_npy
from reference.sampler import mixed_samples_of

LENGTH, BATCH, STEPS, SEED = 16, 8, 6, 5
CONFIG = {
    "model_type": "gpt2",
    "vocab_size": 211,
    "n_embd": 16,
    "n_head": 2,
    "n_layer": 2,
    "n_positions": LENGTH,
    "attn_pdrop": 0.0,
    "embd_pdrop": 0.0,
    "resid_pdrop": 0.0,
}


def tokens_of(count, start):
    """Returns tokens that differ from window to window."""
    return [(start + 7 * i + i * i // 11) % 211 for i in range(count)]


def write_sources(folder):
    """Writes three sources; returns [(argument, tokens)]."""
    first, second, third = tokens_of(40 * LENGTH + 9, 3), tokens_of(5 * LENGTH + 1, 90), tokens_of(300 * LENGTH, 17)
    (folder / "first.bin").write_bytes(
        struct.pack("<256i", 20240520, 1, len(first), *[0] * 253) + array.array("H", first).tobytes()
    )
    (folder / "second").write_bytes(array.array("I", second).tobytes())
    (folder / "third").mkdir()
    for number, part in enumerate((third[:1000], third[1000:])):
        (folder / "third" / f"{number}.bin").write_bytes(array.array("H", part).tobytes())
    return [(folder / "first.bin", first), (f"u32:{folder / 'second'}", second), (folder / "third", third)]


def losses_of(lines):
    return [line["loss"] for line in lines]


def check_samples(folder, program, sources, weights):
    argument = ",".join(f"{path}:{weight}" for (path, _), weight in zip(sources, weights))
    found = losses_of(
        train(program, 1, argument, STEPS, "--seed", SEED, "--lr", 0, "--init", folder / "start.safetensors")
    )
    sizes, wanted = [(len(tokens) - 1) // LENGTH for _, tokens in sources], []
    for step in range(1, STEPS + 1):
        rows = [
            sources[source][1][sample * LENGTH : sample * LENGTH + LENGTH + 1]
            for source, sample in mixed_samples_of(step, BATCH, sizes, [Fraction(w) for w in weights], SEED)
        ]
        for name, begin in (("tokens", 0), ("targets", 1)):
            write_npy(
                folder / f"{name}.npy",
                "<i4",
                "i",
                (BATCH, LENGTH),
                [token for row in rows for token in row[begin : begin + LENGTH]],
            )
        data = f"tokens={folder / 'tokens.npy'},targets={folder / 'targets.npy'}"
        lines = train(program, 1, data, 0, "--eval-data", data, "--init", folder / "start.safetensors")
        wanted.append(lines[0]["eval_loss"])
    compare_steps(found, wanted, 1e-6, f"{argument}: loss", "the reference's samples")
    return argument


def check_plans(folder, argument):
    start = folder / "start.safetensors"
    alone = losses_of(train(folder / "one.dte", 1, argument, STEPS, "--seed", SEED, "--init", start))
    four = losses_of(train(folder / "four.dte", 4, argument, STEPS, "--seed", SEED, "--init", start))
    compare_steps(four, alone, 1e-5, "four processes: loss", "one process")
    half = train(
        folder / "four.dte", 4, argument, 3, "--seed", SEED, "--init", start, "--checkpoint-dir", folder / "saved"
    )
    rest = train(
        folder / "one.dte", 1, argument, STEPS, "--seed", SEED, "--checkpoint-dir", folder / "saved", "--resume"
    )
    compare_steps(
        losses_of(half) + losses_of(rest), alone, 1e-5, "a resumed run: loss", "one that was not interrupted"
    )
    if len(rest) != STEPS - 3:
        sys.exit(f"FAILED: the resumed run has {len(rest)} steps")


def check_line(folder, sources):
    argument = ",".join(f"{path}:{weight}" for (path, _), weight in zip(sources, ("0.7", "0.3")))
    flags = [BIN / "dtrun", folder / "one.dte", "--data", argument, "--steps", 50]
    out = run([*flags, "--format", "json"]).splitlines()[0]
    data = json.loads(out)["data"]
    wanted = [
        {
            "path": str(path),
            "weight": weight,
            "tokens": len(tokens),
            "samples": samples,
            "epochs": 50 * BATCH * weight / samples,
        }
        for (path, tokens), weight, samples in zip(sources, (0.7, 0.3), (40, 5))
    ]
    for part, want in zip(data["sources"], wanted):
        if {**part, "epochs": 0} != {**want, "epochs": 0} or abs(part["epochs"] - want["epochs"]) > 1e-6:
            sys.exit(f"FAILED: the line on the data has {part}, wanted {want}")
    if data["samples"] != 45 or data["epochs"] is not None:
        sys.exit(f"FAILED: the line on the data is {out}")
    text = next(line for line in run(flags).splitlines() if line.startswith("data: "))
    if (
        f"0.7 of '{sources[0][0]}' (40 samples, 7 epochs) and 0.3 of '{sources[1][0]}' (5 samples, 24 epochs)"
        not in text
    ):
        sys.exit(f"FAILED: the line on the data is {text}")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "config.json").write_text(json.dumps(CONFIG))
        for program, flags in (("one", ()), ("four", ("--devices", 4, "--fix", "dp=2,tp=2,micro_batch=2"))):
            dtc(
                "compile",
                folder / "config.json",
                "--seq-len",
                LENGTH,
                "--topology",
                "cpu",
                "--global-batch",
                BATCH,
                "--precision",
                "f32",
                "--lr-schedule",
                "constant",
                *flags,
                "-o",
                folder / f"{program}.dte",
            )
        sources = write_sources(folder)
        train(folder / "one.dte", 1, "synthetic", 1, "--lr", 0, "--dump-params", folder / "start.safetensors")
        argument = check_samples(folder, folder / "one.dte", sources[:2], ("0.7", "0.3"))
        check_samples(folder, folder / "one.dte", sources, ("0.125", "0.375", "0.5"))
        check_plans(folder, argument)
        check_line(folder, sources)
    print("mixing: the reference's samples under every plan")


if __name__ == "__main__":
    main()

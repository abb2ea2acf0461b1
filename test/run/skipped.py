#!/usr/bin/env python3
"""A step whose gradients are not finite changes nothing, on any rank, and is counted; a loss scale follows.

Samples of models/digits with an infinite pixel make the gradients of the step that reads them not finite: of one rank
alone, if the sample is one rank's. To the bit:
1. after that step every rank has the parameters that it had;
2. the step after it equals the first step of a run that never saw it: no moment has moved, and averages count applied
   steps.

The same holds for a token whose embedding is infinite, which the first stage of a pipeline alone reads: all stages
skip that step. Dumping the gradients of a step, skipped or not, changes no bit of its update of parameters, with and
without dims. 33 such steps in a row end the run with exit code 4; a loss scale halves at each, and doubles after 2000
applied steps.
"""
import json
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from additions import add_to
from dtc_tools import BIN, as_bytes, dtc, read_safetensors, rows_of, train, write_npy, write_safetensors
from inputs import ignoring
from written import text_of

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "reference"))
from sampler import samples_of  # noqa: E402

DIGITS = HERE.parents[1] / "models" / "digits" / "digits.mlir"
BATCH, PIXELS, SEED = 8, 64, 5
WORDS = 8
LLAMA = {"model_type": "llama", "vocab_size": 61, "max_position_embeddings": WORDS, "hidden_size": 16,
         "intermediate_size": 24, "num_hidden_layers": 4, "num_attention_heads": 2, "num_key_value_heads": 2,
         "hidden_act": "silu", "initializer_range": 0.08, "tie_word_embeddings": False}

WRITTEN = {"model_type": "written", "vocab_size": 61, "width": 12, "n_layer": 2, "shared": False, "skip": False,
           "positions": False, "tied": True, "penalty": "", "penalty_form": "squares"}


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def write_samples(folder, name, samples):
    """Writes `samples`, (pixels, label) each; returns the argument of --data."""
    images, labels = folder / f"{name}-images.npy", folder / f"{name}-labels.npy"
    write_npy(images, "<f4", "f", (len(samples), PIXELS), [pixel for pixels, _ in samples for pixel in pixels])
    write_npy(labels, "<i4", "i", (len(samples),), [label for _, label in samples])
    return f"images={images},labels={labels}"


def placed(steps):
    """Returns the samples in the order of a file from which step i reads steps[i]."""
    size = BATCH * len(steps)
    samples = [None] * size
    for step, batch in enumerate(steps, 1):
        for sample, place in zip(batch, samples_of(step, BATCH, size, SEED), strict=True):
            samples[place] = sample
    return samples


def random_batch(rng):
    return [([rng.uniform(0, 16) for _ in range(PIXELS)], rng.randrange(10)) for _ in range(BATCH)]


def compile_digits(folder, devices, fix, precision, optimizer):
    program = folder / "digits.dte"
    dtc("compile", DIGITS, "--topology", "cpu", "--devices", devices, "--global-batch", BATCH, "--precision", precision,
        "--optimizer", optimizer, "--lr-schedule", "constant", *(["--fix", fix] if fix else []), "-o", program)
    return program


def check_step(folder, devices, fix, precision, optimizer, bad):
    what = f"{precision}, {optimizer}, {devices} ranks {fix}, a pixel is {bad}"
    rng = random.Random(7)
    broken, good = random_batch(rng), random_batch(rng)
    broken[BATCH - 1][0][3] = bad  # a sample of the last rank
    program = compile_digits(folder, devices, fix, precision, optimizer)
    both, alone = (write_samples(folder, name, placed(steps))
                   for name, steps in (("both", [broken, good]), ("alone", [good])))
    files = {}
    for name, data, steps in (("start", alone, 0), ("after", both, 2), ("wanted", alone, 1)):
        files[name] = folder / f"{name}.safetensors"
        rows = train(program, devices, data, steps, "--seed", SEED, "--dump-params", files[name])
        if name == "after":
            check([row["skipped_steps"] for row in rows] == [1, 1],
                  f"{what}: {rows} do not count one step that was skipped")
            check(rows[0]["grad_norm"] is None, f"{what}: the gradient norm is {rows[0]['grad_norm']}")
            scales = [65536, 32768] if precision == "f16" else [None, None]
            check([row["loss_scale"] for row in rows] == scales, f"{what}: the loss scale is not {scales} in {rows}")
    check(files["start"].read_bytes() != files["wanted"].read_bytes(), f"{what}: a good step changes nothing")
    check(files["after"].read_bytes() == files["wanted"].read_bytes(), f"{what}: the skipped step has left something")
    # Such a loss in the last step ends the run: the run cannot show otherwise how training goes on.
    last = write_samples(folder, "last", placed([good, broken]))
    result = subprocess.run([BIN / "dtrun", program, "-n", str(devices), "--data", last, "--steps", "2", "--seed",
                             str(SEED)],
                            capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)
    check(result.returncode == 4 and "training diverged" in result.stderr,
          f"{what}: a last step like that ends with {result}")


def write_text(path, steps):
    """Writes the text from which step i reads steps[i], a list of samples of WORDS tokens.

    A sample ends with the next one's first token, 1.
    """
    path.write_bytes(bytes(token for sample in placed(steps) for token in [1, *sample]) + bytes([1]))
    return as_bytes(path)


def check_stages(folder, fix, precision):
    what = f"{precision}, {fix}, an embedding is infinite"
    rng = random.Random(11)
    broken, good = ([[rng.randrange(60) for _ in range(WORDS - 1)] for _ in range(BATCH)] for _ in range(2))
    broken[BATCH - 1][2] = 60
    config, program = folder / "config.json", folder / "llama.dte"
    config.write_text(json.dumps(LLAMA))
    degrees = dict(pair.split("=") for pair in fix.split(","))
    ranks = math.prod(int(degrees[key]) for key in ("dp", "tp", "pp"))
    dtc("compile", config, "--seq-len", WORDS, "--topology", "cpu", "--devices", ranks, "--global-batch", BATCH,
        "--precision", precision, "--lr-schedule", "constant", "--fix", fix, "-o", program)
    both, alone = (write_text(folder / f"{name}.txt", steps)
                   for name, steps in (("both", [broken, good]), ("alone", [good])))
    start, files = folder / "start.safetensors", {}
    train(program, ranks, alone, 0, "--seed", SEED, "--dump-params", start)
    tensors = read_safetensors(start)
    shape, table = tensors["model.embed_tokens.weight"]
    table[60 * shape[1]] = math.inf
    write_safetensors(start, tensors)
    for name, data, steps in (("before", both, 0), ("after", both, 2), ("wanted", alone, 1)):
        files[name] = folder / f"{name}.safetensors"
        rows = train(program, ranks, data, steps, "--seed", SEED, "--init", start, "--dump-params", files[name])
        if name == "after":
            check([row["skipped_steps"] for row in rows] == [1, 1],
                  f"{what}: {rows} do not count one step that was skipped")
            scales = [65536, 32768] if precision == "f16" else [None, None]
            check([row["loss_scale"] for row in rows] == scales, f"{what}: the loss scale is not {scales} in {rows}")
    check(files["before"].read_bytes() != files["wanted"].read_bytes(), f"{what}: a good step changes nothing")
    check(files["after"].read_bytes() == files["wanted"].read_bytes(), f"{what}: the skipped step has left something")


def check_end(folder, precision):
    rng = random.Random(8)
    samples = random_batch(rng)
    for pixels, _ in samples:
        pixels[0] = math.inf
    program = compile_digits(folder, 1, "", precision, "adamw")
    result = subprocess.run([BIN / "dtrun", program, "--data", write_samples(folder, "all", samples), "--steps", "100",
                             "--format", "json"], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)
    rows = rows_of(result.stdout)
    check(result.returncode == 4 and "33 steps" in result.stderr,
          f"{precision}: ends with {result.returncode}, {result.stderr}")
    check([row["skipped_steps"] for row in rows] == list(range(1, 34)), f"{precision}: {len(rows)} steps")
    if precision == "f16":
        scales = [max(65536 >> step, 1) for step in range(33)]
        check([row["loss_scale"] for row in rows] == scales, f"the loss scale does not halve: {rows}")


def check_growth(folder):
    rng = random.Random(9)
    program = compile_digits(folder, 1, "", "f16", "sgd")
    rows = train(program, 1, write_samples(folder, "many", random_batch(rng)), 2002, "--lr", "1e-3")
    check([row["loss_scale"] for row in rows] == [65536] * 2000 + [131072] * 2,
          "the loss scale does not double after 2000 steps")
    check(rows[-1]["skipped_steps"] == 0 and rows[-1]["loss"] < rows[0]["loss"], f"f16 does not train: {rows[-1]}")


def check_dumps(folder, devices, fix, precision, text, skipped):
    """Checks dumps of gradients; `skipped` is the number of skipped steps, of two. Dumps the first one's and the
    second one's.
    """
    what = f"{precision}, {devices} ranks {fix}"
    model, data, program = folder / "model.mlir", folder / "text.txt", folder / "model.dte"
    model.write_text(text)
    rng = random.Random(13)
    data.write_bytes(bytes(rng.randrange(61) for _ in range(4000)))
    dtc("compile", model, "--topology", "cpu", "--devices", devices, "--global-batch", 4, "--precision", precision,
        "--lr-schedule", "constant", *(["--fix", fix] if fix else []), "-o", program)
    dumps = ["--dump-grads", folder / "gradients.safetensors"]
    for steps, each in ((1, [[], dumps]), (2, [[], dumps, [*dumps, "--dump-grads-at", "1,2"]])):
        kept = []
        for flags in each:
            rows = train(program, devices, as_bytes(data), steps, "--seed", SEED, "--dump-params",
                         folder / "kept.safetensors", *flags)
            check(rows[-1]["skipped_steps"] == skipped,
                  f"{what}: {rows[-1]['skipped_steps']} steps are skipped, wanted {skipped}")
            kept.append((folder / "kept.safetensors").read_bytes())
        check(len(set(kept)) == 1, f"{what}: dumping the gradients of step {steps} changes parameters")
    for step in (1, 2):
        of_step = (folder / f"gradients.step{step}.safetensors").read_bytes()
        check((of_step == (folder / "gradients.safetensors").read_bytes()) == (step == 2),
              f"{what}: gradients of step {step}")
    found = read_safetensors(folder / "gradients.safetensors")["gain"][1][0]
    wanted = 0.04 * read_safetensors(folder / "kept.safetensors")["gain"][1][0]
    check(abs(found - wanted) < 1e-2 * wanted,
          f"{what}: the gradient of 0.02 times the square of 'gain' is {found}, wanted {wanted}")


def main():
    # In f16 the gradient of a term without dims is the loss scale, which is infinite in the first step.
    text = add_to(text_of(WRITTEN, WORDS), ("gain_penalty",))
    for devices, fix, precision, model, skipped in [
            (1, "", "f16", text, 1), (2, "dp=1,tp=1,pp=2,micro_batch=4,schedule=gpipe", "f16", text, 1),
            (1, "", "f32", text, 0), (1, "", "f32", ignoring(text, 7), 0),
            (2, "dp=2,micro_batch=1", "bf16", ignoring(text, 7), 0)]:
        with tempfile.TemporaryDirectory() as name:
            check_dumps(Path(name), devices, fix, precision, model, skipped)
    cases = [(1, "", "f32", "adamw", math.inf), (2, "dp=2,zero=1", "f32", "adamw", math.nan),
             (2, "tp=2", "f32", "sgd", -math.inf), (1, "", "bf16", "sgd", math.inf),
             (2, "dp=2,zero=1", "bf16", "adamw", math.inf), (2, "dp=2,micro_batch=1", "f16", "adamw", math.nan),
             (2, "dp=2,zero=1", "f16", "adamw", math.inf)]
    for case in cases:
        with tempfile.TemporaryDirectory() as name:
            check_step(Path(name), *case)
    stages = [("dp=1,tp=1,pp=2,micro_batch=2,schedule=1f1b", "f32"), ("dp=1,tp=1,pp=2,micro_batch=2,schedule=1f1b",
                                                                      "f16"),
              ("dp=2,tp=1,pp=2,micro_batch=1,schedule=zero-bubble,virtual_stages=2,zero=1", "f16"),
              ("dp=1,tp=2,sp=1,pp=2,micro_batch=2,schedule=interleaved,virtual_stages=2", "bf16")]
    for case in stages:
        with tempfile.TemporaryDirectory() as name:
            check_stages(Path(name), *case)
    for precision in ("f32", "f16"):
        with tempfile.TemporaryDirectory() as name:
            check_end(Path(name), precision)
    with tempfile.TemporaryDirectory() as name:
        check_growth(Path(name))
    print(f"{len(cases) + len(stages)} kinds of steps that are not finite change nothing")


if __name__ == "__main__":
    main()

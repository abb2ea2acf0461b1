#!/usr/bin/env python3
"""dtrun --eval-data: the loss is right, and the training does not notice.

1. A tiny GPT-2 and Llama, evaluated before the first step and after the ninth on the samples of the step that
   follows, have JAX's loss of that step (the stored curve of like_jax.py), on one process and on four.
2. The same GPT-2 has dropout in training and none in evaluation: the loss of a file is the mean loss of training on
   each of its samples once at rate 0 without dropout, in batches of one, whatever the batch, and also if the last one
   is not full.
3. Losses, gradient norms and parameters of a run with evaluation are those without, to the last bit: under dp=2 with
   ZeRO and micro-batches, with dropout.
4. If targets are ignored, in uneven numbers by batch, or weighted by an input, the mean is over what counts, as if
   all samples were one batch. A loss that adds up its samples is the mean of such sums over batches.
5. A model without sequences is evaluated on files by name; it has no tokens.
"""
import array
import json
import random
import sys
import tempfile
from pathlib import Path

from dtc_tools import compare_steps, dtc, train
from inputs import (DIGITS, SAMPLES, SEQUENCE, adding_up, beside_z_loss, compile_model, ignoring, import_gpt2, weighing,
                    write_npy, write_words)
from like_jax import DATA, LOSS_TOLERANCE, compile_curve, train_model
from reference.sampler import samples_of

SUM_TOLERANCE = 2e-6  # sums in f32 of other batches, or in another order


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def evaluations(lines):
    """Returns the lines of a run that are evaluations, by step."""
    found = {line["step"]: line for line in lines if "eval_loss" in line}
    for line in found.values():
        check(list(line) == ["step", "eval_loss", "eval_tokens"], f"an evaluation is {line}")
    return found


def evaluate(dte, ranks, data, *arguments):
    """Returns the one evaluation of a run without steps, which trains on nothing."""
    lines = train(dte, ranks, data, 0, "--eval-data", data, *arguments)
    check(len(lines) == 1 and 0 in evaluations(lines), f"a run without steps prints {lines}")
    return lines[0]


def files_of(folder, tokens, samples, length):
    """Writes files with these samples of a source of tokens."""
    rows = [tokens[i * length: i * length + length + 1] for i in samples]
    for name, begin in (("x", 0), ("y", 1)):
        write_npy(folder / f"{name}.npy", "<i4", "i", (len(rows), length),
                  [word for row in rows for word in row[begin: begin + length]])
    return f"tokens={folder / 'x.npy'},targets={folder / 'y.npy'}"


def stored_tokens():
    return array.array("H", (DATA / "tokens.bin").read_bytes()[1024:])  # behind llm.c's header


def check_like_jax(folder):
    tokens = stored_tokens()
    for model in ("gpt2", "llama"):
        curve = json.loads((DATA / f"{model}.curve.json").read_text())
        length, batch, steps = curve["sequence"], curve["batch"], len(curve["loss"])
        for devices, fix in ((1, ""), (4, "dp=2,tp=2,sp=1,zero=1,micro_batch=1")):
            dte = compile_curve(folder, model, curve, devices, fix)
            for step in (0, steps - 1):
                samples = samples_of(step + 1, batch, (len(tokens) - 1) // length, curve["seed"])
                data = files_of(folder, tokens, samples, length)
                # A rate that warms up and falls follows the number of steps. So a step in its middle is evaluated in
                # the whole run.
                lines = train_model(dte, model, curve, devices, steps if step else 0, curve["adamw"]["lr"],
                                    "--eval-data", data, "--eval-every", max(step, 1))
                found = evaluations(lines)
                check(sorted(found) == ([step, steps] if step else [0]), f"evaluations after steps {sorted(found)}")
                check(found[step]["eval_tokens"] == batch * length, f"a batch has {found[step]['eval_tokens']} tokens")
                worst = compare_steps([found[step]["eval_loss"]], [curve["loss"][step]], LOSS_TOLERANCE,
                                      f"{model} on {devices} ranks {fix}: evaluation after step {step}", "JAX")
                print(f"{model} on {devices} ranks {fix}: evaluation after step {step} within {worst:.1e} of JAX")


DROPOUT = {"embd_pdrop": 0.2, "attn_pdrop": 0.2, "resid_pdrop": 0.2}


def compile_gpt2(folder, name, devices, batch, fix, changes):
    config = {**json.loads((DATA / "gpt2.json").read_text()), **changes}
    (folder / "config.json").write_text(json.dumps(config))
    dtc("compile", folder / "config.json", "--seq-len", 16, "--topology", "cpu", "--devices", devices, "--global-batch",
        batch, *(["--fix", fix] if fix else []), "-o", folder / name)
    return folder / name


def check_whole_file(folder):
    init = ["--init", DATA / "gpt2.init.safetensors"]
    data = files_of(folder, stored_tokens(), range(11), 16)
    plain = compile_gpt2(folder, "plain.dte", 1, 1, "", {})
    losses = [line["loss"] for line in train(plain, 1, data, 11, "--lr", 0, *init)]
    wanted = sum(losses) / len(losses)
    check(max(losses) > wanted * 1.01, "samples have one loss, so that any of them would do")
    for devices, batch, fix in ((1, 2, ""), (2, 2, "dp=2,zero=1"), (2, 3, "tp=2,sp=0"), (2, 4, "pp=2,micro_batch=2"),
                                (2, 16, "dp=2,micro_batch=4")):
        dte = compile_gpt2(folder, "dropout.dte", devices, batch, fix, DROPOUT)
        # The seed orders the training data such that they end with another sample.
        line = evaluate(dte, devices, data, "--seed", 2, *init)
        check(line["eval_tokens"] == 176, f"eleven samples of 16 tokens have {line['eval_tokens']}")
        what = f"a whole file in batches of {batch} on {devices} ranks {fix}"
        worst = compare_steps([line["eval_loss"]], [wanted], SUM_TOLERANCE, what, "training at rate 0")
        print(f"{what}: within {worst:.1e} of training at rate 0")


def check_training_is_the_same(folder):
    tokens = DATA / "tokens.bin"
    for devices, fix in ((1, "micro_batch=2"), (2, "dp=2,zero=1,micro_batch=1")):
        dte = compile_gpt2(folder, "both.dte", devices, 4, fix, DROPOUT)
        runs = []
        for extra in ([], ["--eval-data", tokens, "--eval-every", 2]):
            out = folder / f"{len(extra)}.safetensors"
            lines = train(dte, devices, tokens, 7, "--lr", 1e-2, "--seed", 3, "--dump-params", out, *extra)
            if extra:
                check(list(evaluations(lines)) == [2, 4, 6, 7], f"evaluations after steps {list(evaluations(lines))}")
            runs.append(([(line["loss"], line["grad_norm"]) for line in lines if "loss" in line], out.read_bytes()))
        check(runs[0][0] == runs[1][0],
              f"losses and norms on {devices} ranks are {runs[0][0]}, with evaluation {runs[1][0]}")
        check(runs[0][1] == runs[1][1], f"parameters on {devices} ranks are others with evaluation")
        print(f"training on {devices} ranks {fix}: to the last bit the same with evaluation")


PARTS = [(1, 4, "micro_batch=2"), (1, 9, "micro_batch=3"), (2, 10, "dp=2,micro_batch=1"), (2, 6, "pp=2,micro_batch=2"),
         (4, 4, "dp=2,tp=2,sp=1,zero=1,micro_batch=1"), (4, 20, "pp=2,dp=2,micro_batch=2")]


def check_parts(folder, model, data, what, wanted):
    """Checks that the evaluation is this one under all plans and batches, which cut the data differently."""
    for devices, batch, fix in PARTS:
        line = evaluate(compile_model(model, folder / "parts.dte", devices, batch, fix), devices, data)
        check(line["eval_tokens"] == wanted["eval_tokens"], f"{what}: {line['eval_tokens']} targets count")
        each = f"{what} in batches of {batch} on {devices} ranks {fix}"
        worst = compare_steps([line["eval_loss"]], [wanted["eval_loss"]], SUM_TOLERANCE, each,
                              "one batch of all samples")
        print(f"{each}: within {worst:.1e} of one batch of all samples")


def check_ignored(folder):
    model = folder / "ignoring.mlir"
    model.write_text(ignoring(import_gpt2(folder), -100))
    rng = random.Random(9)
    # The first half of the samples counts nearly nothing, the second all: a mean of batches would be another number.
    counts = iter([1, 0] * (SAMPLES // 4) + [SEQUENCE] * (SAMPLES // 2))
    data = write_words(folder, rng, lambda: next(counts))
    whole = evaluate(compile_model(model, folder / "whole.dte", 1, SAMPLES, ""), 1, data)
    check(whole["eval_tokens"] == SAMPLES // 4 + SAMPLES // 2 * SEQUENCE, f"{whole['eval_tokens']} targets count")
    check_parts(folder, model, data, "ignored targets", whole)
    nothing = evaluate(folder / "whole.dte", 1, write_words(folder, rng, lambda: 0))
    check(nothing["eval_loss"] == 0 and nothing["eval_tokens"] == 0, f"nothing counts: {nothing}")


def check_beside(folder):
    """Checks a mean over counted targets beside one over all tokens: each is that of all samples, whatever a batch
    counts.
    """
    model = folder / "beside.mlir"
    for counted in (False, True):
        model.write_text(beside_z_loss(import_gpt2(folder), -100, SEQUENCE, counted))
        counts = iter([1, 0] * (SAMPLES // 4) + [SEQUENCE] * (SAMPLES // 2))
        data = write_words(folder, random.Random(12), lambda: next(counts))
        whole = evaluate(compile_model(model, folder / "whole.dte", 1, SAMPLES, ""), 1, data)
        check(whole["eval_tokens"] == SAMPLES // 4 + SAMPLES // 2 * SEQUENCE, f"{whole['eval_tokens']} targets count")
        (step,) = train(folder / "whole.dte", 1, data, 1, "--lr", 0)
        compare_steps([whole["eval_loss"]], [step["loss"]], SUM_TOLERANCE, "a loss of two means, evaluated",
                      "training on the same samples")
        check_parts(folder, model, data, f"z-loss beside, counted {counted}", whole)


def check_weighted(folder):
    model = folder / "weighted.mlir"
    model.write_text(weighing(import_gpt2(folder)))
    rng = random.Random(10)
    data = write_words(folder, rng, lambda: SEQUENCE)
    write_npy(folder / "weights.npy", "<f4", "f", (SAMPLES, SEQUENCE),
              [rng.choice([0, 0.01, 1.5]) * (1 + i // SEQUENCE) for i in range(SAMPLES * SEQUENCE)])
    data += f",weights={folder / 'weights.npy'}"
    whole = evaluate(compile_model(model, folder / "whole.dte", 1, SAMPLES, ""), 1, data)
    check(whole["eval_tokens"] == SAMPLES * SEQUENCE, f"{whole['eval_tokens']} targets are read")
    check_parts(folder, model, data, "weighted targets", whole)


def check_sums(folder):
    model = folder / "sums.mlir"
    model.write_text(adding_up(import_gpt2(folder)))
    data = write_words(folder, random.Random(11), lambda: SEQUENCE)
    whole = evaluate(compile_model(model, folder / "whole.dte", 1, SAMPLES, ""), 1, data)
    for devices, batch, fix in ((1, 9, ""), (2, 10, "dp=2,micro_batch=1")):
        line = evaluate(compile_model(model, folder / "parts.dte", devices, batch, fix), devices, data)
        compare_steps([line["eval_loss"] * SAMPLES / batch], [whole["eval_loss"]], SUM_TOLERANCE,
                      f"sums over {batch} samples", "the sum over all")


def check_digits(folder):
    files = f"images={DIGITS / 'images.npy'},labels={DIGITS / 'labels.npy'}"
    dte = compile_model(DIGITS / "digits.mlir", folder / "digits.dte", 2, 64, "dp=2")
    found = evaluations(train(dte, 2, files, 60, "--eval-data", files, "--eval-every", 1))
    check(found[60]["eval_tokens"] is None, f"digits have no tokens: {found[60]}")
    losses = [found[step]["eval_loss"] for step in range(1, 61)]
    # The loss of all samples at once, in contrast to that of a step, falls nearly always.
    check(sum(a > b for a, b in zip(losses, losses[1:])) > 50, f"evaluations of digits are {losses}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for part in (check_like_jax, check_whole_file, check_training_is_the_same, check_ignored, check_beside,
                     check_weighted, check_sums, check_digits):
            part(Path(folder))


if __name__ == "__main__":
    main()

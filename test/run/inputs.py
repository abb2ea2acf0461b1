#!/usr/bin/env python3
"""Models with inputs of their own names train: digits as JAX trains them, and targets that are ignored under any
plan.

1. models/digits, whole and with labels of one class ignored, follows the curve that reference/make_digits.py stored,
   on one process, data parallel, tensor parallel and both, with micro-batches.
2. A tiny GPT-2 has files as targets, most of them ignored, in uneven numbers by sample: losses, gradient norms and
   parameters are those of one process under every plan. So a mean over the tokens that count is one over the whole
   step.
3. A step in which nothing counts has loss 0, no gradient, and no NaN.
4. A loss that is a sum over the batch is that of the whole batch, however it is cut.
"""
import json
import random
import re
import sys
import tempfile
from pathlib import Path

from dtc_tools import compare_steps, compare_tensors, dtc, read_safetensors, train, write_npy

HERE = Path(__file__).resolve().parent
DATA, DIGITS = HERE / "reference" / "data", HERE.parents[1] / "models" / "digits"
CURVE_TOLERANCE = 1e-3  # as in like_jax.py
PLAN_TOLERANCE = 1e-4  # as in any_plan.py


def compile_model(model, out, devices, batch, fix, *flags):
    dtc("compile", model, "--topology", "cpu", "--devices", devices, "--global-batch", batch,
        *(["--fix", fix] if fix else []), "-o", out, *flags)
    return out


def replace_loss(text, loss):
    """Replaces the mean cross entropy of the model by the text that `loss` makes of its result, operands and their
    types.
    """
    pattern = re.compile(r"( *%\w+ =) graph\.cross_entropy (%\w+, %\w+)(?: ignoring -?\d+)? mean : \((.*)\) -> "
                         r"tensor<f32>")
    text, changed = pattern.subn(lambda m: loss(m.group(1), m.group(2), m.group(3)), text)
    if changed != 1:
        sys.exit(f"FAILED: the model has {changed} mean cross entropies, wanted one")
    return text


def ignoring(text, index):
    """Returns the model with this index ignored: the mean is over what counts."""
    return replace_loss(text, lambda name, operands, types:
                        f"{name} graph.cross_entropy {operands} ignoring {index} mean : ({types}) -> tensor<f32>")


def beside_z_loss(text, index, sequence, counted=False):
    """Adds 0.05 times the mean of log(sum(exp(logits)))^2, over all tokens or over those that count."""
    rows = f"tensor<?x{sequence}xf32>"

    def loss(name, operands, types):
        (logits, targets), (of_logits, of_targets) = operands.split(", "), types.split(", ")
        mean = (f"    %z_counted = graph.counted {targets} ignoring {index} : {of_targets} to {rows}\n"
                f"    %z_mean = graph.weighted_mean %z_square, %z_counted : {rows}\n" if counted else
                f"    %z_mean = graph.reduce mean %z_square dims [0, 1] : {rows} -> tensor<f32>\n")
        return (f"    %entropy = graph.cross_entropy {operands} ignoring {index} mean : ({types}) -> tensor<f32>\n"
                f"    %z_exp = graph.exp {logits} : {of_logits}\n"
                f"    %z_sum = graph.reduce sum %z_exp dims [2] : {of_logits} -> {rows}\n"
                f"    %z_log = graph.log %z_sum : {rows}\n"
                f"    %z_square = graph.multiply %z_log, %z_log : ({rows}, {rows}) -> {rows}\n{mean}"
                f"    %z_share = graph.scale %z_mean by 0.05 : tensor<f32>\n"
                f"{name} graph.add %entropy, %z_share : (tensor<f32>, tensor<f32>) -> tensor<f32>")

    return replace_loss(text, loss)


def weighing(text):
    """Returns the model with the mean of its cross entropies by weights that are another input, one a token."""
    rows = f"tensor<?x{SEQUENCE}xf32>"
    return replace_loss(text.replace("%targets: !tokens) -> tensor<f32>",
                                     f"%targets: !tokens, %weights: {rows}) -> tensor<f32>"),
                        lambda name, operands, types:
                        f"    %rows = graph.cross_entropy {operands} : ({types}) -> {rows}\n"
                        f"{name} graph.weighted_mean %rows, %weights : {rows}")


def adding_up(text):
    """Returns the model with the sum over all rows as its loss, a sequence of them in each sample."""
    rows = f"tensor<?x{SEQUENCE}xf32>"
    return replace_loss(text, lambda name, operands, types:
                        f"    %rows = graph.cross_entropy {operands} : ({types}) -> {rows}\n"
                        f"{name} graph.reduce sum %rows dims [0, 1] : {rows} -> tensor<f32>")


def check_digits(folder):
    curve = json.loads((DATA / "digits.curve.json").read_text())
    a, text = curve["adamw"], (DIGITS / "digits.mlir").read_text()
    models = {"all": text, "counted": ignoring(text, curve["ignoring"])}
    files = f"images={DIGITS / 'images.npy'},labels={DIGITS / 'labels.npy'}"
    plans = [(1, ""), (1, "micro_batch=32"), (2, "dp=2"), (2, "tp=2"), (4, "dp=2,tp=2,zero=1,micro_batch=16")]
    for name, model in models.items():
        path = folder / f"{name}.mlir"
        path.write_text(model)
        for devices, fix in plans:
            dte = compile_model(path, folder / "digits.dte", devices, curve["batch"], fix, "--lr-schedule", "constant",
                                "--beta1", a["beta1"], "--beta2", a["beta2"], "--epsilon", a["epsilon"],
                                "--weight-decay", a["weight_decay"], "--clip-norm", a["clip"])
            wanted = curve[name]
            steps = train(dte, devices, files, len(wanted["loss"]), "--seed", curve["seed"], "--lr", a["lr"], "--init",
                          DATA / "digits.init.safetensors", "--threads", 1)
            worst = max(compare_steps([step[key] for step in steps], wanted[key], CURVE_TOLERANCE,
                                      f"digits ({name}) on {devices} ranks {fix}: {key}", "JAX")
                        for key in ("loss", "grad_norm"))
            if steps[0]["tokens_per_s"] is not None or not steps[0]["samples_per_s"] > 0:
                sys.exit(f"FAILED: digits have no tokens: {steps[0]}")
            print(f"digits ({name}) on {devices} ranks {fix}: loss {steps[-1]['loss']:.4f}, curve within {worst:.1e}")


SEQUENCE, WORDS, SAMPLES = 8, 61, 24


def write_words(folder, rng, counted):
    """Writes tokens and targets; `counted` of the targets of each sample count, the others are -100."""
    tokens = [rng.randrange(WORDS) for _ in range(SAMPLES * SEQUENCE)]
    targets = []
    for _ in range(SAMPLES):
        kept = set(rng.sample(range(SEQUENCE), counted()))
        targets += [rng.randrange(WORDS) if i in kept else -100 for i in range(SEQUENCE)]
    write_npy(folder / "tokens.npy", "<u2", "H", (SAMPLES, SEQUENCE), tokens)
    write_npy(folder / "targets.npy", "<i8", "q", (SAMPLES, SEQUENCE), targets)
    return f"tokens={folder / 'tokens.npy'},targets={folder / 'targets.npy'}"


def import_gpt2(folder):
    config = {"model_type": "gpt2", "vocab_size": WORDS, "n_positions": SEQUENCE, "n_embd": 24, "n_layer": 2,
              "n_head": 4, "initializer_range": 0.08, "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    (folder / "config.json").write_text(json.dumps(config))
    dtc("import", folder / "config.json", "--seq-len", SEQUENCE, "-o", folder / "gpt2.mlir")
    return (folder / "gpt2.mlir").read_text()


def run_words(folder, model, data, devices, fix, batch=12):
    # AdamW's epsilon is that of any_plan.py, for its reason.
    dte = compile_model(model, folder / "words.dte", devices, batch, fix, "--epsilon", 1e-3)
    steps = train(dte, devices, data, 4, "--lr", 1e-2, "--threads", 1, "--seed", 3, "--dump-params",
                  folder / "out.safetensors")
    return steps, read_safetensors(folder / "out.safetensors")


PLANS = [(1, "micro_batch=3"), (2, "dp=2,micro_batch=2"), (2, "tp=2,sp=0,micro_batch=4"), (2, "tp=2,sp=1"),
         (4, "dp=2,tp=2,sp=1,zero=1,micro_batch=3"), (2, "pp=2,micro_batch=3"), (4, "pp=2,dp=2,zero=1,micro_batch=2")]


def check_plans(folder, model, data, what):
    wanted, parameters = run_words(folder, model, data, 1, "micro_batch=12")
    for devices, fix in PLANS:
        steps, found = run_words(folder, model, data, devices, fix)
        for key in ("loss", "grad_norm"):
            compare_steps([step[key] for step in steps], [step[key] for step in wanted], PLAN_TOLERANCE,
                          f"{what} on {devices} ranks {fix}: {key}")
        worst = compare_tensors(found, parameters, PLAN_TOLERANCE, f"{what} on {devices} ranks {fix}")
        print(f"{what} on {devices} ranks {fix}: parameters within {worst:.1e}")
    return wanted


def check_words(folder):
    rng = random.Random(5)
    text = import_gpt2(folder)
    model = folder / "ignoring.mlir"
    model.write_text(ignoring(text, -100))
    # A sample counts any number of targets from none to all: micro-batches and ranks differ widely in theirs.
    check_plans(folder, model, write_words(folder, rng, lambda: rng.choice([0, 0, 1, 2, SEQUENCE])), "ignored targets")

    steps, parameters = run_words(folder, model, write_words(folder, rng, lambda: 0), 2, "dp=2,micro_batch=3")
    if any(step["loss"] != 0 or step["grad_norm"] != 0 for step in steps):
        sys.exit(f"FAILED: nothing counts, but steps have a loss or gradient: {steps}")
    if any(value != value for _, values in parameters.values() for value in values):
        sys.exit("FAILED: nothing counts, and parameters are not numbers")
    print("nothing counts: loss 0, no gradient")

    total = folder / "sum.mlir"
    total.write_text(adding_up(text))
    mean = folder / "gpt2.mlir"
    data = write_words(folder, rng, lambda: SEQUENCE)
    sums = check_plans(folder, total, data, "a sum")
    means, _ = run_words(folder, mean, data, 1, "micro_batch=12")
    if abs(sums[0]["loss"] - means[0]["loss"] * 12 * SEQUENCE) > PLAN_TOLERANCE * sums[0]["loss"]:
        sys.exit(f"FAILED: the sum is {sums[0]['loss']}, the mean {means[0]['loss']}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_digits(Path(folder))
        check_words(Path(folder))


if __name__ == "__main__":
    main()

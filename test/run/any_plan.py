#!/usr/bin/env python3
"""Any plan trains like one device: random small models x random plans on real processes, compared with one process.

Usage: any_plan.py [--cases N] [--seed S] [--shrink]; the last line is the summary, and the exit status is 0 only if
all match. The test compares every loss and norm of five steps (two on emulated GPUs), every gradient of the first
and the last step, and the parameters after them, element by element within 1e-4 of the tensor's root mean square. With
--shrink, a case that fails is made smaller as long as it fails, and printed with the commands that show it.

AdamW's epsilon is 1e-3 and not 1e-8. An update is lr * g / (|g| + epsilon), so if a gradient is zero except for
rounding (about 1e-8 here; the gradient of the bias of keys always is), two plans differ by rounding / epsilon of the
distance that the tensor has moved. With 1e-3 that is 1e-5; with 1e-8 it is arbitrary.

A plan in bf16 or f16 is compared with one process in the same type, within the distance that rounding moves each
number (rounding.py). A plan that reduces gradients in bf16 is compared in its losses and in the gradients of the
first step: see compare_reduced, and compare_rounded if the plan is in bf16 or f16 as well.

Models are GPT-2 and Llama by their configurations, and the models of written.py, which no configuration describes.
Some have ignored targets, frozen parameters, and the constructs that additions.py lists (parameters that the loss
does not read, dead blocks, tensors without dims, terms that no sample enters).
"""
import argparse
import dataclasses
import hashlib
import json
import math
import random
import re
import sys
import tempfile
from pathlib import Path

import rounding
from additions import ADDITIONS, WITHOUT_GRADIENT, add_to
from dtc_tools import (as_bytes, compare_steps, compare_tensors, dtc, dump_gradients, read_gradients,
                       read_safetensors, train)
from inputs import beside_z_loss, ignoring
from partial_sums import in_parts
from written import random_written, text_of

STEPS, TOLERANCE = 5, 1e-4
EMULATED_STEPS = 2  # the emulator takes seconds for a step
# At 1.0 LARS takes losses up and down, and magnifies rounding: half a unit in the last place of the start moved small
# gradients of step 5 by 9e-5 on one device, too.
RATES = {"adamw": 1e-2, "sgd": 0.1, "lamb": 1e-2, "lars": 0.3}
REDUCED_LOSS = 0.02  # bound of the losses of five steps with gradients that are reduced in bf16
LEAST_ONE = {"dp", "tp", "pp", "micro_batch", "virtual_stages", "bucket_mib"}  # keys whose neutral value is 1


def random_gpt2(rng):
    heads = rng.choice([2, 3, 4, 6, 12])
    width = heads * rng.choice([4, 8])
    return {"model_type": "gpt2", "vocab_size": rng.choice([61, 64, 97, 129]), "n_positions": 32, "n_embd": width,
            "n_layer": rng.choice([1, 2, 3]), "n_head": heads, "n_inner": rng.choice([None, 2 * width, 3 * width + 2]),
            "activation_function": rng.choice(["gelu", "gelu_new"]), "initializer_range": 0.08,
            "resid_pdrop": rng.choice([0.0, 0.0, 0.1]), "embd_pdrop": rng.choice([0.0, 0.0, 0.1]),
            "attn_pdrop": rng.choice([0.0, 0.0, 0.1]), "tie_word_embeddings": rng.choice([True, True, False])}


def random_llama(rng):
    kv = rng.choice([1, 2, 4])
    heads, head = kv * rng.choice([1, 2, 3]), rng.choice([4, 8])
    return {"model_type": "llama", "vocab_size": rng.choice([61, 64, 97]), "max_position_embeddings": 64,
            "hidden_size": heads * head, "head_dim": head, "intermediate_size": rng.choice([24, 40, 50]),
            "num_hidden_layers": rng.choice([1, 2, 3]), "num_attention_heads": heads, "num_key_value_heads": kv,
            "hidden_act": "silu", "initializer_range": 0.08, "tie_word_embeddings": rng.choice([True, False]),
            "attention_bias": rng.choice([True, False]), "mlp_bias": rng.choice([True, False])}


# The functions below draw a plan in this order: each adds keys of --fix to those drawn before it.
def draw_mesh(rng, fix):
    ranks = rng.choice([2, 2, 3, 4, 4, 5, 6, 8, 9])
    fix["tp"] = rng.choice([t for t in range(1, 10) if ranks % t == 0])
    fix["dp"] = ranks // fix["tp"]


def draw_stages(rng, fix):
    """Turns some of the ranks that would split the batch into stages; zero-bubble with two virtual stages is ZB-V."""
    fix["pp"] = rng.choice([1] + [pp for pp in (2, 2, 3, 4) if fix["dp"] % pp == 0])
    fix["dp"] //= fix["pp"]
    if fix["pp"] > 1:
        fix["schedule"], fix["virtual_stages"] = rng.choice(
            [("gpipe", 1), ("1f1b", 1), ("interleaved", 2), ("zero-bubble", 1), ("zero-bubble", 2), ("zb-2p", 1),
             ("v-half", 2), ("v-min", 2)])


def draw_sequence_parallel(rng, fix):
    fix["sp"] = rng.choice([0, 1]) if fix["tp"] > 1 else 0


def draw_zero(rng, fix):
    fix["zero"] = rng.choice([0, 1, 2, 3, 3]) if fix["dp"] > 1 else 0
    groups = [size for size in (2, 3, 4) if fix["dp"] % size == 0 and size < fix["dp"]]
    if fix["zero"] > 0 and groups and rng.random() < 0.5:
        fix["zero_group"] = rng.choice(groups)


def draw_buckets(rng, fix):
    # A bucket of one MiB holds any of these models; 'bucket_bytes' cuts them up (test/run/zero.py).
    if fix["dp"] > 1 and rng.random() < 0.3:
        fix["overlap"] = 0


def draw_micro_batch(rng, fix):
    fix["micro_batch"] = rng.choice([1, 2])


def draw_offload(rng, fix):
    fix["offload"] = rng.choice([0, 0, 0, 1])


def draw_recompute(rng, fix):
    fix["recompute"] = rng.choice(["none", "none", "selective", "full", "selective+attention", "selective+linear"])


def draw_precision(rng, fix):
    fix["precision"] = rng.choice(["f32", "f32", "bf16", "f16"])


def draw_grad_dtype(rng, fix):
    if fix["precision"] == "f32" and rng.random() < 0.2:
        fix["grad_dtype"] = "bf16"


def draw_axis_order(rng, fix):
    """Draws which axes are innermost on the links; cp has one rank."""
    order = rng.sample(["tp", "dp", "pp"], 3)
    if sum(fix[axis] > 1 for axis in order) > 1 and rng.random() < 0.5:
        fix["axis_order"] = "-".join([*order, "cp"])


DRAWS = [draw_mesh, draw_stages, draw_sequence_parallel, draw_zero, draw_buckets, draw_micro_batch, draw_recompute,
         draw_precision, draw_grad_dtype, draw_offload, draw_axis_order]
# These draws are flags, and not keys of --fix.
FLAGS = {"precision": "--precision", "grad_dtype": "--grad-dtype", "target": "--target",
         "coupled_decay": "--coupled-decay"}


@dataclasses.dataclass
class Case:
    """A model and two ways of training it: under the plan of `fix`, and on one process."""
    config: dict
    sequence: int
    batch: int
    optimizer: str
    fix: dict
    seed: int
    ignored: int | None = None  # a token that does not count as a target, so that the mean is over the others
    z_loss: str = ""  # "all" or "counted": adds a z-loss over these tokens to that mean
    frozen: float = 0.0  # approximate share of the declarations of parameters that are frozen
    additions: tuple = ()  # elements of ADDITIONS

    @property
    def ranks(self):
        return math.prod(self.fix.get(key, 1) for key in ("dp", "tp", "pp"))

    def __str__(self):
        return (f"{self.config['model_type']} {json.dumps(self.config)} seq-len {self.sequence} batch {self.batch} "
                f"{self.fix} "
                f"{self.optimizer} seed {self.seed}" + ("" if self.ignored is None else f" ignoring {self.ignored}")
                + (f" beside the z-loss of {self.z_loss}" if self.z_loss else "")
                + (f" frozen {self.frozen}" if self.frozen else "")
                + (f" with {' '.join(self.additions)}" if self.additions else ""))


def draw_more(rng, case):
    """Adds to a drawn case; the draws do not depend on the case, and do not change those that make it."""
    reduces, couples, adds = rng.random() < 0.3, rng.random() < 0.5, rng.random() < 0.3
    additions = rng.sample(ADDITIONS, rng.choice([1, 1, 2, 3]))
    if reduces and case.fix["precision"] != "f32":
        case.fix["grad_dtype"] = "bf16"
    if couples and case.optimizer == "sgd":
        case.fix["coupled_decay"] = True
    # The gradient of a parameter without dims is one sum over all samples: in f16 one device may find the loss scale
    # too large for it and skip a step, while micro-batches, each with its share of the sum, do not.
    if case.fix["precision"] == "f16":
        additions = [name for name in additions if not name.startswith("gain")]
    if adds:
        case.additions = tuple(name for name in ADDITIONS if name in additions)


def random_case(index, seed):
    rng = random.Random(f"{seed}/{index}")
    config = rng.choice([random_gpt2, random_gpt2, random_llama, random_llama, random_written])(rng)
    fix = {}
    for draw in DRAWS:
        draw(rng, fix)
    layers = "n_layer" if "n_layer" in config else "num_hidden_layers"
    config[layers] = max(config[layers], fix["pp"] * fix.get("virtual_stages", 1))  # a chunk has at least one
    batch = fix["dp"] * fix["micro_batch"] * rng.choice([1, 2, 3])
    # Sequence parallelism splits the sequence evenly.
    sequence = rng.choice([length for length in (8, 15, 16, 18, 24) if fix["sp"] == 0 or length % fix["tp"] == 0])
    ignored = rng.choice([None, None, 7])
    case = Case(config, sequence, batch, rng.choice(["adamw", "adamw", "sgd", "lamb", "lars"]), fix, index, ignored)
    z_loss = rng.choice(["", "", "all", "counted"])
    # In 16 bits the largest elements decide a z-loss of few rows. Elements of a gradient that stages add up in
    # another order than one device differ by one rounding, which moves their norm by more than a start that is moved
    # within a rounding does (compare_rounded).
    if ignored is not None and fix["precision"] == "f32":
        case.z_loss = z_loss
    case.frozen = rng.choice([0.0, 0.0, 0.0, 0.3, 0.7])
    draw_more(random.Random(f"{seed}/{index}/more"), case)
    return case


@dataclasses.dataclass
class Trained:
    losses: list
    norms: list  # norm of each step's gradients, before clipping
    parameters: dict
    gradients: dict  # step -> gradients
    skipped: list  # steps skipped so far, for each step


def compile_plan(dte, config, sequence, batch, optimizer, ranks, fix):
    pins = ",".join(f"{key}={value}" for key, value in fix.items() if key not in FLAGS)
    flags = [word for key, flag in FLAGS.items() if key in fix
             for word in ([flag] if fix[key] is True else [flag, fix[key]])]
    length = ["--seq-len", sequence] if config.suffix == ".json" else []  # other models state it themselves
    dtc("compile", config, *length, "--topology", "cpu", "--devices", ranks, "--global-batch", batch,
        "--optimizer", optimizer, "--epsilon", 1e-3, "--fix", pins, *flags, "-o", dte)


def run_one(folder, config, sequence, batch, optimizer, ranks, fix, data, seed, steps=STEPS):
    dte = folder / f"r{ranks}.dte"
    compile_plan(dte, config, sequence, batch, optimizer, ranks, fix)
    return run_steps(folder, dte, ranks, data, seed, RATES[optimizer], steps=steps)


def run_steps(folder, dte, ranks, data, seed, rate, *flags, steps=STEPS):
    """Trains some steps; the gradients are those of the first and of the last one."""
    dump, at = folder / "parameters.safetensors", (1, steps)
    lines = train(dte, ranks, data, steps, "--seed", seed, "--lr", rate, "--threads", 1, "--dump-params", dump,
                  *dump_gradients(folder, at), *flags)
    return Trained([line["loss"] for line in lines], [line["grad_norm"] for line in lines], read_safetensors(dump),
                   read_gradients(folder, at), [line["skipped_steps"] for line in lines])


def write_case(folder, config, rng, sequence=None):
    """Writes the files of a model and of a text to train it on; a model of written.py takes samples of `sequence`
    tokens.
    """
    is_written = config["model_type"] == "written"
    path, data = folder / ("model.mlir" if is_written else "config.json"), folder / "text.txt"
    path.write_text(text_of(config, sequence) if is_written else json.dumps(config))
    data.write_bytes(bytes(rng.randrange(61) for _ in range(4000)))
    return path, as_bytes(data)


def as_graph(path, sequence):
    """Returns the model as graph IR."""
    model = path.with_suffix(".mlir")
    if model != path:
        dtc("import", path, "--seq-len", sequence, "-o", model)
    return model


DECLARATION = re.compile(r'("[\w.]+" (?:zeros|ones|normal\([^)]*\))(?: stored \[\[[\d, \[\]]*\]\])?(?: decay)?)')


def freeze(model, share, rng):
    """Freezes about a share of the model's declarations, each in a block for all its layers; at least one parameter
    with a gradient is trained.
    """
    text = model.read_text()
    declared = DECLARATION.findall(text)
    count = len(declared)
    trained = rng.choice([index for index in range(count) if not WITHOUT_GRADIENT.match(declared[index])])
    draws = iter([index != trained and rng.random() < share for index in range(count)])
    model.write_text(DECLARATION.sub(lambda found: found.group(1) + (" frozen" if next(draws) else ""), text))


def ignore_often(model, token, sequence, z_loss, rng):
    """Makes the model ignore a target token that now is frequent in the text, at different rates in different places.
    """
    text = model.read_text()
    model.write_text(beside_z_loss(text, token, sequence, z_loss == "counted") if z_loss else ignoring(text, token))
    file = model.with_name("text.txt")
    text = file.read_bytes()
    file.write_bytes(bytes(token if rng.random() < 0.7 * at / len(text) else word for at, word in enumerate(text)))
    return model


def compare_gradients(found, wanted, what):
    """Compares gradients; one that is zero except for rounding is compared at the scale of 1e-3 of the root mean
    square of all.
    """
    squares = sum(float(value) * value for _, values in wanted.values() for value in values)
    floor = 1e-3 * math.sqrt(squares / max(1, sum(len(values) for _, values in wanted.values())))
    return compare_tensors(found, wanted, TOLERANCE, what, floor)


def compare_runs(found, wanted, what):
    """Compares the losses, norms, gradients and parameters of two runs."""
    compare_steps(found.losses, wanted.losses, TOLERANCE, f"{what}: loss")
    compare_steps(found.norms, wanted.norms, TOLERANCE, f"{what}: norm of the gradients")
    worst = compare_tensors(found.parameters, wanted.parameters, TOLERANCE, what)
    return max([worst] + [compare_gradients(found.gradients[step], wanted.gradients[step],
                                            f"{what}: gradients of step {step}")
                          for step in wanted.gradients])


def reduction_bound(ranks):
    """Returns how far adding up gradients in bf16 over ranks moves an element, as a share of the tensor's largest
    one.

    A rank's addend of an element is rounded by at most 2^-9 of itself, and so is each of at most `ranks` partial
    sums. Roundings are independent, and addends exceed the tensor's largest element by little: 2 * ranks of them make
    no more than sqrt(2 * ranks) * 2^-9 of it. The bound is four times as far, and an addend that is left out, or
    counted twice, is further off.
    """
    return 4 * math.sqrt(2 * ranks) * 2.0 ** -9


def compare_reduced(found, wanted, ranks, what):
    """Compares a run whose ranks add up gradients in bf16 with one that adds up none; returns the largest share of a
    bound.

    The effect of the roundings over five steps depends on the optimizer, so only the losses, which hardly follow
    them, are compared from step to step.
    """
    worst = compare_steps(found.losses[:1], wanted.losses[:1], TOLERANCE, f"{what}: loss")
    compare_steps(found.losses, wanted.losses, REDUCED_LOSS, f"{what}: loss")
    bound = reduction_bound(ranks)
    compare_steps(found.norms[:1], wanted.norms[:1], bound, f"{what}: norm of the gradients")
    found, wanted = found.gradients[1], wanted.gradients[1]
    whole = max((abs(value) for _, values in wanted.values() for value in values), default=0.0)
    if sorted(found) != sorted(wanted):
        sys.exit(f"FAILED: {what}: gradients {sorted(set(found) ^ set(wanted))} are in one file only")
    for name, (shape, values) in wanted.items():
        largest = max([1e-3 * whole, *map(abs, values)])
        if found[name][0] != shape:
            sys.exit(f"FAILED: {what}: gradient '{name}' has shape {found[name][0]}, wanted {shape}")
        for a, b in zip(found[name][1], values, strict=True):
            share = rounding.within(a, b, bound * largest, f"{what}: an element of gradient '{name}'")
            worst = max(worst, share * TOLERANCE)
    return worst


def draw_rounding(folder, path, sequence, batch, optimizer, one, data, seed, parts=1,
                  steps=STEPS):
    """Trains on one process with the roundings of a plan with tensor parallelism over `parts` ranks: see rounding.py,
    2 and 3.

    `one` is the value of --fix for one process, with its precision.
    """
    start, moved, draws = folder / "start.safetensors", folder / "moved.safetensors", []
    whole, dte, model = folder / "f32.dte", folder / "draws.dte", path
    compile_plan(whole, path, sequence, batch, optimizer, 1, {**one, "precision": "f32"})
    train(whole, 1, data, 0, "--seed", seed, "--dump-params", start)
    if parts > 1:
        model = folder / "parts.mlir"
        model.write_text(in_parts(as_graph(path, sequence).read_text(), parts))
    compile_plan(dte, model, sequence, batch, optimizer, 1, one)
    for draw in range(rounding.DRAWS):
        rounding.write_moved(start, moved, one["precision"], draw)
        draws.append(run_steps(folder, dte, 1, data, seed, RATES[optimizer], "--init", moved, steps=steps))
    for left in (start, moved, whole, dte):
        left.unlink()
    return draws


def compare_rounded(found, wanted, draws, precision, what, reduction=0.0):
    """Compares two runs in 16 bits as compare_runs does, within the bounds of rounding; returns the largest share of
    a bound.

    `reduction` is the reduction_bound of a run whose ranks add up gradients in bf16; compare_reduced lists what is
    compared then.
    """
    compared = rounding.Compared(precision, TOLERANCE, reduction)
    # A loss scale may be too large by so little that rounding decides; gradients of skipped steps are no numbers.
    sure = all(draw.skipped == wanted.skipped for draw in draws)
    if sure and found.skipped != wanted.skipped:
        sys.exit(f"FAILED: {what}: steps skipped are {found.skipped}, one device has {wanted.skipped}")
    steps = 1 if reduction else len(wanted.losses)
    compared.numbers(found.losses[:steps], wanted.losses[:steps], [draw.losses for draw in draws],
                     f"{what}: loss of step")
    if reduction:
        compared.numbers(found.losses, wanted.losses, [draw.losses for draw in draws], f"{what}: loss of step",
                         REDUCED_LOSS)
    if sure and wanted.skipped[steps - 1] == 0:
        compared.numbers(found.norms[:steps], wanted.norms[:steps], [draw.norms for draw in draws],
                         f"{what}: gradient norm of step", reduction)
    for step in wanted.gradients if sure else ():
        if step <= steps and wanted.skipped[step - 1] == (wanted.skipped[step - 2] if step > 1 else 0):
            compared.tensors(found.gradients[step], wanted.gradients[step], [draw.gradients[step] for draw in draws],
                             f"{what}: gradients of step {step}")
    if not reduction:
        compared.tensors(found.parameters, wanted.parameters, [draw.parameters for draw in draws], what, is_kept=True)
    return compared.worst * TOLERANCE


def contents_of(data):
    """Returns the bytes of the files that a value of --data names."""
    files = [Path(re.sub(r"^(?:\w+=)?(?:\w+:)?", "", part)) for part in data.split(",")]
    return [hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else data for file in files]


# This maps (how, what) to the result of the last models on one process; several plans are compared with it.
TRAINED = {}
MOST_TRAINED = 4


def train_once(train, how, path, data, *what):
    """Calls train() once; its result depends on `how`, `what`, and the contents of the files of the model and the
    data.
    """
    key = (how, path.read_bytes(), *contents_of(data), *map(str, what))
    if key not in TRAINED:
        TRAINED[key] = train()
        while len(TRAINED) > MOST_TRAINED:
            del TRAINED[next(iter(TRAINED))]
    return TRAINED[key]


def match_one_device(folder, path, sequence, batch, optimizer, ranks, fix, data, seed, what):
    one = {"dp": 1, "tp": 1, "micro_batch": batch, **{key: fix[key] for key in FLAGS if key in fix and key != "target"}}
    steps = EMULATED_STEPS if fix.get("target") == "simt" else STEPS
    case = (sequence, batch, optimizer, sorted(one.items()), seed, steps)
    wanted = train_once(lambda: run_one(folder, path, sequence, batch, optimizer, 1, one, data, seed, steps),
                        "one device", path, data, *case)
    precision, draws, parts = fix.get("precision", "f32"), [], int(fix.get("tp", 1))
    if precision != "f32":
        draws = train_once(lambda: draw_rounding(folder, path, sequence, batch, optimizer, one, data, seed, parts,
                                                 steps), "rounding", path, data, *case, parts)
    found = run_one(folder, path, sequence, batch, optimizer, ranks, fix, data, seed, steps)
    reduces = fix.get("grad_dtype") == "bf16"
    if draws:
        return compare_rounded(found, wanted, draws, precision, what, reduction_bound(ranks) if reduces else 0.0)
    return compare_reduced(found, wanted, ranks, what) if reduces else compare_runs(found, wanted, what)


def write_whole_case(folder, case):
    """Writes the files of a case's model, with all additions, and of its text."""
    rng = random.Random(case.seed)
    path, data = write_case(folder, case.config, rng, case.sequence)
    if case.ignored is not None or case.frozen > 0 or case.additions:
        path = as_graph(path, case.sequence)
    if case.ignored is not None:
        ignore_often(path, case.ignored, case.sequence, case.z_loss, rng)
    if case.additions:
        path.write_text(add_to(path.read_text(), case.additions))
    if case.frozen > 0:
        freeze(path, case.frozen, rng)
    return path, data


def try_case(case, what):
    """Returns the largest difference; exits if it is too large or a command fails."""
    with tempfile.TemporaryDirectory() as name:
        path, data = write_whole_case(Path(name), case)
        return match_one_device(Path(name), path, case.sequence, case.batch, case.optimizer, case.ranks, case.fix, data,
                                case.seed, f"{what}: {case}")


def run_case(index, seed):
    return try_case(random_case(index, seed), f"case {index}")


def smaller(case):
    """Yields slightly simpler cases, beginning with those that take most away."""
    if len(case.additions) > 1:
        yield dataclasses.replace(case, additions=())
    for name in case.additions:
        yield dataclasses.replace(case, additions=tuple(other for other in case.additions if other != name))
    if case.frozen > 0:
        yield dataclasses.replace(case, frozen=0.0)
    if case.z_loss:
        yield dataclasses.replace(case, z_loss="")
    if case.ignored is not None:
        yield dataclasses.replace(case, ignored=None, z_loss="")
    if case.fix.get("recompute", "none") != "none":
        yield dataclasses.replace(case, fix={**case.fix, "recompute": "none"})
    for left_out in ("grad_dtype", "coupled_decay"):
        if left_out in case.fix:
            yield dataclasses.replace(case, fix={key: value for key, value in case.fix.items() if key != left_out})
    if case.fix.get("precision", "f32") != "f32":
        yield dataclasses.replace(case, fix={**case.fix, "precision": "f32"})
    if "axis_order" in case.fix:
        yield dataclasses.replace(case, fix={key: value for key, value in case.fix.items() if key != "axis_order"})
    for key, value in case.fix.items():
        least = 1 if key in LEAST_ONE else 0
        if key not in FLAGS and isinstance(value, int) and value > least:
            for less in sorted({least, value // 2} - {value}):
                fix = {**case.fix, key: less}
                if fix["tp"] == 1:
                    fix["sp"] = 0
                if fix["dp"] == 1:
                    fix["zero"] = 0
                if fix.get("pp", 1) == 1:
                    fix.pop("schedule", None), fix.pop("virtual_stages", None)
                elif fix["schedule"] != "zero-bubble" and (fix["virtual_stages"] > 1) != (
                        fix["schedule"] in ("interleaved", "v-half", "v-min")):
                    fix["schedule"] = "1f1b"
                if fix["zero"] == 0 or fix["dp"] != case.fix["dp"]:
                    fix.pop("zero_group", None)
                parts = fix["dp"] * fix["micro_batch"]
                yield dataclasses.replace(case, fix=fix, batch=parts * max(1, case.batch // parts))
    parts = case.fix["dp"] * case.fix["micro_batch"]
    if case.batch > parts:
        yield dataclasses.replace(case, batch=parts)
    for key in ("n_layer", "num_hidden_layers"):
        least = case.fix.get("pp", 1) * case.fix.get("virtual_stages", 1)
        if case.config.get(key, 1) > least:
            yield dataclasses.replace(case, config={**case.config, key: least})
    for key in ("resid_pdrop", "embd_pdrop", "attn_pdrop", "tie_word_embeddings", "attention_bias", "mlp_bias",
                "penalty", "skip", "tied"):
        if case.config.get(key):
            yield dataclasses.replace(case, config={**case.config, key: type(case.config[key])(0)})
    for key in ("shared", "positions"):
        if case.config.get(key) and case.config["penalty"] != key:
            yield dataclasses.replace(case, config={**case.config, key: False})
    if case.sequence > 8:
        yield dataclasses.replace(case, sequence=8)


def shrink(case, trials=60):
    """Returns the smallest case found that fails as well, and its message."""
    said, progress = None, True
    while progress and trials > 0:
        progress = False
        for candidate in smaller(case):
            trials -= 1
            try:
                try_case(candidate, "smaller")
            except SystemExit as failure:
                case, said, progress = candidate, failure, True
                break
            if trials <= 0:
                break
    return case, said


def run_cases(description, count, run, summarise, shrunk=None):
    """Runs `run(index, seed)` for each case that the command line asks for and prints a line on their results.

    `shrunk(index, seed)` prints a smaller case of one that failed; it is called with --shrink. Returns the results,
    which lack those of failed cases, and whether all match.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--cases", type=int, default=count)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="run this case alone")
    if shrunk:
        parser.add_argument("--shrink", action="store_true", help="look for smaller cases that fail as well")
    arguments = parser.parse_args()
    cases = range(arguments.cases) if arguments.only is None else [arguments.only]
    results, failed = [], []
    for index in cases:
        try:
            results.append(run(index, arguments.seed))
        except SystemExit as failure:
            print(failure, flush=True)
            failed.append(index)
            if shrunk and arguments.shrink:
                shrunk(index, arguments.seed)
    print(f"{len(results)} of {len(cases)} cases match one device, {summarise(results)}"
          + (f"; failed: {failed}" if failed else ""))
    return results, not failed


def run_listed_cases(description, count, run, *checks):
    """Runs a test of `count` cases that are written down: each case, which returns its difference from one device,
    and then the checks, which --only leaves out.
    """
    results, match = run_cases(description, count, lambda index, _seed: run(index),
                               lambda results: f"largest difference {max(results, default=0):.2e}")
    if not match:
        sys.exit(1)
    if len(results) == count:
        for check in checks:
            check()


def print_shrunk(index, seed):
    case, said = shrink(random_case(index, seed))
    print(f"shrunk: {case}\n{said or 'no smaller case fails'}", flush=True)


def main():
    _, match = run_cases(__doc__, 40, run_case, lambda results: f"largest difference {max(results, default=0):.2e}",
                         print_shrunk)
    sys.exit(0 if match else 1)


if __name__ == "__main__":
    main()

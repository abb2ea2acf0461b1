#!/usr/bin/env python3
"""Gradients that ranks of data parallelism exchange compressed (docs/slow-links.md).

1. Twenty steps of a small network on 2 and 4 ranks are those of the formulas, written here with lists of numbers:
   losses, parameters, and what each rank has not sent. The first step gives most matrices a gradient of zero, after
   which PyTorch's PowerSGD of rank 1 or 2 never trains them: these are trained.
2. A rank sends the bytes of the formula, in the program and in a run.
3. A run goes on from its checkpoint to the same bits; on another number of ranks nothing that was not sent is lost.
4. compress=none gives the bytes of a program that does not name it.
5. What can't be compressed is refused in one line.
"""
import json
import math
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "reference"))

from dtc_tools import BIN, compare_steps, dtc, run, train, write_npy
from optimizer_states import check
from sampler import samples_of

TOLERANCE = 1e-5  # the project's for 20 steps in f32
REST = 1e-4  # of errors: what is left of a gradient turns with directions of nearly equal weight, and rounds more
BATCH, SAMPLES, WIDTH, OUT, LAYERS, STEPS, RATE, SEED = 8, 24, 16, 32, 2, 20, 0.5, 5
MODEL = f"""!x = tensor<?x{WIDTH}xf32>
!y = tensor<?x{OUT}xf32>
!w = tensor<{WIDTH}x{WIDTH}xf32>
!c = tensor<{WIDTH}xf32>
!h = tensor<{WIDTH}x{OUT}xf32>
module @slow {{
  graph.func private @block(%x: !x) -> !x {{
    %w = graph.param "weight" normal(0.0, 0.3) decay : !w
    %b = graph.param "bias" zeros : !c
    %y = graph.linear %x, %w : (!x, !w) -> !x
    %z = graph.add %y, %b : (!x, !c) -> !x
    %t = graph.tanh %z : !x
    graph.return %t : !x
  }}
  graph.func @loss(%images: !x, %targets: !y) -> tensor<f32> {{
    %head = graph.param "head" zeros decay : !h
    %z = graph.repeat {LAYERS} @block(%images) under "layers.{{}}" : (!x) -> !x
    %p = graph.linear %z, %head : (!x, !h) -> !y
    %d = graph.subtract %p, %targets : (!y, !y) -> !y
    %s = graph.multiply %d, %d : (!y, !y) -> !y
    %l = graph.reduce mean %s dims [0, 1] : !y -> tensor<f32>
    graph.return %l : tensor<f32>
  }}
}}
"""
MATRICES = [f"layers.{layer}.weight" for layer in range(LAYERS)] + ["head"]
VECTORS = [f"layers.{layer}.bias" for layer in range(LAYERS)]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def product(a, b):
    columns = list(zip(*b))
    return [[dot(row, column) for column in columns] for row in a]


def transposed(a):
    return [list(row) for row in zip(*a)]


def combined(a, b, factor):
    """Returns a + factor * b."""
    return [[x + factor * y for x, y in zip(*rows)] for rows in zip(a, b)]


def total(matrices):
    result = matrices[0]
    for each in matrices[1:]:
        result = combined(result, each, 1)
    return result


def orthogonal(p):
    """Gram-Schmidt; a column of which less than 1e-4 is left is zero. Returns the columns, and which are not zero."""
    done, kept = [], []
    for column in map(list, zip(*p)):
        before = math.hypot(*column)
        for direction in done:
            share = dot(direction, column)
            column = [x - share * y for x, y in zip(column, direction)]
        norm = math.hypot(*column)
        kept.append(norm > 1e-4 * before)
        done.append([x / norm if kept[-1] else 0.0 for x in column])
    return transposed(done), kept


def power_sgd(addends, errors, q):
    """Returns the sum that ranks have, their next errors, and the next Q."""
    wanted = [combined(g, e, 1) for g, e in zip(addends, errors)]
    p, kept = orthogonal(total([product(m, q) for m in wanted]))
    next_q = total([product(transposed(m), p) for m in wanted])
    made = product(p, transposed(next_q))
    next_q = transposed([new if keep else old
                         for keep, new, old in zip(kept, transposed(next_q), transposed(q))])
    return made, [combined(m, made, -1 / len(wanted)) for m in wanted], next_q


class Network:
    """The model, its gradients and the exchange of them."""
    def __init__(self, parameters, errors, q, images, targets, ranks):
        self.parameters, self.errors, self.q = parameters, errors, q
        self.images, self.targets, self.ranks = images, targets, ranks

    def gradients(self, samples):
        """Returns the part of the loss that samples have, and its gradients."""
        kept = [[self.images[sample] for sample in samples]]
        for layer in range(LAYERS):
            (bias,) = self.parameters[f"layers.{layer}.bias"]
            kept.append([[math.tanh(x + b) for x, b in zip(row, bias)]
                         for row in product(kept[-1], self.parameters[f"layers.{layer}.weight"])])
        d = combined(product(kept[-1], self.parameters["head"]), [self.targets[sample] for sample in samples], -1)
        loss = sum(x * x for row in d for x in row) / (BATCH * OUT)
        d = [[2 * x / (BATCH * OUT) for x in row] for row in d]
        made = {"head": product(transposed(kept[-1]), d)}
        d = product(d, transposed(self.parameters["head"]))
        for layer in reversed(range(LAYERS)):
            d = [[x * (1 - t * t) for x, t in zip(*rows)] for rows in zip(d, kept[layer + 1])]
            made[f"layers.{layer}.weight"] = product(transposed(kept[layer]), d)
            made[f"layers.{layer}.bias"] = [[sum(column) for column in zip(*d)]]
            d = product(d, transposed(self.parameters[f"layers.{layer}.weight"]))
        return loss, made

    def addends(self, step):
        samples, each = samples_of(step, BATCH, SAMPLES, SEED), BATCH // self.ranks
        return [self.gradients(samples[rank * each:(rank + 1) * each]) for rank in range(self.ranks)]

    def step(self, number):
        addends = self.addends(number)
        for name in MATRICES + VECTORS:
            of = [gradients[name] for _, gradients in addends]
            if name in self.q:
                made, self.errors[name], self.q[name] = power_sgd(of, self.errors[name], self.q[name])
            else:
                made = total(of)
            self.parameters[name] = combined(self.parameters[name], made, -RATE)
        return sum(loss for loss, _ in addends)


def read_checkpoint(folder):
    """Returns name -> (shape, numbers) of a checkpoint, whose pieces are contiguous."""
    manifest, tensors = json.loads((folder / "manifest.json").read_text()), {}
    data = [(folder / shard["file"]).read_bytes() for shard in manifest["shards"]]
    for tensor in manifest["tensors"]:
        numbers = []
        for piece in tensor["pieces"]:
            at, count = piece["offset"], math.prod(piece["extent"])
            numbers += memoryview(data[piece["shard"]][at:at + 4 * count]).cast("f").tolist()
        tensors[tensor["name"]] = tensor["shape"], numbers
    return tensors


def matrix(tensor):
    """Returns the rows of a tensor, whose last dim is that of a row."""
    shape, numbers = tensor
    return [numbers[at:at + shape[-1]] for at in range(0, len(numbers), shape[-1])]


def by_rank(tensor, ranks):
    rows = matrix(tensor)
    return [rows[rank * len(rows) // ranks:(rank + 1) * len(rows) // ranks] for rank in range(ranks)]


def flat(rows):
    return [x for row in rows for x in row]


def close(found, wanted, what, tolerance=TOLERANCE):
    off = math.dist(found, wanted) / (math.hypot(*wanted) or 1)
    check(off <= tolerance, f"{what} is off by {off:.1e}")


class Runs:
    def __init__(self, folder):
        self.folder, numbers = folder, random.Random(3)
        self.images = [[numbers.uniform(-1, 1) for _ in range(WIDTH)] for _ in range(SAMPLES)]
        self.targets = [[numbers.uniform(-1, 1) for _ in range(OUT)] for _ in range(SAMPLES)]
        for name, rows in (("images", self.images), ("targets", self.targets)):
            write_npy(folder / f"{name}.npy", "<f4", "f", (SAMPLES, len(rows[0])), flat(rows))
        (folder / "model.mlir").write_text(MODEL)

    def compile(self, ranks, compress="none", *flags):
        program = self.folder / f"{compress.replace(':', '-')}-{ranks}.dte"
        pins = f"dp={ranks},micro_batch={BATCH // ranks}" + (f",compress={compress}" if compress else "")
        dtc("compile", self.folder / "model.mlir", "--topology", "cpu", "--devices", ranks, "--global-batch", BATCH,
            "--optimizer", "sgd", "--beta1", 0, "--weight-decay", 0, "--clip-norm", 0, "--lr-schedule", "constant",
            "--fix", pins, *flags, "-o", program)
        return program

    def train(self, program, ranks, steps, *flags):
        data = f"images={self.folder}/images.npy,targets={self.folder}/targets.npy"
        return train(program, ranks, data, steps, "--lr", RATE, "--seed", SEED, "--threads", 1, *flags)


def check_formula(runs, ranks, rank_of_factors):
    """The state after the first step is read, since the first Q is random; from there on all is computed here."""
    compress, saved = f"powersgd:{rank_of_factors}", runs.folder / f"saved-{ranks}-{rank_of_factors}"
    program = runs.compile(ranks, compress)
    lines = runs.train(program, ranks, STEPS, "--checkpoint-dir", saved, "--checkpoint-every", 1, "--keep", STEPS)
    first, last = (read_checkpoint(saved / f"step-{step}") for step in (1, STEPS))
    before = dict(first)
    before["head"] = first["head"][0], [0.0] * len(first["head"][1])  # as it begins; what it makes zero has not moved
    errors = {name: by_rank(first[f"{name}.compress_error"], ranks) for name in MATRICES}
    q = {name: matrix(first[f"{name}.compress_q"]) for name in MATRICES}
    names = MATRICES + VECTORS
    start = Network({name: matrix(before[name]) for name in names}, {}, {}, runs.images, runs.targets, ranks)
    addends = start.addends(1)
    made = [[-x / RATE for x in row] for row in matrix(first["head"])]
    p, _ = orthogonal(transposed(transposed(made)[:rank_of_factors]))
    close(flat(made), flat(product(p, product(transposed(p), total([g["head"] for _, g in addends])))),
          f"{compress}, {ranks} ranks: the sum of the first step")
    for rank, (_, gradients) in enumerate(addends):
        close(flat(errors["head"][rank]), flat(combined(gradients["head"], made, -1 / ranks)),
              f"{compress}: the error of rank {rank} after the first step")
        for name in MATRICES[:-1]:
            check(not any(flat(gradients[name])) and not any(flat(errors[name][rank])),
                  f"{name} has a gradient in the first step")
    for name in MATRICES:
        check(all(any(column) for column in transposed(q[name])), f"{name} has a Q of zeros after the first step")

    network = Network({name: matrix(first[name]) for name in names}, errors, q, runs.images, runs.targets, ranks)
    losses = [network.step(step) for step in range(2, STEPS + 1)]
    worst = compare_steps([line["loss"] for line in lines[1:]], losses, TOLERANCE, f"{compress} on {ranks} ranks: loss",
                          "the formulas")
    for name in names:
        close(last[name][1], flat(network.parameters[name]), f"{compress}, {ranks} ranks: {name}")
    for name in MATRICES:
        close(last[f"{name}.compress_error"][1], [x for rank in network.errors[name] for x in flat(rank)],
              f"{compress}, {ranks} ranks: the errors of {name}", REST)
        moved = math.dist(first[name][1], last[name][1])
        check(moved > 1e-2, f"{compress}: {name} moved by {moved:.1e} alone")
    print(f"{compress} on {ranks} ranks: {STEPS} steps within {worst:.1e} of the formulas", flush=True)
    return program, lines


def sent_bytes(program):
    """Returns the bytes of gradients that a rank sends in a step, as the program says."""
    text = run([BIN / "dtc", "inspect", program])
    return sum(int(line.split()[-1]) for line in text.splitlines() if re.match(r"\s+dp\s.*\sgradient\s", line))


def check_bytes(program, ranks, rank_of_factors):
    elements = rank_of_factors * (LAYERS * (WIDTH + WIDTH) + WIDTH + OUT) + LAYERS * WIDTH
    wanted, found = 2 * (ranks - 1) * 4 * elements // ranks, sent_bytes(program)
    check(found == wanted, f"{program.name} sends {found} bytes in a step, not {wanted}")


def check_resume(runs, program, lines):
    ranks, saved = 2, runs.folder / "half"
    runs.train(program, ranks, STEPS // 2, "--checkpoint-dir", saved)
    found = runs.train(program, ranks, STEPS, "--checkpoint-dir", saved, "--resume")
    check([line["loss"] for line in found] == [line["loss"] for line in lines[STEPS // 2:]],
          "a run does not go on from its checkpoint as it would have")


def check_other_ranks(runs, program):
    """On other ranks, each has an equal part of what all have not sent; a run that was exact begins with nothing."""
    names, more, half = MATRICES + VECTORS, 3, STEPS // 2
    for before, compress, ranks in ((program, "powersgd:2", 4), (runs.compile(2), "powersgd:2", 2)):
        saved = runs.folder / f"moved-{ranks}"
        runs.train(before, 2, half, "--checkpoint-dir", saved)
        first = read_checkpoint(saved / f"step-{half}")
        lines = runs.train(runs.compile(ranks, compress), ranks, half + more, "--checkpoint-dir", saved, "--resume",
                           "--checkpoint-every", 1, "--keep", more + 1)
        if before != program:  # the first Q is random
            first, begin = read_checkpoint(saved / f"step-{half + 1}"), half + 1
            errors = {name: by_rank(first[f"{name}.compress_error"], ranks) for name in MATRICES}
            check(any(flat(errors["head"][0])), "a run that begins to compress keeps no errors")
        else:
            begin = half
            errors = {name: [[[x / ranks for x in row] for row in total(by_rank(first[f"{name}.compress_error"], 2))]
                             for _ in range(ranks)] for name in MATRICES}
        network = Network({name: matrix(first[name]) for name in names}, errors,
                          {name: matrix(first[f"{name}.compress_q"]) for name in MATRICES}, runs.images, runs.targets,
                          ranks)
        losses = [network.step(step) for step in range(begin + 1, half + more + 1)]
        compare_steps([line["loss"] for line in lines[begin - half:]], losses, TOLERANCE, f"on {ranks} ranks: loss",
                      "the formulas")
        last = read_checkpoint(saved / f"step-{half + more}")
        for name in MATRICES:
            close(last[f"{name}.compress_error"][1], [x for rank in network.errors[name] for x in flat(rank)],
                  f"the errors of {name} on {ranks} ranks", REST)


def refusal(*command):
    done = subprocess.run([str(BIN / command[0]), *map(str, command[1:])], capture_output=True, text=True, check=False)
    check(done.returncode != 0, f"{command} is not refused")
    return done.stderr.splitlines()[0]


def check_refusals(runs):
    base = ("compile", "--topology", "cpu", "--devices", 4, "--global-batch", BATCH, "-o", runs.folder / "no.dte")
    model = runs.folder / "model.mlir"
    for fix, wanted in (
            ("compress=powersgd:0", "a rank is a whole number from 1 to 1024"),
            ("compress=powersgd:x", "a rank is a whole number from 1 to 1024"),
            ("compress=gzip", "there is no such method"),
            ("compress=powersgd:11", "makes no gradient of the model smaller; use a rank of 10 or less"),
            ("compress=powersgd:2,zero=2", "ZeRO splits what compression needs whole"),
            ("compress=powersgd:2,tp=2", "gradients are compressed among copies of the whole model"),
            ("compress=powersgd:2,dp=1", "one rank of dp has no gradient to exchange")):
        line = refusal("dtc", *base, "--fix", fix, model)
        check(wanted in line, f"--fix {fix}: {line}")
    line = refusal("dtc", *base, "--fix", "compress=powersgd:2", "--grad-dtype", "bf16", "--precision", "bf16", model)
    check("sends its factors in f32" in line, line)


def main():
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(Path(folder))
        program, lines = check_formula(runs, 2, 2)
        check_bytes(program, 2, 2)
        check_resume(runs, program, lines)
        check_other_ranks(runs, program)
        check_bytes(check_formula(runs, 4, 4)[0], 4, 4)
        check_formula(runs, 2, 1)
        plain = runs.compile(2, "")
        check(plain.read_bytes() == runs.compile(2, "none").read_bytes(), "compress=none changes a program")
        check_refusals(runs)


main()

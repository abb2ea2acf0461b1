#!/usr/bin/env python3
"""Checks of dtc.export that need torch: its refusals and their messages, the size of deep models, files, the command.

Usage: pytorch_refusals.py FOLDER BIN   FOLDER: empty, for the files to write; BIN: the folder of dtc and dtrun
"""
import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parents[2] / "python"
sys.path[:0] = [str(HERE), str(HERE.parent), str(PACKAGE)]

import dtc.cli  # noqa: E402
import pytorch_models as models  # noqa: E402
from pytorch_resnets import resnet18  # noqa: E402
from pytorch_states import Keeping  # noqa: E402
from dtc_tools import write_npy  # noqa: E402


class Wrong(nn.Module):
    """A layer in a list, so that errors have a path, with a body of one line."""

    def __init__(self, body, **attributes):
        super().__init__()
        self.body, self.layer = body, nn.Linear(4, 4)
        for name, value in attributes.items():
            setattr(self, name, value)

    def forward(self, x):
        return self.body(self, self.layer(x))


class Outer(nn.Module):
    def __init__(self, body, **attributes):
        super().__init__()
        self.layers = nn.ModuleList([Wrong(body, **attributes)])

    def forward(self, x):
        return self.layers[0](x)


def batch_norm(m, x):
    return F.batch_norm(x, m.seen, m.seen + 1, training=True)


def freezing(m, x):
    with torch.no_grad():
        m.layer.weight.mul_(0.9)
    return x


def mixed_in_place(m, x):
    y = x.view(-1, 2, 2)
    x.mul_(2.0)
    return x + y.flatten(1)


def grad_within(m, x):
    with torch.no_grad():
        scale = x.exp()
        with torch.enable_grad():
            scale = scale * m.layer(x)
        still = m.layer(scale)
    return x * scale + still


def half(m, x):
    with torch.autocast("cpu", torch.bfloat16):
        return m.layer(x)


def branch(m, x):
    return x if x.sum() > 0 else -x


def assigning(m, x):
    y = x * m.kept
    m.kept = m.kept[:2] * 0.9
    return y


def spreading(m, x):
    with torch.no_grad():
        m.kept.copy_(((x - x.mean(0)) ** 2).mean(0))
    return x


def sampling(m, x):
    m.kept.copy_(x.detach()[0])
    return x


def scoring(m, x):
    with torch.no_grad():
        m.kept.add_(F.cross_entropy(x, (x[:, 0] > 0).long(), ignore_index=1))
    return x


class Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1.0

    @staticmethod
    def backward(ctx, gradient):
        return -gradient


def hooked(m, x):
    x.register_hook(lambda gradient: gradient * 2)
    return x


def turned_back(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


def padded_positions(m, x):
    return x + m.embed(torch.arange(4)).sum(0)


def with_buffer(body, **options):
    module = Outer(body)
    module.layers[0].register_buffer("kept", torch.ones(4), **options)
    return module


def with_hook(kind):
    module = Outer(lambda m, x: x)
    layer = module.layers[0].layer
    if kind == "module":
        layer.register_full_backward_hook(lambda *_: None)
    else:
        layer.weight.register_hook(lambda gradient: gradient * 2)
    return module


def over_memory(turned):
    module = Outer(lambda m, x: x @ m.other)
    inner = module.layers[0]
    inner.other = nn.Parameter(inner.layer.weight.data.T if turned else inner.layer.weight.data)
    return module


def shared_buffer():
    module = Outer(lambda m, x: x @ m.start)
    inner = module.layers[0]
    inner.register_buffer("start", inner.layer.weight.data)
    return module


def fails(m, x):
    raise ValueError("layer gru0 has no cache")


def two_unknown(m, x):
    return torch.erfinv(x) + torch.lgamma(x) + torch.erfinv(x)


def seen():
    return torch.zeros(4)


SHUFFLED = [at * 7 % 20 for at in range(20)]
LABELS, TEMPERATURE = torch.tensor([0, 1, 2]), nn.Parameter(torch.tensor(2.0))
# Each entry is: the module, its loss, and the strings that the error has to have; PLACE stands for this file and a
# line.
PLACE = "pytorch_refusals.py:"
FAR = [3, 2 ** 24 + 1]  # f32 has 2^24 + 1 as 2^24
TOO_FAR = [PLACE, "constant indices up to 16777217", "whole numbers up to 16777216"]
REFUSED = {
    "control flow": (Outer(branch), "mse", [PLACE, "'layers.0' (Wrong)", "if x.sum() > 0", "control flow"]),
    "item": (Outer(lambda m, x: x * x.sum().item()), "mse", ["pytorch_refusals.py:"]),
    "boolean index": (Outer(lambda m, x: x[x > 0]), "mse", ["the loss", "depends on the values"]),
    "two unknown ops": (Outer(two_unknown), "mse", [PLACE, "'layers.0' (Wrong)", "aten.erfinv is not",
                                                    "aten.lgamma is not"]),
    "batch norm twice": (Outer(lambda m, x: m.norm(m.norm(x)), norm=nn.BatchNorm1d(4)), "mse",
                         ["batch_norm keeps running statistics and is in forward twice",
                          "'layers.0.norm' (BatchNorm1d)"]),
    "batch norm by function": (Outer(batch_norm, seen=seen()), "mse",
                               [PLACE, "batch_norm keeps statistics that are no buffers of an nn.BatchNorm"]),
    "a tensor that changes": (Outer(lambda m, x: x + m.seen.add_(1.0), seen=seen()), "mse", ["constant in place"]),
    "a buffer that files do not keep": (with_buffer(lambda m, x: x + m.kept.mul_(0.9), persistent=False), "mse",
                                        [PLACE, "'layers.0' (Wrong)", "buffer 'layers.0.kept'", "persistent=True"]),
    "a parameter that changes under no_grad": (Outer(freezing), "mse", [PLACE, "'layers.0' (Wrong)", "in-place"]),
    "a buffer of another shape": (with_buffer(assigning), "mse", [PLACE, "'layers.0' (Wrong)", "m.kept = m.kept[:2]",
                                                                  "buffer 'kept' [2]", "has [4]"]),
    "a buffer that keeps a sample": (with_buffer(sampling), "mse", [PLACE, "selects a sample"]),
    "a buffer that keeps a variance": (with_buffer(spreading), "mse", [PLACE, "'layers.0' (Wrong)", "couples"]),
    "a buffer that keeps a weighted mean": (with_buffer(scoring), "mse", [PLACE, "weighted mean"]),
    "a backward of its own": (Outer(lambda m, x: Reversed.apply(x)), "mse", [PLACE, "Reversed", "autograd.Function"]),
    "a hook": (Outer(hooked), "mse", [PLACE, "'layers.0' (Wrong)", "hook"]),
    "a hook of a module": (with_hook("module"), "mse", ["'layers.0.layer' (Linear)", "hook"]),
    "a hook of a parameter": (with_hook("parameter"), "mse", ["'layers.0.layer.weight'", "hook"]),
    "a parameter over another's memory": (over_memory(False), "mse",
                                          ["'layers.0.other'", "shares memory", "'layers.0.layer.weight'"]),
    "a parameter that is another turned": (over_memory(True), "mse", ["'layers.0.other'", "shares memory"]),
    "a buffer over a parameter's memory": (shared_buffer(), "mse", ["'layers.0.start'", "shares memory"]),
    "a parameter in a list": (Outer(lambda m, x: x * m.parts[0], parts=[nn.Parameter(torch.ones(4))]), "mse",
                              ["parameter [4]", "ParameterList"]),
    "a parameter of the loss": (Outer(lambda m, x: x), lambda out, targets: F.mse_loss(out, targets) * TEMPERATURE,
                                ["the loss", "parameter []"]),
    "data": (Outer(lambda m, x: x @ m.layer.weight.data), "mse", [PLACE, ".data"]),
    "narrow integers": (Outer(lambda m, x: x),
                        lambda out, labels: (F.embedding(labels.byte().long(), torch.ones(4, 4)) * out).mean(),
                        ["uint8"]),
    "integers joined with numbers": (
        Outer(lambda m, x: x), lambda out, labels: torch.cat((out, labels[:, None]), 1).mean(), ["joins integers"]),
    "an integer compared with what f32 rounds": (
        Outer(lambda m, x: x), lambda out, labels: (out.sum(-1) * (labels < 2 ** 24 + 1)).mean(), ["exact in f32"]),
    "bits of integers": (Outer(lambda m, x: x), lambda out, labels: (out.sum(-1) * ((labels & 1) == 1)).mean(),
                         ["bits of integers"]),
    "a power of two tensors": (Outer(lambda m, x: x.abs() ** x), "mse", [PLACE, "as exponent of a tensor"]),
    "a negative base": (Outer(lambda m, x: (-2.0) ** x), "mse", [PLACE, "base -2.0"]),
    "any sample": (Outer(lambda m, x: x * (x > 1).any(0)), "mse", [PLACE, "couples samples"]),
    "a choice by a mean of samples": (Outer(lambda m, x: torch.where(x.mean(0) > 0, x, -x)), "mse",
                                      [PLACE, "linear"]),
    "decimals": (Outer(lambda m, x: x.round(decimals=2)), "mse", [PLACE, "decimals"]),
    "a bound that is a tensor": (Outer(lambda m, x: x.clamp(max=m.layer.bias)), "mse", [PLACE, "torch.minimum"]),
    "a division by 0": (Outer(lambda m, x: x / 0.0), "mse", [PLACE, "divides by 0"]),
    "an endless factor": (Outer(lambda m, x: x * float("inf")), "mse", [PLACE, "number inf"]),
    "a padding row among positions": (Outer(padded_positions, embed=nn.Embedding(4, 4, padding_idx=1)), "mse",
                                      [PLACE, "padding row 1"]),
    "an exception that names a layer": (Outer(fails), "mse", [PLACE, "ValueError: layer gru0 has no cache"]),
    "a view changed in place": (Outer(mixed_in_place), "mse", ["another view reads"]),
    "enable_grad within no_grad": (Outer(grad_within), "mse", [PLACE, "'layers.0' (Wrong)", "within torch.no_grad"]),
    "autocast": (Outer(half), "mse", ["autocast"]),
    "a diagonal": (Outer(lambda m, x: x * torch.einsum("ii->", m.layer.weight)), "mse", [PLACE, "diagonal"]),
    "einsum over the batch": (Outer(lambda m, x: x @ torch.einsum("bi,bj->ij", x, x)), "mse",
                              [PLACE, "couples samples"]),
    "running sums over samples": (Outer(lambda m, x: x.cumsum(0)), "mse",
                                  [PLACE, "aten.cumsum adds up over the batch"]),
    "samples rolled": (Outer(lambda m, x: x.roll(1, 0)), "mse", [PLACE, "couples samples"]),
    "statistics of a batch": (Outer(lambda m, x: x - x.var(0)), "mse", [PLACE, "aten.var is over the batch"]),
    "pairs of samples": (Outer(lambda m, x: (x @ x.T) @ x), "mse", ["couples samples"]),
    "the largest of a batch": (Outer(lambda m, x: x - x.mean(0)), "mse", ["couples the samples"]),
    "softmax over the batch": (Outer(lambda m, x: x.softmax(0)), "mse", ["couples samples"]),
    "samples joined": (Outer(lambda m, x: torch.cat((x, x), 0).view(2, -1, 4).sum(0)), "mse", ["batch"]),
    "a sample selected": (Outer(lambda m, x: x - x[0]), "mse", ["couples samples"]),
    "samples counted": (Outer(lambda m, x: x / torch.arange(x.shape[0]).sum()), "mse", ["batch"]),
    "a mean beside samples": (Outer(lambda m, x: torch.cat((x, x.mean(0, keepdim=True).expand_as(x)), 1)[:, 2:6]),
                              "mse", ["couples the samples"]),
    "a mean of samples as a weight": (Outer(lambda m, x: F.layer_norm(x, (4,), x.mean(0))), "mse",
                                      ["couples the samples"]),
    "a mean stacked with a sum": (Outer(lambda m, x: x),
                                  lambda out, targets: torch.stack((out.mean(), targets.sum())).sum(), ["adds a sum"]),
    "a sum and a bias": (Outer(lambda m, x: x),
                         lambda out, targets: F.linear(targets[:, None].sum(0), torch.ones(1, 4), torch.ones(1)).sum(),
                         ["adds a sum"]),
    "means multiplied": (Outer(lambda m, x: x),
                         lambda out, targets: (out.view(-1, 2, 2).mean(0) @ targets.view(-1, 2, 2).mean(0)).sum(),
                         ["linear"]),
    "a root of a mean": (Outer(lambda m, x: x), lambda out, targets: F.mse_loss(out, targets).sqrt(), ["linear"]),
    "a product of means": (Outer(lambda m, x: x), lambda out, targets: out.mean() * targets.mean(), ["linear"]),
    "a sum beside a mean": (Outer(lambda m, x: x), lambda out, targets: out.sum() + F.mse_loss(out, targets),
                            ["adds a sum"]),
    "a loss by row": (Outer(lambda m, x: x), lambda out, targets: (out - targets).sum(-1), ["1 dims"]),
    "no loss": (Outer(lambda m, x: x), None, ["2 dims", "loss="]),
    "an unknown loss": (Outer(lambda m, x: x), "cross-entropy", ["cross_entropy"]),
    "label smoothing by class": (Outer(lambda m, x: x, w=torch.rand(4)), lambda out, labels: F.cross_entropy(
        out, labels, torch.arange(4.0), label_smoothing=0.1), ["smoothing", "class weights"]),
    "bce of no sigmoid": (Outer(lambda m, x: x), "bce", ["binary_cross_entropy_with_logits"]),
    "a part of a sum of samples": (Outer(lambda m, x: x), lambda out, targets: (out / out.shape[0]).sum(),
                                   ["number of samples"]),
    "a constant": (Outer(lambda m, x: x @ m.c, c=torch.rand(4, 4)), "mse",
                   ["several values", "register_buffer"]),
    "half precision": (Outer(lambda m, x: x).bfloat16(), "mse", ["bfloat16", "module.float()"]),
    "a sample by its index": (Outer(lambda m, x: x + x.index_select(0, torch.tensor([0]))), "mse",
                              [PLACE, "couples samples"]),
    "samples sorted": (Outer(lambda m, x: x.sort(0)[0]), "mse", [PLACE, "aten.sort", "couples samples"]),
    "too much to sort": (Outer(lambda m, x: x + (x @ m.c).sort(-1)[0][:, :4], c=nn.Parameter(torch.ones(4, 9000))),
                         "mse", [PLACE, "aten.sort selects 9000 of 9000", "topk"]),
    "written twice": (Outer(lambda m, x: x.scatter(1, (x > 0).long(), x)), "mse", [PLACE, "may be equal"]),
    "constant indices at random": (Outer(lambda m, x: m.c.view(20, 20)[torch.tensor(SHUFFLED)][:, :1].mean() + x,
                                         c=nn.Parameter(torch.ones(400))), "mse", [PLACE, "no simple pattern"]),
    "an index outside": (Outer(lambda m, x: x + x[:, torch.tensor([0, 4])].sum(1, keepdim=True)), "mse",
                         [PLACE, "indices outside of the dim of size 4"]),
    "random numbers": (Outer(lambda m, x: x + torch.rand(4)), "mse", ["aten.rand"]),
    "a remainder of numbers": (Outer(lambda m, x: x % 0.3), "mse",
                               [PLACE, "aten.remainder", "of integers it is exact"]),
    "a large index of rows": (Outer(lambda m, x: x + F.embedding(torch.tensor(FAR), m.c.expand(2 ** 24 + 4, 4)).sum(0),
                                    c=nn.Parameter(torch.ones(1, 4))), "mse", TOO_FAR),
    "a large index": (Outer(lambda m, x: x + m.c.expand(2 ** 24 + 4, 4)[torch.tensor(FAR)].sum(0),
                            c=nn.Parameter(torch.ones(1, 4))), "mse", TOO_FAR),
    "a large index repeated": (Outer(lambda m, x: x + m.c.expand(2 ** 24 + 4, 4)[torch.tensor(FAR[1:] * 2)].sum(0),
                                     c=nn.Parameter(torch.ones(1, 4))), "mse", TOO_FAR),
    "a large class": (Outer(lambda m, x: x), lambda out, targets: F.cross_entropy(
        out.sum(-1, keepdim=True).expand(-1, 2 ** 24 + 4), torch.full(targets.shape[:1], 2 ** 24 + 1)),
                      ["the loss", *TOO_FAR[1:]]),
    "an exception": (Outer(lambda m, x: x.view(3, 7)), "mse", [PLACE]),
}


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def inputs_for(loss):
    names = dtc.losses.loss_of(loss).names(None) if loss and not isinstance(loss, str) else ["targets"]
    given = {"x": torch.rand(3, 4)}
    if loss is not None:
        given[names[0]] = LABELS if names[0] == "labels" else torch.rand(3, 4)
    return given


def check_refused(folder):
    for name, (module, loss, words) in REFUSED.items():
        try:
            given = (inputs_for(loss) if loss != "cross-entropy"
                     else {"x": torch.rand(3, 4), "targets": torch.rand(3, 4)})
            dtc.export(module, given, folder / "refused.mlir", loss=loss, weights=folder / "refused.safetensors")
        except dtc.ExportError as error:
            said = str(error)
            for word in words:
                check(word in said, f"{name}: '{word}' is not in the error: {said}")
            check(all(len(line) < 600 for line in said.splitlines()) and len(said.splitlines()) <= 4,
                  f"{name}: the error is long: {said}")
        else:
            sys.exit(f"FAILED: {name}: it was exported")
        check(not list(folder.iterdir()), f"{name}: left are {list(folder.iterdir())}")
    for inputs, words in (({"y": torch.rand(3, 4)}, "'y' is no parameter"),
                          ({"x": torch.rand(3, 4)}, "the loss takes 'targets'"),
                          ((torch.rand(3, 4),) * 3, "3 example inputs"),
                          ({"x": torch.rand(3, 4), "targets": torch.rand(2, 4)}, "3 ('x'), 2"),
                          ({"x": torch.rand(3, 4).double(), "targets": torch.rand(3, 4)}, "float64"),
                          ({"x": 3, "targets": torch.rand(3, 4)}, "int"),
                          ({"x": torch.rand(()), "targets": torch.rand(3, 4)}, "no dims")):
        try:
            dtc.export(Outer(lambda m, x: x), inputs, folder / "refused.mlir", loss="mse")
        except dtc.ExportError as error:
            check(words in str(error), f"'{words}' is not in: {error}")
        else:
            sys.exit(f"FAILED: {words}: it was exported")
    module, given = Outer(lambda m, x: x), {"x": torch.rand(3, 4), "targets": torch.rand(3, 4)}
    (folder / "taken").mkdir()
    for path, weights, words in ((folder / "taken", folder / "w", "it is a folder"),
                                 (folder / "m", folder / "taken", "it is a folder"),
                                 (folder / "none" / "m", folder / "w", "there is no folder"),
                                 (folder / "m", folder / "m", "both")):
        try:
            dtc.export(module, given, path, loss="mse", weights=weights)
        except dtc.ExportError as error:
            check(words in str(error) and ".dtc-export" not in str(error), f"'{words}' is not in: {error}")
        else:
            sys.exit(f"FAILED: {path} and {weights} were written")
        check([each.name for each in folder.iterdir()] == ["taken"], f"left are {list(folder.iterdir())}")
    (folder / "taken").rmdir()
    for text in (b"[1]", b'{"a":1}', b'{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,4]}}',
                 b'{"a":{"dtype":"F32","shape":[1]}}'):
        (folder / "wrong").write_bytes(len(text).to_bytes(8, "little") + text + bytes(4))
        try:
            dict(dtc.safetensors.read(folder / "wrong"))
        except dtc.ExportError as error:
            check("wrong" in str(error), str(error))
        else:
            sys.exit(f"FAILED: {text} was read")
    (folder / "wrong").unlink()
    return len(REFUSED) + 15


def check_steps():
    """Checks the bound of recurrent layers, which torch.export takes long to reach."""
    try:
        dtc.recurrent.RECURRENT[torch.ops.aten.gru.input](
            torch.zeros(1, 600, 1), None, (), True, 2, 0.0, False, True, True)
    except dtc.errors.Unsupported as error:
        check("has 600 steps of time in 2 layers of two directions" in str(error) and "2048" in str(error), str(error))
    else:
        sys.exit("FAILED: 2400 steps were written out")


def check_depth(folder):
    """Checks that the IR of 48 layers is that of 12, except for the number."""
    tokens = torch.zeros(2, models.LENGTH, dtype=torch.long)
    for make, depths in ((lambda layers: models.Mixer(layers=layers), (12, 48)), (models.qwen2, (2, 6)),
                         (lambda layers: models.Swin(layers=layers), (12, 48))):
        sizes = []
        for layers in depths:
            module = make(layers)
            samples = {models.Mixer: (8, 12), models.Swin: (3, 8, 8)}.get(type(module))
            given = (torch.rand(2, *samples), tokens[:, 0]) if samples else (tokens, tokens)
            dtc.export(module, given, folder / "deep.mlir", loss="cross_entropy", weights=folder / "deep.safetensors")
            sizes.append(os.path.getsize(folder / "deep.mlir"))
        check(sizes[1] <= 1.1 * sizes[0], f"the IR of {depths} layers has {sizes} bytes")
    for name in ("deep.mlir", "deep.safetensors"):
        (folder / name).unlink()


class Tied(nn.Module):
    """Dropout, tied weights, an unused parameter, counters of which 16 bits have one exactly, and layers that alternate
    in kind.
    """

    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(16, 8), nn.Linear(8, 16, bias=False)
        self.head.weight = self.embed.weight
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(8, 8), nn.GELU() if at % 2 else nn.Tanh(), nn.Dropout(0.1))
                                    for at in range(6))
        self.unused = nn.Parameter(torch.ones(3))
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))
        self.register_buffer("far", torch.tensor(1000003))

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = x + layer(x)
        return self.head(x)


def run(*command, code=0):
    result = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    check(result.returncode == code, f"{command} ended with {result.returncode}: {result.stdout} {result.stderr}")
    return result


def check_round_trip(folder, programs):
    """Checks a module that is exported by a tuple, trained, loaded: it has the trained values under all names, and
    its loss.
    """
    module, text, model, weights = Tied(), folder / "ids.bin", folder / "m.mlir", folder / "w.safetensors"
    tokens = torch.zeros(2, 8, dtype=torch.long)
    module.calls.fill_(5)
    result = dtc.export(module, (tokens, tokens), model, loss="cross_entropy", weights=weights)
    check(result.parameters == sum(p.numel() for p in module.parameters()) + 1, result.parameters)
    check(result.blocks == {"layers.{} by 2": 3}, f"blocks are {result.blocks}")
    check("far" in result.summary() and "calls" not in result.summary(), f"not in files: {result.summary()}")
    check("graph.repeat 3 @block(" in model.read_text() and "layers.{1:2}.0.weight" in model.read_text(),
          f"alternating layers: {model.read_text()}")
    text.write_bytes(b"".join(int(at * at % 16).to_bytes(2, "little") for at in range(400)))
    run(programs / "dtc", "compile", model, "--topology", "cpu", "--devices", 1, "--global-batch", 4, "-o",
        folder / "m.dte")
    out = run(programs / "dtrun", folder / "m.dte", "--data", f"u16:{text}", "--steps", 3, "--init", weights,
              "--format", "json", "--dump-params", folder / "after.safetensors", "--eval-data", f"u16:{text}",
              "--checkpoint-dir", folder / "saved")
    loss = [json.loads(line) for line in out.stdout.splitlines() if "eval_loss" in line][-1]["eval_loss"]
    other = dtc.load(Tied(), folder / "after.safetensors").eval()
    check(other.calls == 5 and other.calls.dtype == torch.long, f"the counter is {other.calls}")
    check(torch.equal(other.unused, module.unused), "a parameter that no gradient reaches has changed")
    check(torch.equal(other.head.weight, other.embed.weight)
          and not torch.equal(other.embed.weight, module.embed.weight), "ties are lost")
    rows = torch.tensor([at * at % 16 for at in range(393)])
    samples = torch.stack([rows[at: at + 9] for at in range(0, 385, 8)])
    wanted = F.cross_entropy(other(samples[:, :-1]).flatten(0, 1), samples[:, 1:].flatten()).item()
    check(abs(loss - wanted) < 1e-5 * wanted, f"the loaded module has loss {wanted}, dtrun {loss}")
    check_folders(folder, programs, other)
    # A run that began without --init does not know buffers of several integers, and has 3e38 for them.
    with open(folder / "unknown.safetensors", "wb") as file:
        tensors = dict(dtc.safetensors.read(folder / "after.safetensors"))
        dtc.safetensors.write(file, {**tensors, "calls": torch.full_like(tensors["calls"], 3e38)})
    other.calls.fill_(7)
    check(dtc.load(other, folder / "unknown.safetensors").calls == 7, f"the counter is {other.calls}")
    for wrong, words in (({"embed.weight": (3, 8)}, "shape"), ({"nothing": (1,)}, "does not have"), ({}, "has no")):
        with open(folder / "wrong.safetensors", "wb") as file:
            rest = {} if not wrong or "nothing" in wrong else dict(dtc.safetensors.read(weights))
            dtc.safetensors.write(file, {**rest, **{name: torch.zeros(shape) for name, shape in wrong.items()}})
        try:
            dtc.load(Tied(), folder / "wrong.safetensors")
        except dtc.ExportError as error:
            check(words in str(error), f"'{words}' is not in: {error}")
        else:
            sys.exit(f"FAILED: {wrong}: it was loaded")
    shutil.rmtree(folder)
    folder.mkdir()


def check_folders(folder, programs, wanted):
    """Checks that dtc.load takes the folders of `dtc checkpoint export`, of one file and of several, and refuses one
    whose index is wrong, with the module as it was.
    """
    one, several, nothing = folder / "one", folder / "several", {"weight_map": {}}
    for out, most in ((one, 10**9), (several, 600)):
        said = run(programs / "dtc", "checkpoint", "export", folder / "saved", "-o", out, "--max-file-bytes", most)
        check("no config.json" in said.stderr and "dtc.load" in said.stderr, said.stderr)
        check(not (out / "config.json").exists(), f"{out} has a config.json")
        found = dtc.load(Tied(), out)
        check(all(torch.equal(value, wanted.state_dict()[name]) for name, value in found.state_dict().items()),
              f"{out} has other weights")
    names = sorted(path.name for path in several.glob("*.safetensors"))
    check(len(names) > 2, f"files are {names}")
    index = json.loads((several / "model.safetensors.index.json").read_text())
    fresh = Tied()
    before = {name: value.clone() for name, value in fresh.state_dict().items()}
    for wrong, words in ((nothing, "has no"), ([], "is no index"),
                         ({"weight_map": {"x": "../w.safetensors"}}, "beside"),
                         ({"weight_map": {"x": "gone.safetensors"}}, "not there"),
                         ({"weight_map": {"x": names[0]}}, "has no"), ({"weight_map": {"x": 3}}, "beside")):
        (several / "model.safetensors.index.json").write_text(json.dumps(wrong))
        try:
            dtc.load(fresh, several)
        except dtc.ExportError as error:
            check(words in str(error), f"'{words}' is not in: {error}")
        else:
            sys.exit(f"FAILED: {wrong}: it was loaded")
    check(all(torch.equal(value, before[name]) for name, value in fresh.state_dict().items()), "weights were changed")
    (several / names[0]).rename(several / "twice.safetensors")
    (several / names[0]).write_bytes((several / "twice.safetensors").read_bytes())
    index["weight_map"]["twice"] = "twice.safetensors"
    (several / "model.safetensors.index.json").write_text(json.dumps(index))
    try:
        dtc.load(fresh, several)
    except dtc.ExportError as error:
        check("twice" in str(error), str(error))
    else:
        sys.exit("FAILED: a tensor of two files was loaded")


def check_buffer(folder, programs):
    """Checks that a buffer of several values is in the file, and that the loss is PyTorch's with it."""
    module = models.Regressor()
    module.table.copy_(torch.rand(4, 12))
    given = {"features": torch.rand(4, 6), "targets": torch.rand(4, 3)}
    try:
        dtc.export(module, given, folder / "b.mlir", loss="mse")
    except dtc.ExportError as error:
        check("'table'" in str(error) and "--init" in str(error), str(error))
    else:
        sys.exit("FAILED: a buffer of several values was exported without weights")
    result = dtc.export(module, given, folder / "b.mlir", loss="mse", weights=folder / "b.safetensors")
    check("--init" in result.summary() and "'table'" in result.summary(), result.summary())
    run(programs / "dtc", "compile", folder / "b.mlir", "--topology", "cpu", "--devices", 1, "--global-batch", 4, "-o",
        folder / "b.dte")
    files = []
    for name, values in given.items():
        write_npy(folder / f"{name}.npy", "<f4", "f", values.shape, values.flatten().tolist())
        files.append(f"{name}={folder / name}.npy")
    out = run(programs / "dtrun", folder / "b.dte", "--data", ",".join(files), "--steps", 1, "--init",
              folder / "b.safetensors", "--format", "json")
    loss = [json.loads(line) for line in out.stdout.splitlines() if '"step"' in line][0]["loss"]
    wanted = F.mse_loss(module(given["features"]), given["targets"]).item()
    check(abs(loss - wanted) < 1e-5 * wanted, f"a buffer: the loss is {loss}, PyTorch's {wanted}")
    for path in folder.iterdir():
        path.unlink()


def check_running(folder, programs):
    """Running statistics come back from a checkpoint, for load_state_dict and dtc.load, and the evaluation of dtrun is
    that of the module in eval mode.
    """
    folder = folder / "running"
    folder.mkdir()
    given = {"images": torch.rand(4, 3, 32, 32), "targets": torch.tensor([0, 4, 1, 2])}
    dtc.export(resnet18(), given, folder / "m.mlir", loss="cross_entropy", weights=folder / "m.safetensors")
    run(programs / "dtc", "compile", folder / "m.mlir", "--topology", "cpu", "--devices", 1, "--global-batch", 4,
        "--precision", "f32", "-o", folder / "m.dte")
    write_npy(folder / "images.npy", "<f4", "f", (4, 3, 32, 32), given["images"].flatten().tolist())
    write_npy(folder / "targets.npy", "<i4", "i", (4,), given["targets"].tolist())
    data = f"images={folder / 'images.npy'},targets={folder / 'targets.npy'}"
    out = run(programs / "dtrun", folder / "m.dte", "--data", data, "--steps", 3, "--init", folder / "m.safetensors",
              "--checkpoint-dir", folder / "saved", "--checkpoint-every", 3, "--eval-data", data, "--eval-every", 3,
              "--format", "json")
    found = [json.loads(line) for line in out.stdout.splitlines() if '"eval_loss"' in line][-1]["eval_loss"]
    run(programs / "dtc", "checkpoint", "export", folder / "saved", "-o", folder / "out")
    module, loaded = resnet18(), dtc.load(resnet18(), folder / "out")
    module.load_state_dict(dict(dtc.safetensors.read(folder / "out" / "model.safetensors")), strict=True)
    for (name, a), b in zip(module.state_dict().items(), loaded.state_dict().values()):
        check(torch.equal(a, b), f"dtc.load and load_state_dict differ in '{name}'")
    check(module.layer4[1].bn2.num_batches_tracked == 3, "a checkpoint does not count three steps")
    wanted = F.cross_entropy(module.eval()(given["images"]), given["targets"]).item()
    check(abs(found - wanted) < 1e-4 * wanted, f"dtrun evaluates {found}, the module in eval mode {wanted}")


def check_command(folder, programs):
    def command(*arguments, code=0):
        out, error, before = io.StringIO(), io.StringIO(), os.getcwd()
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
                result = dtc.cli.main([str(each) for each in arguments])
        except SystemExit as end:
            result = end.code
        finally:
            os.chdir(before)
        check(result == code, f"dtc-export {arguments}: {result} {out.getvalue()} {error.getvalue()}")
        return out.getvalue() if code == 0 else error.getvalue()

    hub, model = folder / "hub", folder / "model.mlir"
    out = command(hub, "-o", model, "--seq-len", 12, code=1)
    check("is no folder" in out and not model.exists(), out)
    hub.mkdir()
    check("no config.json" in command(hub, "-o", model, "--seq-len", 12, code=1), "an empty folder")
    stored = HERE / "data" / "hugging_face" / "llama"
    said = command(stored, "-o", model, "--seq-len", 12, "--weights", folder / "w.safetensors")
    check("2 x model.layers.{}" in said and "a token" in said and "2 attention" in said, said)
    run(programs / "dtc", "compile", model, "--topology", "cpu", "--devices", 1, "--global-batch", 4, "-o",
        folder / "m.dte")
    for arguments, words in (((stored, "-o", model), "--seq-len"), ((stored, "-o", model, "--seq-len", 99), "1 to 32"),
                             (("pytorch_models:nothing", "-o", model), "has no 'nothing'"),
                             (("json:loads", "-o", model), "without arguments: missing"),
                             (("no_such:thing", "-o", model), "can't import"),
                             (("pytorch_models:gpt2", "-o", model), "has to return")):
        error = command(*arguments, code=1)
        check(words in error and error.startswith("error: ") and error.count("\n") == 1,
              f"'{words}' is not in: {error}")
    command("-o", model, code=2)
    (folder / "mine.py").write_text("import torch\nfrom torch import nn\n\ndef make():\n"
                                    "    return nn.Linear(3, 2), {'input': torch.rand(1, 3), 'targets': torch.rand(1, "
                                    "2)}, 'mse'\n")
    command("mine:make", "-o", model)
    check("%input: " in model.read_text() and '"weight"' in model.read_text(), model.read_text())


def check_page(folder, programs):
    """Checks the commands of docs/pytorch.md as they are written, from an installed package if setuptools can build
    one.
    """
    page, shop, site = (PACKAGE.parent / "docs" / "pytorch.md").read_text(), folder / "page", folder / "site"
    (shop / "dtc").mkdir(parents=True)
    shutil.copytree(PACKAGE, shop / "dtc" / "python",
                    ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    (shop / "mine.py").write_text(re.search(r"```python\n(.*?)```", page, re.S).group(1))
    environment = {**os.environ, "PATH": f"{site / 'bin'}:{programs}:{os.environ['PATH']}", "PYTHONPATH": str(site)}
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target",
               str(site)]
    if subprocess.run([sys.executable, "-c", "import pip, setuptools"], capture_output=True).returncode:
        install = None
        (site / "bin").mkdir(parents=True)
        shutil.copytree(PACKAGE / "dtc", site / "dtc")
        (site / "bin" / "dtc-export").write_text(f"#!{sys.executable}\nimport sys\nfrom dtc.cli import "
                                                 f"main\nsys.exit(main())\n")
        (site / "bin" / "dtc-export").chmod(0o755)
    commands = [line[2:] for line in re.search(r"```console\n(.*?)```", page, re.S).group(1).splitlines()]
    check(len(commands) == 5, f"the page has {commands}")
    for command in commands:
        words = shlex.split(command)
        if words[:2] == ["pip", "install"]:
            words = install and install + words[2:]
        elif words[0] == "python3":
            words[0] = sys.executable
        if words:
            done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment,
                                  cwd=shop)
            check(done.returncode == 0, f"docs/pytorch.md: {command}: {done.stdout} {done.stderr}")
    check("tensor(" in done.stdout, done.stdout)


def check_states(folder, programs):
    """Checks that a module whose forward changes buffers, trained on four processes, is what load_state_dict takes
    strictly, with the loss that dtrun evaluates and the steps that it made."""
    torch.manual_seed(5)
    given = {"series": torch.randn(16, 7, 6), "targets": torch.randn(16, 7, 3)}
    for name, values in given.items():
        write_npy(folder / f"{name}.npy", "<f4", "f", values.shape, values.flatten().tolist())
    data = ",".join(f"{name}={folder}/{name}.npy" for name in given)
    dtc.export(Keeping(), given, folder / "s.mlir", weights=folder / "s.safetensors")
    run(programs / "dtc", "compile", folder / "s.mlir", "--topology", "cpu", "--devices", 4, "--global-batch", 16,
        "--fix", "dp=2,tp=2", "-o", folder / "s.dte")
    out = run(programs / "dtrun", folder / "s.dte", "-n", 4, "--data", data, "--steps", 6, "--threads", 1, "--init",
              folder / "s.safetensors", "--format", "json", "--eval-data", data, "--checkpoint-dir", folder / "kept")
    loss = [json.loads(line) for line in out.stdout.splitlines() if "eval_loss" in line][-1]["eval_loss"]
    run(programs / "dtc", "checkpoint", "export", folder / "kept", "-o", folder / "kept-out")
    module = Keeping()
    module.load_state_dict(dict(dtc.safetensors.read(folder / "kept-out" / "model.safetensors")), strict=True)
    check(all(layer.steps == 6 for layer in module.layers), f"layers have counted {module.layers[0].steps} steps")
    wanted = module(**given).item()
    check(abs(loss - wanted) < 1e-5 * wanted, f"the loaded module has loss {wanted}, dtrun {loss}")


class Swapping(nn.Module):
    """Keeps a moving mean and the one before it, which are assigned at once, in front of a choice between values."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("before", torch.ones(4))

    def forward(self, features, targets):
        y = self.layer(features)
        self.mean, self.before = 0.9 * self.mean + 0.1 * y.detach().mean(0), self.mean
        return ((torch.where(features > 0, y, features) - targets) ** 2).mean()


def check_swaps(folder, programs):
    """Checks that buffers whose new values are old ones of others get these."""
    given = {"features": torch.randn(16, 4), "targets": torch.randn(16, 4)}
    for name, values in given.items():
        write_npy(folder / f"{name}.npy", "<f4", "f", values.shape, values.flatten().tolist())
    module = Swapping()
    dtc.export(module, given, folder / "w.mlir", weights=folder / "w.safetensors")
    run(programs / "dtc", "compile", folder / "w.mlir", "--topology", "cpu", "--devices", 1, "--global-batch", 16,
        "--lr", 0, "-o", folder / "w.dte")
    run(programs / "dtrun", folder / "w.dte", "--data", ",".join(f"{name}={folder}/{name}.npy" for name in given),
        "--steps", 3, "--threads", 1, "--init", folder / "w.safetensors", "--dump-params", folder / "w.out")
    trained = dict(dtc.safetensors.read(folder / "w.out"))
    for _ in range(3):
        module(**given)
    for name in ("mean", "before"):
        wanted = getattr(module, name)
        check(torch.allclose(trained[name], wanted, atol=1e-6), f"{name} is {trained[name]}, wanted {wanted}")


def main():
    folder, programs = Path(sys.argv[1]).resolve() / "refusals", Path(sys.argv[2]).resolve()
    folder.mkdir()
    torch.set_num_threads(1)
    refused = check_refused(folder)
    check_depth(folder)
    check_round_trip(folder, programs)
    check_steps()
    check_buffer(folder, programs)
    check_running(folder, programs)
    check_states(folder, programs)
    check_swaps(folder, programs)
    check_command(folder, programs)
    check_page(folder, programs)
    print(f"{refused} modules and inputs are refused with a reason; deep models, files and dtc-export are right")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Exports random modules, executes their graph IR with torch, and compares loss and gradients with the modules.

The modules are chains of views, transposes, slices, joins, repeats, norms, matmuls and attention on tensors of a few
dims; they depend on the right order of every tensor. Usage: pytorch_fuzz.py [--cases N] [--seed S]
"""
import argparse
import random
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "python"))

from dtc.api import graph_of  # noqa: E402
from dtc.ir import Batch  # noqa: E402

SAMPLES, TOLERANCE = 3, 1e-3


class Chain(nn.Module):
    """The steps that a seed draws. Tensors of fewer than two dims beside the batch, or of many elements, skip some."""

    def __init__(self, seed):
        super().__init__()
        self.seed = seed
        self.weights = nn.ParameterList(nn.Parameter(torch.randn(12, 12) * 0.3) for _ in range(4))
        self.gains = nn.ParameterList(nn.Parameter(torch.rand(12) + 0.5) for _ in range(4))

    def forward(self, x):
        draw, steps = random.Random(self.seed), (self.permute, self.merge, self.split, self.linear, self.softmax,
                                                 self.norm, self.halves, self.repeat, self.add, self.outer, self.matmul,
                                                 self.mean, self.attention, self.gain, self.join, self.select, self.pad)
        for index in range(draw.randint(4, 9)):
            x = draw.choice(steps)(x, draw, index % 4)
        return ((x + 0.3) ** 3).mean()

    def permute(self, x, draw, _):
        order = list(range(1, x.dim()))
        draw.shuffle(order)
        return x.permute(0, *order)

    def merge(self, x, draw, _):
        at = draw.randint(0, max(0, x.dim() - 2))
        if x.dim() < 3:
            return x
        y = torch.tanh(x.flatten(at, at + 1))
        return y if at else y.view(x.shape)

    def split(self, x, draw, _):
        even = [dim for dim in range(1, x.dim()) if x.shape[dim] % 2 == 0]
        if not even or x.dim() > 4:
            return x
        dim = draw.choice(even)
        return x.unflatten(dim, draw.choice([(2, x.shape[dim] // 2), (x.shape[dim] // 2, 2)]))

    def linear(self, x, draw, which):
        width = x.shape[-1]
        if width > 12:
            return x
        if draw.random() < 0.5:
            return x @ self.weights[which][:width]
        return F.linear(x, self.weights[which][:, :width], self.gains[which] if draw.random() < 0.5 else None)

    def softmax(self, x, draw, _):
        return x.softmax(draw.randint(1, x.dim() - 1)) * 2 + 0.1 * x

    def norm(self, x, draw, which):
        width = x.shape[-1]
        if draw.random() < 0.5:
            return F.rms_norm(x, (width,), eps=1e-4) * 0.5 + x
        return F.layer_norm(x, (width,), self.gains[which][:width] if width <= 12 else None) * 0.5 + x

    def halves(self, x, draw, _):
        even = [dim for dim in range(1, x.dim()) if x.shape[dim] % 2 == 0]
        if not even:
            return x
        dim = draw.choice(even)
        a, b = x.chunk(2, dim)
        return torch.tanh(a) * b if draw.random() < 0.5 else torch.cat((b, -a), dim)

    def repeat(self, x, draw, _):
        if x.dim() > 4:
            return x
        if draw.random() < 0.4 and x.dim() == 4:
            return x.repeat_interleave(2, 1)
        wide = x.unsqueeze(1).expand(-1, 3, *x.shape[1:])
        return wide if draw.random() < 0.5 else wide + x.unsqueeze(1)

    def add(self, x, draw, _):
        order = list(range(1, x.dim()))
        draw.shuffle(order)
        y = x.permute(0, *order)
        return x + torch.tanh(y) if y.shape == x.shape else x

    def outer(self, x, draw, _):
        return x[:, :, None] * torch.tanh(x)[:, None, :] if x.dim() == 2 else x

    def matmul(self, x, draw, _):
        return torch.tanh(x @ x.transpose(-1, -2)) if x.dim() in (3, 4) else x

    def mean(self, x, draw, _):
        return x.mean(draw.randint(1, x.dim() - 1), keepdim=draw.random() < 0.5) if x.dim() > 2 else x

    def attention(self, x, draw, _):
        return F.scaled_dot_product_attention(x, torch.tanh(x), x, is_causal=draw.random() < 0.5) if x.dim() == 4 else x

    def gain(self, x, draw, which):
        dim = draw.randint(1, x.dim() - 1)
        size = x.shape[dim]
        return x * self.gains[which][:size].view(size, *[1] * (x.dim() - 1 - dim)) if size <= 12 else x

    def join(self, x, draw, _):
        return torch.cat((x, torch.tanh(x)), draw.randint(1, x.dim() - 1)) if x.shape[1:].numel() < 300 else x

    def select(self, x, draw, _):
        if x.dim() < 3:
            return x
        dim = draw.randint(1, x.dim() - 1)
        return x.select(dim, draw.randrange(x.shape[dim]))

    def pad(self, x, draw, _):
        return F.pad(x, (1, 1)) if x.shape[-1] < 6 else x[..., 1:-1]


def wide(x, dims, shape):
    if x.dim() != len(shape):
        for dim in dims:
            x = x.unsqueeze(dim)
    return x.expand(shape)


def padded(x, dim, low, high):
    sizes = [0, 0] * x.dim()
    sizes[2 * (x.dim() - 1 - dim): 2 * (x.dim() - dim)] = [low, high]
    return F.pad(x, sizes)


def linear(a, x, weight, bias=None):
    count = a.get("contract", 1)
    inner = list(range(weight.dim() - count, weight.dim())) if a.get("transposed") else list(range(count))
    y = torch.tensordot(x, weight, dims=(list(range(x.dim() - count, x.dim())), inner))
    return y if bias is None else y + bias


def attention(a, q, k, v, *operands):
    q, k, v = (each.transpose(1, 2) for each in (q, k, v))
    later = k.shape[2] - q.shape[2]
    mask = torch.ones(q.shape[2], k.shape[2]).tril(later).bool() if a.get("causal") else None
    if "sliding" in a:
        mask = mask.triu(later - a["sliding"] + 1)
    more = dict(zip(a.get("operand_words", ()), operands, strict=True))
    if more:
        bias = more.get("bias", torch.zeros(()))
        if mask is not None:
            bias = bias.masked_fill(~mask, -torch.inf)
        if "lengths" in more:
            seen = torch.arange(k.shape[2]) < more["lengths"][:, None, None, None]
            bias = bias.masked_fill(~seen, -torch.inf)
        mask = bias.masked_fill(bias <= -1e30, -torch.inf).expand(q.shape[0], -1, q.shape[2], -1)
    if "soft_cap" not in a:
        return F.scaled_dot_product_attention(q, k, v, mask, scale=a.get("scale"), enable_gqa=True).transpose(1, 2)
    k, v = (each.repeat_interleave(q.shape[1] // each.shape[1], 1) for each in (k, v))
    scores = a["soft_cap"] * torch.tanh(q @ k.mT * a.get("scale", q.shape[-1] ** -0.5) / a["soft_cap"])
    weights = torch.softmax(scores if mask is None else scores.masked_fill(~mask, -torch.inf), -1)
    return (weights @ v).transpose(1, 2)


def elu(x, alpha, scale, input_scale):
    return scale * torch.where(x > 0, x, alpha * torch.expm1(input_scale * x))


# Functions of graph.point whose name or parameters are not those of torch.
POINTS = {
    "log_sigmoid": F.logsigmoid, "elu": elu, "pow": torch.pow, "clamp": torch.clamp,
    **{name: getattr(F, name) for name in ("softplus", "softsign", "mish", "leaky_relu", "hardtanh", "hardsigmoid",
                                           "hardswish", "hardshrink", "softshrink", "threshold")},
}


def point(how, x):
    name, parameters = how
    return (POINTS.get(name) or getattr(torch, name))(x, *parameters)


# This table has the meaning of ops by docs/dialects/graph.md, as a function of attributes, shape of the result,
# operands.
def window(a):
    """Returns the keywords of a convolution."""
    return {key: a[key] for key in ("stride", "padding", "dilation") if key in a}


def transposed(x, w, shape, how):
    """Returns the transpose of a convolution: the gradient of its image."""
    groups = shape[1] // w.shape[1]
    image = torch.zeros(shape, dtype=x.dtype, requires_grad=True)
    return torch.autograd.grad(F.conv2d(image, w, groups=groups, **how), image, x, create_graph=True)[0]


def gathered(x, index, dim):
    index = index.long()
    return x.index_select(dim, index) if index.dim() == 1 != x.dim() else x.gather(dim, index)


def added(shape, u, index, dim):
    zeros, index = torch.zeros(shape, dtype=u.dtype), index.long()
    return zeros.index_add(dim, index, u) if index.dim() == 1 != u.dim() else zeros.scatter_add(dim, index, u)


def selected(a, shape, x):
    """Returns the first of the elements in order, and their indices as numbers."""
    values, order = x.sort(stable=True, dim=a["dim"], descending=not a.get("smallest"))
    count = shape[a["dim"]]
    return values.narrow(a["dim"], 0, count), order.narrow(a["dim"], 0, count).to(x.dtype)


MEANING = {
    "reshape": lambda a, shape, x: x.reshape(shape), "transpose": lambda a, shape, x: x.permute(a["by"]),
    "slice": lambda a, shape, x: x.narrow(a["dim"], a["start"], a["size"]).reshape(shape),
    "concat": lambda a, shape, *x: torch.stack(x, a["dim"]) if a.get("stack") else torch.cat(x, a["dim"]),
    "pad": lambda a, shape, x: padded(x, a["dim"], a["low"], a["high"]),
    "broadcast": lambda a, shape, x, like=None: wide(x, a["dims"], shape), "add": lambda a, shape, x, y: x + y,
    "subtract": lambda a, shape, x, y: x - y, "multiply": lambda a, shape, x, y: x * y,
    "divide": lambda a, shape, x, y: x / y, "negate": lambda a, shape, x: -x, "tanh": lambda a, shape, x: x.tanh(),
    "scale": lambda a, shape, x: x * a["factor"], "constant": lambda a, shape: torch.full(shape, a["value"]),
    "reduce": lambda a, shape, x: getattr(torch, {"max": "amax"}.get(a["how"], a["how"]))(x, a["dims"]),
    "softmax": lambda a, shape, x: x.softmax(-1),
    "conv2d": lambda a, shape, x, w, *b: F.conv2d(x, w, *b, groups=x.shape[1] // w.shape[1], **window(a)),
    "conv_transpose2d": lambda a, shape, x, w: transposed(x, w, shape, window(a)),
    "max_pool2d": lambda a, shape, x: F.max_pool2d(x, a["kernel"], a.get("stride", 1), a.get("padding", 0)),
    "avg_pool2d": lambda a, shape, x: F.avg_pool2d(x, a["kernel"], a.get("stride", 1), a.get("padding", 0)),
    "exp": lambda a, shape, x: x.exp(), "log": lambda a, shape, x: x.log(),
    "gather": lambda a, shape, x, index: gathered(x, index, a["dim"]),
    "scatter_add": lambda a, shape, u, index: added(shape, u, index, a["dim"]), "top_k": selected,
    "dropout": lambda a, shape, x: x / (1 - a["p"]),  # all is kept
    "cumsum": lambda a, shape, x: x.cumsum(a["dim"]),
    "layer_norm": lambda a, shape, x, w, b: F.layer_norm(x, w.shape, w, b, a.get("epsilon", 1e-5)),
    "batch_norm": lambda a, shape, x, w, b, *state: F.batch_norm(x, None, None, w, b, True, 0, a.get("epsilon", 1e-5)),
    "rms_norm": lambda a, shape, x, w: F.rms_norm(x, w.shape, w, a.get("epsilon", 1e-5)),
    "linear": lambda a, shape, *x: linear(a, *x),
    "matmul": lambda a, shape, x, y: (x.mT if a.get("transpose_a") else x) @ (y.mT if a.get("transpose_b") else y),
    "attention": lambda a, shape, *x: attention(a, *x),
    "point": lambda a, shape, x: point(a["how"], x),
    "detach": lambda a, shape, x: x.detach(),
    "cross_entropy": lambda a, shape, x, ids: F.cross_entropy(
        x.flatten(0, -2), ids.flatten().long(), ignore_index=a.get("ignoring", -100),
        reduction="mean" if a.get("mean") else "none").reshape(shape),
    "iota": lambda a, shape: torch.arange(shape[0]).to(torch.get_default_dtype()),
    "compare": lambda a, shape, x, y: getattr(torch, a["how"])(x, y).to(torch.get_default_dtype()),
    "where": lambda a, shape, mask, x, y: torch.where(mask != 0, x, y),
    "relu": lambda a, shape, x: x.relu(),
    "maximum": lambda a, shape, x, y: torch.maximum(x, y), "minimum": lambda a, shape, x, y: torch.minimum(x, y),
    "embedding": lambda a, shape, table, ids: F.embedding(ids, table, a.get("padding")),
    "cast": lambda a, shape, x: x.long() if x.is_floating_point() else x.to(torch.get_default_dtype()),
    "weighted_mean": lambda a, shape, x, weights: (x * weights).sum() / weights.sum(),
    "sqrt": lambda a, shape, x: x.sqrt(), "silu": lambda a, shape, x: F.silu(x),
    "gelu": lambda a, shape, x: F.gelu(x, approximate="tanh" if a["how"] == "tanh" else "none"),
}


def meaning_of(op, operands):
    """Returns each result of an op with its value."""
    shapes = [[SAMPLES * size.rows if isinstance(size, Batch) else size for size in result.dims]
              for result in op.results]
    found = MEANING[op.name](op.attributes, shapes[0], *operands)
    found = found if isinstance(found, tuple) else (found,)
    for shape, value in zip(shapes, found, strict=True):
        assert list(value.shape) == shape, (op.name, op.attributes, shape, value.shape)
    return zip(op.results, found)


def execute(graph, inputs, parameters):
    """Executes graph IR with torch; returns the loss."""
    values = {value: inputs[name] for name, value in graph.inputs}
    for name, parameter in graph.parameters.items():
        if parameter.value is not None:
            values[parameter.value] = parameters[name].reshape(parameter.value.dims)
    for op in graph.ops:
        operands = [values[value] for value in op.operands]
        if op.name == "unstack":
            values.update(zip(op.results, operands[0].unbind(op.attributes["dim"])))
            continue
        values.update(meaning_of(op, operands))
    return values[graph.loss]


def check(seed):
    torch.manual_seed(seed)
    module, draw = Chain(seed).double(), random.Random(-seed)
    x = torch.randn(SAMPLES, *draw.choice([(12,), (4, 6), (2, 4, 3), (4, 4, 6)]))
    graph, _ = graph_of(module.float(), {"x": x}, None)
    module = module.double()  # so that differences are those of the order, not of rounding
    x = x.double().requires_grad_()
    torch.set_default_dtype(torch.float64)
    found, wanted = execute(graph, {"x": x}, dict(module.named_parameters())), module(x)
    torch.set_default_dtype(torch.float32)
    leaves = [x, *module.parameters()]
    gradients = [torch.autograd.grad(loss, leaves, allow_unused=True, materialize_grads=True)
                 for loss in (found, wanted)]
    worst = abs(found - wanted) / abs(wanted).clamp(min=1e-9)
    floor = 1e-6 * max(wanted_gradient.abs().max() for wanted_gradient in gradients[1])
    for a, b in zip(*gradients):
        worst = max(worst, (a - b).abs().max() / b.abs().max().clamp(min=floor, max=None))
    if not worst <= TOLERANCE:
        sys.exit(f"FAILED: seed {seed}: graph IR and module differ by {worst:.2e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for seed in range(arguments.seed, arguments.seed + arguments.cases):
        check(seed)
    print(f"graph IR of {arguments.cases} random modules is the module")


if __name__ == "__main__":
    main()

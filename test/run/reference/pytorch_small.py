#!/usr/bin/env python3
"""Exports small modules that are easily misread, executes their graph IR with torch, and compares loss and gradients.

Usage: pytorch_small.py
"""
import re
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn import Parameter

from pytorch_points import WIDTH, Points
from pytorch_fuzz import SAMPLES, execute, graph_of, meaning_of
from pytorch_indices import CASES as INDICES, KEPT
from pytorch_kinds import BLOCKS, CASES as KINDS, DETACHED
from pytorch_states import Looking
from pytorch_volumes import CASES as VOLUMES

from dtc.blocks import find_blocks
from dtc.losses import loss_of

TOLERANCE = 1e-4


class Small(nn.Module):
    """A function of a module with attributes, and an input."""

    def __init__(self, body, **attributes):
        super().__init__()
        self.body = body
        for name, value in attributes.items():
            setattr(self, name, value)

    def forward(self, x):
        return self.body(self, x)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix, self.norm = nn.Linear(8, 8), nn.LayerNorm(8)

    def forward(self, x):
        return x + torch.tanh(self.mix(self.norm(x)))


def square(x):
    return (x ** 2).mean()


def attend(q, k, v, **options):
    return square(F.scaled_dot_product_attention(q, k, v, **options))


def several(mask, **options):
    """Returns multi-head attention of x with itself."""
    def body(m, x):
        return square(m.mix(x, x, x, attn_mask=mask.to(x.dtype) if mask.is_floating_point() else mask, **options)[0])
    return Small(body, mix=nn.MultiheadAttention(8, 2, batch_first=True))


def all_twice(m, x):
    for layer in (*m.layers, *m.layers):
        x = layer(x)
    return square(x)


def each_twice(m, x):
    for layer in m.layers:
        x = layer(layer(x))
    return square(x)


def capped(mask):
    """Returns attention whose scores have a soft cap, written out as Gemma 2 of transformers has it."""
    def body(m, x):
        scores = torch.tanh(m.mix(x) @ x.mT * 0.4 / 3.0) * 3.0
        weights = torch.softmax(scores + mask if mask.is_floating_point() else scores.masked_fill(mask, -1e9), -1)
        return square(weights @ x)
    return Small(body, mix=nn.Linear(8, 8, bias=False))


def shifted(x):
    """Rows behind a row of twos, with the last element of each negated."""
    y = torch.zeros_like(x)
    y[:, 1:] = x[:, :-1]
    y[:, 0] = 2.0
    y[:, :, -1:] = -y[:, :, -1:]
    return y


def filled(m, x):
    mask = torch.zeros(8, 8)
    mask.fill_(2.0).mul_(3.0)
    return square(x @ mask)


def sums(equation, *others):
    """Returns the einsum of x, and of tensors that are parameters if they do not depend on x."""
    def body(m, x):
        return square(torch.einsum(equation, x, *(other(x) if callable(other) else m.w for other in others)))
    shapes = [other for other in others if not callable(other)]
    return Small(body, **({"w": Parameter(torch.randn(*shapes[0]))} if shapes else {}))


def layers(body):
    return Small(body, layers=nn.ModuleList(Layer() for _ in range(3)))


def padded(m, x):
    """Attention that sees no key whose first number is small; some query sees none."""
    kept = (x[:, 0, :, 0] > 0.2)[:, None, None, :] & (x[:, 0, :, 1] > -0.6)[:, None, :, None]
    return attend(m.mix(x), x, x, attn_mask=kept)


def padded_numbers(m, x):
    kept = (x[:, 0, :, 0] > -0.3)[:, None, None, :] & ~LATER[:5, :5]
    mask = torch.zeros_like(kept, dtype=x.dtype).masked_fill(~kept, -torch.inf)
    return attend(x, m.mix(x)[:, :2], x[:, :2] * 2, attn_mask=mask, enable_gqa=True, scale=0.3)


def padded_keys(m, x):
    padding = (x[:, :, 0] < -0.5) & (torch.arange(6) > 0)
    return square(m.mix(x, x, x, key_padding_mask=padding, attn_mask=LATER)[0])


def still(norm):
    """Returns batch norm in eval mode, with running statistics."""
    norm.running_mean.uniform_(-1, 1)
    norm.running_var.uniform_(0.5, 2)
    return norm.eval()


LATER, NEAR = torch.ones(6, 6).triu(1).bool(), torch.ones(6, 6).tril().triu(-2).bool()
ROWS, HEADS = (6, 8), (2, 4, 5, 6)
# Each entry is: the module, and the shape of its input beside the batch.
CASES = {
    "matrices turned": (Small(lambda m, x: square(x @ m.w.mT.sum(0)), w=Parameter(torch.randn(8, 8, 8))), ROWS),
    "keys of outer heads": (Small(lambda m, x: attend(x, x[:, :1] * 2, x[:, :1])), HEADS),
    "keys of inner heads": (Small(lambda m, x: attend(x, x[:, :, :1] * 2, x[:, :, :1])), HEADS),
    "grouped heads": (Small(lambda m, x: attend(x[:, 0], x[:, 1, :2], x[:, 1, 2:], enable_gqa=True)), HEADS),
    "heads side by side": (Small(lambda m, x: attend(x[:, 0], x[:, 1, :2].repeat(1, 2, 1, 1),
                                                     x[:, 1, :2].repeat(1, 2, 1, 1))), HEADS),
    "queries of a parameter": (Small(lambda m, x: attend(m.w, x[:, 0], x[:, 1]), w=Parameter(torch.randn(4, 3, 6))),
                               HEADS),
    "keys of a parameter": (Small(lambda m, x: attend(x[:, 0], m.w, m.w.tanh()), w=Parameter(torch.randn(4, 7, 6))),
                            HEADS),
    "the last queries": (Small(lambda m, x: attend(x[:, 3:], x, x, attn_mask=~LATER[3:])), ROWS),
    "a soft cap": (capped(LATER), ROWS),
    "a soft cap in a window": (capped(torch.zeros(6, 6).masked_fill(~NEAR, -torch.inf)), ROWS),
    "a soft cap and another mask": (capped(~torch.ones(6, 6).tril(2).bool()), ROWS),
    "a window": (Small(lambda m, x: attend(x, x * 2, x, attn_mask=NEAR)), ROWS),
    "a logical mask": (several(LATER), ROWS),
    "a mask of numbers": (several(torch.zeros(6, 6).masked_fill(LATER, -torch.inf)), ROWS),
    "a mask without weights": (several(LATER, need_weights=False), ROWS),
    "a mask of inputs": (Small(padded, mix=nn.Linear(6, 6)), (4, 5, 6)),
    "a mask of inputs as numbers": (Small(padded_numbers, mix=nn.Linear(6, 6)), (4, 5, 6)),
    "padded keys": (Small(padded_keys, mix=nn.MultiheadAttention(8, 2, batch_first=True)), ROWS),
    "a bias of scores": (Small(lambda m, x: attend(x, x, x * 2, attn_mask=m.b), b=Parameter(torch.randn(4, 5, 5))),
                         (4, 5, 6)),
    "another constant mask": (Small(lambda m, x: attend(x, x, x, attn_mask=torch.ones(6, 6).tril(2).bool())), ROWS),
    "numbers that count up": (Small(lambda m, x: square(x * torch.arange(8.0) + 0.5 * torch.arange(6.0)[:, None])),
                              ROWS),
    "numbers that count down": (Small(lambda m, x: square(x * torch.arange(3.0, -5.0, -1.0))), ROWS),
    "a band": (Small(lambda m, x: square(x * torch.ones(6, 8).tril(2).triu(-1))), ROWS),
    "a band that is left out": (Small(lambda m, x: square(x + (torch.ones(6, 8).tril(2).triu(-1) == 0) * 2.5)), ROWS),
    "some columns": (Small(lambda m, x: square(x * torch.tensor([0., 0, 2, 2, 2, 0, 0, 0]))), ROWS),
    "a constant changed in place": (Small(filled), ROWS),
    "shifted in place": (Small(lambda m, x: square(shifted(x) + torch.arange(6.0)[:, None])), ROWS),
    "the whole batch": (Small(lambda m, x: square(x[:x.shape[0]] ** 2)), ROWS),
    "one number as bias": (Small(lambda m, x: square(torch.addmm(m.b, x[:, 0], m.w)), w=Parameter(torch.randn(8, 5)),
                                 b=Parameter(torch.ones(1))),
                           ROWS),
    "a row as bias": (Small(lambda m, x: square(torch.addmm(m.b, x[:, 0], m.w)), w=Parameter(torch.randn(8, 5)),
                            b=Parameter(torch.ones(1, 5))),
                      ROWS),
    "layers called twice": (layers(all_twice), ROWS),
    "each layer called twice": (layers(each_twice), ROWS),
    "a shape's norm": (Small(lambda m, x: square(m.norm(x) + x ** 3), norm=nn.LayerNorm((6, 8), eps=1e-3)), ROWS),
    "twice RMS": (Small(lambda m, x: square((2 * x) * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 0.1))), ROWS),
    "RMS of a sum": (Small(lambda m, x: square(x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) + 0.1) + x)), ROWS),
    "RMS of rows": (Small(lambda m, x: square(x * torch.rsqrt(x.pow(2).mean(-2, keepdim=True) + 0.1) + x)), ROWS),
    "batch norm of rows": (Small(lambda m, x: square(m.n(x[:, 0]) + x[:, 1] ** 3), n=nn.BatchNorm1d(8)), ROWS),
    "batch norm of sequences": (Small(lambda m, x: square(m.n(x) + x ** 3), n=nn.BatchNorm1d(6, eps=1e-3)), ROWS),
    "batch norm of turned images": (Small(lambda m, x: square(m.n(x.transpose(1, 3)) * m.w), n=nn.BatchNorm2d(
        6, affine=False), w=Parameter(torch.randn(5, 4))), (4, 5, 6)),
    "batch norm of volumes": (Small(lambda m, x: square(m.n(x[:, :, None].repeat(1, 1, 2, 1, 1) * m.w) * m.w),
                                    n=nn.BatchNorm3d(4, momentum=None), w=Parameter(torch.randn(2, 5, 6))), (4, 5, 6)),
    "batch norm without running": (Small(lambda m, x: square(m.n(x) + x), n=nn.BatchNorm2d(
        4, track_running_stats=False)), (4, 5, 6)),
    "batch norm by running": (Small(lambda m, x: square(m.n(x) + x ** 2), n=still(nn.BatchNorm2d(4))), (4, 5, 6)),
    "half of GELU": (
        Small(lambda m, x: square(0.25 * x * (1 + torch.tanh(0.7978845608028654 * (x + 0.044715 * x ** 3))))), ROWS),
    "another tanh": (
        Small(lambda m, x: square(0.5 * x * (1 + torch.tanh(0.7978845608028654 * (x - 0.044715 * x ** 3))))), ROWS),
    "a negative gate": (Small(lambda m, x: square(x * torch.sigmoid(-3 * x))), ROWS),
    "einsum with a weight": (sums("btc,oc->bto", (5, 8)), ROWS),
    "einsum with a weight of two dims": (sums("btc,hdc->bhtd", (2, 3, 8)), ROWS),
    "einsum over two dims": (sums("bhtd,hdo->bto", (2, 6, 5)), (2, 4, 6)),
    "einsum of scores": (sums("bhqd,bhkd->bhqk", lambda x: x.tanh()), (2, 4, 6)),
    "einsum with the sums inside": (sums("bqhd,bkhd->bhqk", lambda x: x * 2), (4, 2, 6)),
    "einsum point by point": (sums("btc,btc->btc", lambda x: x.tanh()), ROWS),
    "einsum of rows": (sums("btc,btc->bt", lambda x: x.tanh()), ROWS),
    "einsum without a result": (sums("...tc,...uc", lambda x: x.tanh()), HEADS),
    "einsum with dots": (sums("...c,cd->...d", (8, 3)), ROWS),
    "einsum that transposes": (sums("btc->bct"), ROWS),
    "einsum that adds up": (sums("btc,c,bt->b", lambda x: torch.ones(8), lambda x: x[..., 0]), ROWS),
    "einsum of three": (sums("btc,cd,bsd->bts", (8, 8), lambda x: x.tanh()), ROWS),
    "variances": (Small(lambda m, x: square(x.var(-1) + x.std((1, 2), keepdim=True).squeeze(-1) + x.var(
        1, correction=0, keepdim=True).mean(2))), ROWS),
    "a norm by hand": (Small(lambda m, x: square((x - x.mean(-1, keepdim=True)) / torch.sqrt(
        x.var(-1, keepdim=True, unbiased=False) + 1e-5) * m.w), w=Parameter(torch.randn(8))), ROWS),
    "largest and smallest": (Small(lambda m, x: square(x.amax(-1) - x.amin((1, 2))[:, None])), ROWS),
    "logarithms of sums": (Small(lambda m, x: square((100 * x).logsumexp(-1) + x.logsumexp((1, 2), keepdim=True)[
        ..., 0])), ROWS),
    "logarithms of softmax": (Small(lambda m, x: square(x.log_softmax(-1) * x + F.log_softmax(x, 1))), ROWS),
    "transposed convolutions": (Small(lambda m, x: square(m.b(m.a(x))), a=nn.ConvTranspose2d(
        4, 6, (3, 2), stride=(2, 3), padding=(1, 0), output_padding=(1, 2), groups=2), b=nn.ConvTranspose2d(
            6, 2, 3, padding=1, dilation=2, bias=False)), (4, 4, 5)),
    "a transposed convolution of rows": (Small(lambda m, x: square(m.a(x)), a=nn.ConvTranspose1d(6, 4, 4, stride=2)),
                                         ROWS),
    "pixels repeated": (Small(lambda m, x: square(F.interpolate(x, scale_factor=2, mode="nearest") * m.w),
                              w=Parameter(torch.randn(8, 12))), (3, 4, 6)),
    "rows repeated in place": (Small(lambda m, x: square(x.repeat_interleave(3, 1) * m.w),
                                     w=Parameter(torch.randn(18, 8))), ROWS),
    "rolled": (Small(lambda m, x: square(torch.roll(x, (2, -3), (1, 2)) * m.w), w=Parameter(torch.randn(6, 8))), ROWS),
    "running sums": (Small(lambda m, x: square(x.cumsum(-1) * 0.5 + x.transpose(1, 2).cumsum(1).mT + x[:, :1].expand_as(
        x).cumsum(1))), ROWS),
    "running sums of no batch": (Small(lambda m, x: square(x + m.w.cumsum(0)), w=Parameter(torch.randn(6, 8))), ROWS),
    "subtracted twice": (Small(lambda m, x: square(torch.sub(x, x * x, alpha=2) + torch.rsub(x, 2, alpha=3))), ROWS),
}


def member_of(name, at):
    """Returns the name of a parameter of execution `at`: h.{1:2}.w is h.1.w, h.3.w and so on."""
    return re.sub(r"\{(\d*)(?::(\d+))?\}", lambda found: str(int(found[1] or 0) + at * int(found[2] or 1)), name)


def execute_blocks(graph, blocks, inputs, parameters):
    """Executes graph IR with blocks as layers: the name under which a block is called finds its parameters."""
    functions = {block.name: block for block in blocks}

    def run(ops, values):
        for op in ops:
            operands, a = [values[value] for value in op.operands], op.attributes
            if op.name == "unstack":
                values.update(zip(op.results, operands[0].unbind(op.attributes["dim"])))
                continue
            if op.name not in ("call", "repeat"):
                values.update(meaning_of(op, operands))
                continue
            block, under = functions[a["callee"]], a.get("under")
            for at in range(a.get("count", 1)):
                local = dict(zip(block.arguments, operands, strict=True))
                for name, members in block.parameters:
                    full = member_of(f"{under}.{name}" if under else name, at)
                    local[members[0].value] = parameters[full].reshape(members[0].value.dims)
                run(block.ops, local)
                results = [local[value] for value in block.results]
                operands = results + operands[len(results):]
            values.update(zip(op.results, results, strict=True))

    values = {value: inputs[name] for name, value in graph.inputs}
    values.update((each.value, parameters[name].reshape(each.value.dims)) for name, each in graph.parameters.items()
                  if each.value)
    run(graph.ops, values)
    return values[graph.loss]


def differ(found, wanted, leaves):
    """Returns how far two losses and their gradients are apart."""
    pairs = [(found.detach(), wanted.detach())]
    pairs += zip(*(torch.autograd.grad(loss, leaves, allow_unused=True, materialize_grads=True, retain_graph=True)
                   for loss in (found, wanted)))
    floor = 1e-6 * max(b.abs().max() for _, b in pairs)
    return max(float((a - b).abs().max() / b.abs().max().clamp(min=floor)) for a, b in pairs)


def check(name, module, shape):
    x = torch.randn(SAMPLES, *shape)
    graph, _ = graph_of(module, {"x": x}, None)
    for op in graph.ops:  # graph.linear needs a bias of these dims, which torch would broadcast
        if (op.name == "linear" and op.operands[2:] and op.operands[2].dims
            != op.result.dims[-len(op.operands[2].dims):]):
            sys.exit(f"FAILED: {name}: the bias has {op.operands[2].dims}, the result {op.result.dims}")
    torch.set_default_dtype(torch.float64)
    module, x = module.double(), x.double().requires_grad_()
    leaves = [x, *module.parameters()]
    parameters = {name: value.to(x.dtype) for name, value in (*module.named_parameters(), *module.named_buffers())}
    leaves = [leaf for leaf in leaves if leaf.requires_grad and not (leaf is x and name in DETACHED)]
    worst = differ(execute(graph, {"x": x}, parameters), module(x), leaves)
    blocks = find_blocks(graph)
    wanted = BLOCKS.get(name, [])
    if wanted and [(block.period, block.executions) for block in blocks] != wanted:
        sys.exit(f"FAILED: {name}: blocks are {[(block.period, block.executions) for block in blocks]}, not {wanted}")
    if blocks or "layer" in name:
        worst = max(worst, differ(execute_blocks(graph, blocks, {"x": x}, parameters), module(x), leaves))
    torch.set_default_dtype(torch.float32)
    if not worst <= TOLERANCE:
        sys.exit(f"FAILED: {name}: graph IR and module differ by {worst:.2e}")


def check_kept(name, module, same, drawn):
    """A module that draws at random, where all is kept; `drawn`: the shapes that it draws, beside the batch."""
    x = torch.randn(SAMPLES, *ROWS)
    graph, _ = graph_of(module, {"x": x}, None)
    found = execute(graph, {"x": x}, dict(module.named_parameters()))
    shapes = [op.result.dims[1:] for op in graph.ops if op.name == "dropout"]
    if shapes != drawn:
        sys.exit(f"FAILED: {name}: draws {shapes}, not {drawn}")
    worst = differ(found, (same(module, x) ** 2).mean(), list(module.parameters()))
    if not worst <= TOLERANCE:
        sys.exit(f"FAILED: {name}: graph IR and module differ by {worst:.2e} where all is kept")
    blocks = find_blocks(graph)
    drawing = sum(times * sum(op.name == "dropout" for op in ops)
                  for ops, times in ((graph.ops, 1), *((block.ops, block.executions) for block in blocks)))
    if drawing != len(drawn):
        sys.exit(f"FAILED: {name}: draws {drawing} times with blocks, not {len(drawn)}")


def check_points():
    """The module of every function, comparison and choice, without stacking two losses of one op."""
    given = {"features": torch.rand(SAMPLES, 3, WIDTH), "tokens": torch.randint(0, 5, (SAMPLES, 3))}
    module = Points()
    graph, _ = graph_of(module, given, None)
    torch.set_default_dtype(torch.float64)
    module, given["features"] = module.double(), given["features"].double()
    parameters = dict(module.named_parameters())
    found, wanted = execute(graph, given, parameters), module(**given)
    gradients = [torch.autograd.grad(loss, list(parameters.values())) for loss in (found, wanted)]
    torch.set_default_dtype(torch.float32)
    for name, a, b in zip(("loss", *parameters), (found[None], *gradients[0]), (wanted[None], *gradients[1])):
        if not (a - b).abs().max() <= 1e-6 * max(1, b.abs().max()):
            sys.exit(f"FAILED: {name}: graph IR has {a.tolist()}, the module {b.tolist()}")


SCALES = torch.tensor([0.5, 2.0, 1.25])
# Each entry is a loss of the outputs of three classes, and for "labels" class indices, else probabilities.
LOSSES = {
    "label smoothing": (lambda out, labels: F.cross_entropy(out, labels, label_smoothing=0.1)),
    "the losses of rows": (lambda out, labels: (2 * F.cross_entropy(out, labels, label_smoothing=0.2,
                                                                    reduction="none")).mean()),
    "class weights": (lambda out, labels: F.cross_entropy(out, labels, SCALES.to(out.dtype))),
    "a sum by class weights": (lambda out, labels: F.cross_entropy(out, labels, SCALES.to(out.dtype), reduction="sum")),
    "places": (lambda out, labels: F.cross_entropy(out[:, :, None] * torch.arange(1.0, 3.0), labels[:, None].repeat(
        1, 2), SCALES.to(out.dtype))),
    "probabilities": (lambda out, shares: -(shares * out.log_softmax(1)).sum(1).mean()),
    "log-probabilities": (lambda out, labels: F.nll_loss(F.logsigmoid(out), labels, SCALES.to(out.dtype))),
    "a log-softmax": (lambda out, labels: F.nll_loss(out.log_softmax(-1), labels, SCALES.to(out.dtype))),
    "a log-softmax by itself": (lambda out, shares: (out.log_softmax(1) * shares).square().mean()),
    "logsumexp": (lambda out, shares: (out.logsumexp(-1) * shares.logsumexp(1, keepdim=True)[:, 0]).mean()),
    "kl": (lambda out, shares: F.kl_div(out.log_softmax(-1), shares, reduction="batchmean")),
    "kl of logarithms": (lambda out, shares: F.kl_div(out, (shares + 0.1).log(), log_target=True, reduction="sum")),
    "bce": (lambda out, shares: F.binary_cross_entropy(out.sigmoid(), shares)),
    "bce by weights": (lambda out, shares: F.binary_cross_entropy_with_logits(out, shares, shares + 1,
                                                                              pos_weight=SCALES.to(out.dtype))),
    "a mean of samples": (lambda out, shares: (out * shares).square().sum() / out.shape[0]),
}


def check_losses():
    for name, loss in LOSSES.items():
        ints = "labels" in loss.__code__.co_varnames
        module, x = nn.Linear(4, 3), torch.randn(SAMPLES, 4)
        given = torch.tensor([0, -100, 2]) if ints else torch.rand(SAMPLES, 3) * (torch.rand(SAMPLES, 3) > 0.3)
        further = "labels" if ints else "shares"
        graph, _ = graph_of(module, {"input": x, further: given}, loss)
        torch.set_default_dtype(torch.float64)
        module, x = module.double(), x.double()
        given = given if ints else given.double()
        found = execute(graph, {"input": x, further: given}, dict(module.named_parameters()))
        worst = differ(found, loss(module(x), given), list(module.parameters()))
        torch.set_default_dtype(torch.float32)
        if not worst <= 1e-6:
            sys.exit(f"FAILED: {name}: graph IR and the loss differ by {worst:.2e}")


def check_loss():
    """A loss that is a module, as torch.nn has them."""
    module, given = nn.Linear(4, 3), {"input": torch.rand(2, 4), "target": torch.rand(2, 3)}
    graph, _ = graph_of(module, given, nn.MSELoss())
    if ([name for name, _ in graph.inputs] != ["input", "target"] or loss_of(nn.CrossEntropyLoss()).names(None)
        != ["target"]):
        sys.exit(f"FAILED: a loss of torch.nn reads {graph.inputs}")


def check_observed():
    """A state is observed where the loss passes a gradient: in numbers, not in indices."""
    given = {"x": torch.randn(SAMPLES, 3, 6), "tokens": torch.randint(0, 7, (SAMPLES, 3))}
    graph, _ = graph_of(Looking(), given, None)
    observed = [op.operands[0].kind for op in graph.ops if op.name == "observe"]
    if observed != ["f32"]:
        sys.exit(f"FAILED: a moving mean is observed in {observed}, not in one tensor of f32")


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    for name, (module, shape) in {**CASES, **INDICES, **KINDS, **VOLUMES}.items():
        check(name, module, shape)
    for name, case in KEPT.items():
        check_kept(name, *case)
    check_points()
    check_losses()
    check_loss()
    check_observed()
    print(f"graph IR of {len(CASES) + len(INDICES) + len(KINDS) + len(VOLUMES)} small modules is the module")


if __name__ == "__main__":
    main()

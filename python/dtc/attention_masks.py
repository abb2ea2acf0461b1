"""Attention with other masks than causal ones and windows: padding masks made of inputs, biases of
scores, other constant masks. Each becomes the bias of graph.attention, with a dim of 1 where it is
the same; attention of other ranks is written out as small ops."""

import math

import torch

from dtc.clean import aten, bound, drop_dead, insert, name_of, replace, sizes_of
from dtc.errors import Unsupported
from dtc.ops_attention import mask_kind

HIDDEN = -1e30  # a score that gets no weight beside any other


def write_out_masked(graph, folder, counts):
    """Replaces every attention whose mask graph.attention does not describe."""
    for node in list(graph.nodes):
        if name_of(node) == "scaled_dot_product_attention" and not is_known(node, folder):
            if takes_bias(node):
                make_bias(node)
                continue
            write_out(node, folder)
            counts["attention by small ops"] = counts.get("attention by small ops", 0) + 1
        elif name_of(node) == "baddbmm" and not folder.is_constant(node):
            write_sum(node)
    drop_dead(graph)


def write_sum(node):
    """Writes beta x + alpha (a b), which the attention of torch.nn adds a mask with."""
    a = bound(node)
    product = insert(node, aten.bmm.default, a["batch1"], a["batch2"])
    terms = [
        each if factor == 1 else insert(node, aten.mul.Tensor, each, factor)
        for each, factor in ((a["self"], a["beta"]), (product, a["alpha"]))
    ]
    replace(node, insert(node, aten.add.Tensor, *terms))


def is_known(node, folder):
    arguments = bound(node)
    mask = arguments["attn_mask"]
    if mask is None:
        return True
    if not folder.is_constant(mask):
        return False
    try:
        queries, keys = (sizes_of(arguments[name])[-2] for name in ("query", "key"))
        return mask_kind(folder.value(mask), queries, keys, arguments["is_causal"]) is not None
    except Unsupported:  # lowering the node reports it
        return True


def takes_bias(node):
    """Returns whether the mask can be the bias of graph.attention: [batch, heads, queries, keys] or
    fewer dims."""
    a = bound(node)
    ranks = [len(sizes_of(a[name])) for name in ("query", "key", "value")]
    return ranks == [4, 4, 4] and len(sizes_of(a["attn_mask"])) <= 4 and not a["is_causal"]


def make_bias(node):
    """Replaces a mask by numbers that are added to scores; graph.attention hides keys at HIDDEN."""
    a = bound(node)
    mask = a["attn_mask"]
    if mask.meta["val"].dtype == torch.bool:
        hidden = insert(node, aten.logical_not.default, mask)
        hidden = insert(node, aten._to_copy.default, hidden, dtype=torch.float32)
        mask = insert(node, aten.mul.Tensor, hidden, HIDDEN)
    new = insert(
        node,
        aten.scaled_dot_product_attention.default,
        a["query"],
        a["key"],
        a["value"],
        mask,
        a["dropout_p"],
        False,
        scale=a.get("scale"),
        enable_gqa=bool(a.get("enable_gqa")),
    )
    new.meta["bias"] = True
    replace(node, new)


def write_out(node, folder):
    """Writes softmax(q k^T scale + mask) v. A query that sees no key gets 0, as in PyTorch: scores
    that are hidden are finite, and their weights are taken as 0."""
    a = bound(node)
    query, key, value, mask = a["query"], a["key"], a["value"], a["attn_mask"]

    def make(target, *args):
        return insert(node, target, *args)

    if a.get("enable_gqa"):
        times = query.meta["val"].shape[-3] // key.meta["val"].shape[-3]
        key, value = (
            make(aten.repeat_interleave.self_int, each, times, -3) if times > 1 else each
            for each in (key, value)
        )
    scale = a["scale"] if a.get("scale") is not None else 1 / math.sqrt(sizes_of(query)[-1])
    scores = make(aten.matmul.default, query, make(aten.transpose.int, key, -2, -1))
    scores = make(aten.mul.Tensor, scores, scale)
    hidden = None
    if mask.meta["val"].dtype == torch.bool:
        hidden = make(aten.logical_not.default, mask)
    else:
        scores = make(aten.add.Tensor, scores, mask)
        if not folder.is_constant(mask) or bool(torch.isinf(folder.value(mask)).any()):
            hidden = make(aten.eq.Scalar, mask, -math.inf)
    if hidden is not None:
        scores = make(aten.masked_fill.Scalar, scores, hidden, HIDDEN)
    weights = make(aten.softmax.int, scores, -1)
    if hidden is not None:
        weights = make(aten.masked_fill.Scalar, weights, hidden, 0.0)
    if a["dropout_p"]:
        weights = make(aten.dropout.default, weights, a["dropout_p"], True)
    replace(node, make(aten.matmul.default, weights, value))

"""Attention with other masks than causal ones and windows: padding masks made of inputs, biases of
scores, other constant masks. Each becomes what graph.attention has for it (dtc.sample_masks), with a
dim of 1 where a bias is the same; attention of other ranks is written out as small ops."""

import math

import torch

from dtc.clean import aten, bound, drop_dead, insert, name_of, replace, sizes_of
from dtc.errors import Unsupported
from dtc.ops_attention import described_attention, mask_kind
from dtc.sample_masks import HIDDEN, Describer


def write_out_masked(graph, folder, counts):
    """Replaces every attention whose mask graph.attention does not describe."""
    describer = Describer(folder)
    for node in list(graph.nodes):
        if node.target is described_attention or name_of(node) == "scaled_dot_product_attention":
            if is_known(node, folder):
                continue
            if takes_bias(node):
                describer.describe(node)
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


def arguments_of(node):
    return node.kwargs if node.target is described_attention else bound(node)


def is_known(node, folder):
    arguments = arguments_of(node)
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
    a = arguments_of(node)
    ranks = [len(sizes_of(a[name])) for name in ("query", "key", "value")]
    return ranks == [4, 4, 4] and len(sizes_of(a["attn_mask"])) <= 4 and not a["is_causal"]


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

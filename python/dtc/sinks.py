"""Recognises attention with sinks, a learned score of each head that takes part in the softmax and
has no value, as GPT-OSS writes it out."""

import operator

from dtc.algebra import is_node, product
from dtc.clean import aten, bound, insert, name_of, replace, sizes_of
from dtc.ops_attention import described_attention

RESHAPES = ("view", "reshape", "unsqueeze")


class SinkRules:
    # softmax(cat(q k^T scale + mask, sinks))[..., :-1] v, with or without the maximum taken off
    def sunk_attention(self, node):
        if name_of(node) not in ("matmul", "bmm") or not is_node(node.args[0]):
            return
        weights, value, dropout = node.args[0], node.args[1], 0.0
        if name_of(weights) == "dropout":
            dropout, weights = bound(weights)["p"], weights.args[0]
        joined = joined_scores(weights)
        if joined is None:
            return
        sinks = sinks_of(joined[1])
        scores, mask = self.scores(joined[0])
        number, factors = product(scores)
        if sinks is None or len(factors) != 1 or name_of(factors[0]) != "matmul" or number <= 0:
            return
        q, k = factors[0].args[:2]
        if any(len(sizes_of(each)) != 4 for each in (q, k, value)) or sizes_of(q)[1:2] != sizes_of(
            sinks
        ):
            return
        k = insert(node, aten.transpose.int, k, -2, -1)
        with node.graph.inserting_before(node):
            new = node.graph.call_function(
                described_attention,
                (),
                {
                    "query": q,
                    "key": k,
                    "value": value,
                    "attn_mask": mask,
                    "dropout_p": dropout,
                    "is_causal": False,
                    "scale": number,
                    "enable_gqa": False,
                    "sinks": sinks,
                    "lengths": None,
                    "bias": None,
                },
            )
        new.meta = dict(node.meta)
        replace(node, new)
        self.count("attention")


def joined_scores(weights):
    """Returns (scores, sinks) of weights of all keys but the last one, which is the sink."""
    if name_of(weights) != "slice":
        return None
    taken, softmax = bound(weights), weights.args[0]
    if name_of(softmax) not in ("softmax", "_softmax"):
        return None
    sizes = sizes_of(softmax)
    last = len(sizes) - 1
    if (
        taken["dim"] % len(sizes) != last
        or taken["start"] not in (None, 0)
        or sizes_of(weights)[last] != sizes[last] - 1
        or bound(softmax)["dim"] % len(sizes) != last
    ):
        return None
    joined = without_maximum(softmax.args[0])
    if name_of(joined) != "cat" or len(joined.args[0]) != 2:
        return None
    scores, sinks = joined.args[0]
    if bound(joined)["dim"] % len(sizes) != last or sizes_of(sinks)[last] != 1:
        return None
    return scores, sinks


def without_maximum(node):
    """Returns x of x - max(x), which has the same softmax; any other node as it is."""
    if name_of(node) != "sub" or node.kwargs.get("alpha", 1) != 1 or not is_node(node.args[1]):
        return node
    x, largest = node.args[:2]
    if largest.target is operator.getitem and largest.args[1] == 0:
        largest = largest.args[0]
    if name_of(largest) not in ("max", "amax") or largest.args[0] is not x:
        return node
    return x if sizes_of(node) == sizes_of(x) else node


def sinks_of(node):
    """Returns the scores [heads] that are the same for all samples and queries, or None."""
    while name_of(node) == "expand":
        node = node.args[0]
    sizes = sizes_of(node)
    if len(sizes) != 4 or (sizes[0], sizes[2], sizes[3]) != (1, 1, 1):
        return None
    heads = sizes[1]
    while sizes_of(node) != (heads,):
        if name_of(node) not in RESHAPES or not is_node(node.args[0]):
            return None
        node = node.args[0]
    return node

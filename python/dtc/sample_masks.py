"""The masks of attention that a module computes, taken apart: which part is causal or a window,
which hides the padding of samples, and what else is added to scores.

Padding becomes the lengths of samples, behind which graph.attention computes nothing. Where a mask
does not say by itself that it is a length, as arange < length does, keys in front of a sample's last
one may be hidden too: they stay in the bias of scores.
"""

from dataclasses import dataclass, field

import torch

from dtc.algebra import is_node, terms
from dtc.clean import aten, bound, drop_dead, insert, name_of, replace, sizes_of
from dtc.errors import Unsupported
from dtc.ir import Batch
from dtc.ops_attention import described_attention, mask_kind

HIDDEN = -1e30  # a score that gets no weight beside any other
ANDS = ("__and__", "bitwise_and", "logical_and", "mul")


def read_by_positions(graph, folder):
    """Makes x[samples, positions], with the numbers of all samples and of all positions, which masks of
    transformers read padding with, a tensor of more dims."""
    for node in list(graph.nodes):
        if name_of(node) == "index" and not folder.is_constant(node):
            rank = positions_of(node, folder)
            if rank is not None:
                before, after = rank
                new = node.args[0]
                for _ in range(before):
                    new = insert(node, aten.unsqueeze.default, new, 1)
                for _ in range(after):
                    new = insert(node, aten.unsqueeze.default, new, -1)
                replace(node, new)
    drop_dead(graph)


def positions_of(node, folder):
    """Returns how many dims of size 1 a read by positions has between samples and positions, and behind;
    None for any other."""
    x, indices = node.args[0], list(node.args[1])
    if len(indices) != 2 or not all(is_node(each) and folder.is_constant(each) for each in indices):
        return None
    sizes = sizes_of(x)
    if len(sizes) != 2 or not isinstance(sizes[0], Batch) or isinstance(sizes[1], Batch):
        return None
    samples, positions = indices
    if torch.bool in (each.meta["val"].dtype for each in indices):
        return None
    for which in range(2):
        rows = folder.compute(samples, which)
        if not torch.equal(rows.flatten(), torch.arange(len(rows))) or rows.dim() != samples.meta[
            "val"
        ].dim():
            return None
    try:
        counted = folder.value(positions)
    except Unsupported:
        return None
    rank = max(counted.dim(), len(sizes_of(samples)))
    varying = [dim for dim, size in enumerate(counted.shape) if size > 1]
    if len(sizes_of(samples)) != rank or not torch.equal(
        counted.flatten(), torch.arange(sizes[1])
    ):
        return None
    position = rank - counted.dim() + (varying[0] if varying else counted.dim() - 1)
    return (position - 1, rank - position - 1) if position > 0 else None


@dataclass
class Mask:
    """The parts of a mask: numbers that are added to scores, and conditions that all hold for a key
    that is seen."""

    numbers: list = field(default_factory=list)
    conditions: list = field(default_factory=list)


def take_apart(node, folder):
    """Returns the parts of a mask."""
    if node.meta["val"].dtype == torch.bool:
        return Mask([], conditions_of(node))
    mask = Mask()
    for sign, term in terms(node):
        if not is_node(term):
            mask.numbers.append((sign, term))
            continue
        while name_of(term) == "expand":
            term = term.args[0]
        if name_of(term) in ("where", "masked_fill") and sign == 1:
            condition, shown, hidden = choice_of(term)
            if condition is not None and is_low(hidden, folder):
                mask.conditions += conditions_of(condition)
                if not is_zero(shown, folder):
                    mask.numbers.append((1, shown))
                continue
        mask.numbers.append((sign, term))
    return mask


def choice_of(node):
    """Returns (condition, value where it holds, value elsewhere) of where or masked_fill; the
    condition is None where none is written."""
    if name_of(node) == "where":
        return node.args
    shown, hides, hidden = node.args
    is_not = name_of(hides) in ("logical_not", "bitwise_not")
    return (hides.args[0] if is_not else None), shown, hidden


def conditions_of(node):
    name = name_of(node)
    if name in ANDS and all(
        is_node(each) and each.meta["val"].dtype == torch.bool for each in node.args[:2]
    ):
        return conditions_of(node.args[0]) + conditions_of(node.args[1])
    if name in ("expand", "to", "_to_copy") and node.args[0].meta["val"].dtype == torch.bool:
        return conditions_of(node.args[0])
    return [node]


def number_of(value, folder):
    """Returns the one number that a constant consists of, or None."""
    if is_node(value):
        if not folder.is_constant(value):
            return None
        value = folder.value(value)
    if isinstance(value, torch.Tensor):
        return float(value.flatten()[0]) if bool((value == value.flatten()[0]).all()) else None
    return float(value)


def is_low(value, folder):
    number = number_of(value, folder)
    return number is not None and number <= -1e4


def is_zero(value, folder):
    return number_of(value, folder) == 0


class Describer:
    """Makes attention with masks described_attention. Attention that shares a mask shares what is
    made of it."""

    def __init__(self, folder):
        self.folder, self.made = folder, {}

    def describe(self, node):
        """Replaces one attention whose mask depends on the inputs, or is none that has a name."""
        a = node.kwargs if node.target is described_attention else bound(node)
        mask = a["attn_mask"]
        queries, keys = (sizes_of(a[name])[-2] for name in ("query", "key"))
        if mask not in self.made:
            self.made[mask] = self.parts_of(node, mask, queries, keys)
        kind, bias, lengths = self.made[mask]
        with node.graph.inserting_before(node):
            new = node.graph.call_function(
                described_attention,
                (),
                {
                    "query": a["query"],
                    "key": a["key"],
                    "value": a["value"],
                    "attn_mask": None,
                    "dropout_p": a["dropout_p"],
                    "is_causal": False,
                    "scale": a.get("scale"),
                    "enable_gqa": bool(a.get("enable_gqa")),
                    "sinks": a.get("sinks"),
                    "lengths": lengths,
                    "bias": bias,
                },
            )
        new.meta = dict(node.meta)
        new.meta["kind"] = kind
        replace(node, new)

    def parts_of(self, anchor, mask, queries, keys):
        """Returns ((causal, window or None), bias or None, lengths or None) of a mask."""

        def make(target, *args, **kwargs):
            new = insert(anchor, target, *args, **kwargs)
            # The part that layers share stands where the mask is made.
            new.meta.update({k: v for k, v in mask.meta.items() if k != "val"})
            return new

        parts = take_apart(mask, self.folder)
        constant = [each for each in parts.conditions if self.folder.is_constant(each)]
        others = [each for each in parts.conditions if each not in constant]
        kind = (False, None)
        if constant:
            whole = self.folder.value(constant[0])
            for each in constant[1:]:
                whole = whole & self.folder.value(each)
            found = mask_kind(whole.expand(*whole.shape[:-2], queries, keys), queries, keys, False)
            if found is None:
                others += constant
            else:
                kind = found
        padding = [each for each in others if is_of_keys(each, keys)]
        lengths = [each for each in (length_of(each, keys, self.folder) for each in padding) if each]
        hidden = [each for each in others if length_of(each, keys, self.folder) is None]
        length = None
        if len(lengths) == 1:
            length = make(aten.flatten.using_ints, lengths[0]) if sizes_of(
                lengths[0]
            ) != (Batch(1),) else lengths[0]
        elif padding:
            length = last_seen(make, padding, keys)
        if len(lengths) > 1:
            hidden = others
        return kind, self.bias_of(make, parts.numbers, hidden), length

    def bias_of(self, make, numbers, hidden):
        """Returns the sum of numbers, with HIDDEN where a condition does not hold."""
        total = None
        for sign, each in numbers:
            each = each if sign == 1 else make(aten.neg.default, each)
            total = each if total is None else make(aten.add.Tensor, total, each)
        shown = None
        for each in hidden:
            shown = each if shown is None else make(aten.logical_and.default, shown, each)
        if shown is None:
            return total
        if total is not None:
            return make(aten.where.ScalarOther, shown, total, HIDDEN)
        shown = make(aten.logical_not.default, shown)
        shown = make(aten._to_copy.default, shown, dtype=torch.float32)
        return make(aten.mul.Tensor, shown, HIDDEN)


def is_of_keys(node, keys):
    """Returns whether a condition is about the keys of a sample alone: [batch, 1, 1, keys]."""
    sizes = sizes_of(node)
    return (
        len(sizes) == 4
        and isinstance(sizes[0], Batch)
        and sizes[1:] == (1, 1, keys)
    )


def length_of(node, keys, folder):
    """Returns the lengths of samples, [batch] in some dims, of which a condition says that a key is
    in front; None where it says anything else."""
    while name_of(node) in ("unsqueeze", "view", "reshape"):
        node = node.args[0]
    if name_of(node) not in ("lt", "gt") or len(node.args) != 2:
        return None
    position, length = node.args if name_of(node) == "lt" else node.args[::-1]
    if not is_node(position) or not is_node(length) or not folder.is_constant(position):
        return None
    if length.meta["val"].is_floating_point() or folder.is_constant(length):
        return None
    sizes = sizes_of(length)
    if not sizes or not isinstance(sizes[0], Batch) or any(size != 1 for size in sizes[1:]):
        return None
    counted = folder.value(position)
    is_count = counted.shape[-1:] == (keys,) and torch.equal(counted.flatten(), torch.arange(keys))
    return length if is_count and len(sizes) >= counted.dim() else None


def last_seen(make, padding, keys):
    """Returns the number of keys up to the last one that conditions do not hide, [batch]."""
    seen = padding[0]
    for each in padding[1:]:
        seen = make(aten.logical_and.default, seen, each)
    seen = make(aten._to_copy.default, seen, dtype=torch.float32)
    ends = make(aten.arange.start, 1, keys + 1, dtype=torch.float32)
    last = make(aten.amax.default, make(aten.mul.Tensor, seen, ends), [-1])
    return make(aten.flatten.using_ints, last)

"""Writes through a view, such as x[:, 1:] = y, as ordinary ops: the tensor that the view is of is
put together anew."""

import torch

from dtc.clean import WIDE, aten, bound, insert, name_of, replace, sizes_of
from dtc.errors import Unsupported
from dtc.ir import Batch


def through_views(node, order, shared):
    """Replaces copy_ or fill_ of slices of a tensor; returns False where the op is another one, or
    where another view of the tensor is read later."""
    kind = name_of(node)
    if kind not in ("copy_", "fill_"):
        return False
    chain, base = [], node.args[0]
    while name_of(base) in ("slice", "select"):
        chain.append(base)
        base = base.args[0]
    if not chain or base.op != "call_function" or base not in shared:
        return False
    before = {other for other in shared - {base} if order[other] < order[node]}
    if any(order.get(user, -1) > order[node] for other in before for user in other.users):
        return False
    value = written_value(node, kind)
    for view in chain:
        value = placed(node, view, value)
    for user in list(base.users):
        if order.get(user, -1) > order[node]:
            user.replace_input_with(base, value)
    replace(node, value)
    return True


def written_value(node, kind):
    view = node.args[0]
    if kind == "fill_" and not hasattr(node.args[1], "meta"):
        return insert(node, aten.full_like.default, view, node.args[1])
    value, wanted = node.args[1], view.meta["val"]
    if value.meta["val"].dtype != wanted.dtype:
        value = insert(node, aten._to_copy.default, value, dtype=wanted.dtype)
    if sizes_of(value) != sizes_of(view):
        value = insert(node, aten.expand.default, value, [size_node(node, s) for s in wanted.shape])
    return value


def size_node(node, size):
    """Returns a size as an op can take it: a node that reads it of an input."""
    if not isinstance(size, torch.SymInt):
        return size
    for each in node.graph.nodes:
        shape = getattr(each.meta.get("val"), "shape", ()) if each.op == "placeholder" else ()
        for dim, other in enumerate(shape):
            if isinstance(other, torch.SymInt) and other.node.expr == size.node.expr:
                return insert(node, aten.sym_size.int, each, dim)
    raise Unsupported("changes in place what has as many rows as the batch; compute a new tensor")


def range_of(view):
    """Returns (dim, start, end, size) of a slice or a select, with `size` elements in all."""
    arguments, sizes = bound(view), sizes_of(view.args[0])
    dim = arguments["dim"] % len(sizes)
    size = sizes[dim]
    if name_of(view) == "select":
        start = arguments["index"]
        start += size if start < 0 and not isinstance(size, Batch) else 0
        return dim, start, start + 1, size
    if arguments["step"] != 1:
        raise Unsupported("changes every other element in place; compute a new tensor")
    start, end = arguments["start"] or 0, arguments["end"]
    if isinstance(size, Batch):
        if start or sizes_of(view) != sizes:
            raise Unsupported("changes some samples of a batch in place; compute a new tensor")
        return dim, 0, size, size
    start = max(start + size, 0) if start < 0 else min(start, size)
    end = size if end is None else max(end + size, 0) if end < 0 else min(end, size)
    return dim, start, end, size


def placed(anchor, view, value):
    """Returns the tensor that a view is of, with a value in the place of the view; new nodes stand
    in front of `anchor`."""
    dim, start, end, size = range_of(view)
    if isinstance(size, Batch) and (start, end) != (0, size):
        raise Unsupported("changes a sample of a batch in place; compute a new tensor")
    if name_of(view) == "select":
        value = insert(anchor, aten.unsqueeze.default, value, dim)
    if (start, end) == (0, size):
        return value
    whole, parts = view.args[0], [value]
    if start > 0:
        parts = [*pieces(anchor, whole, dim, 0, start), *parts]
    if end < size:
        parts = [*parts, *pieces(anchor, whole, dim, end, size)]
    kind = value.meta["val"].dtype
    if kind in WIDE:  # graph IR joins numbers of f32
        parts = [as_floats(anchor, part) for part in parts]
        return insert(anchor, aten._to_copy.default, joined(anchor, parts, dim), dtype=kind)
    return joined(anchor, parts, dim)


def joined(anchor, parts, dim):
    return insert(anchor, aten.cat.default, parts, dim)


def as_floats(anchor, node):
    if node.meta["val"].is_floating_point():
        return node
    return insert(anchor, aten._to_copy.default, node, dtype=torch.float32)


def pieces(anchor, whole, dim, start, end):
    """Returns elements [start, end) of a tensor: the parts that it is put together of, or a
    slice."""
    if name_of(whole) == "_to_copy":
        whole = whole.args[0]
    if name_of(whole) == "cat" and bound(whole)["dim"] % len(sizes_of(whole)) == dim:
        at, found = 0, []
        for part in whole.args[0]:
            size = sizes_of(part)[dim]
            if start <= at and at + size <= end:
                found.append(part)
            at += size
        if sum(sizes_of(part)[dim] for part in found) == end - start:
            return found
    return [insert(anchor, aten.slice.Tensor, whole, dim, start, end)]


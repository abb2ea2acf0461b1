"""Constant tensors of several values that graph IR can state: numbers that count up along one dim,
a few numbers along one dim, and two values on both sides of diagonals, such as a causal mask."""

import torch

from dtc.clean import bound, sizes_of
from dtc.diagonals import diagonals
from dtc.errors import Unsupported
from dtc.lower import lowers
from dtc.ops_choices import compare, where
from dtc.ops_points import binary, number, repeated_to, scaled
from dtc.views import identity, with_dims


LIKE = {"zeros_like": 0.0, "ones_like": 1.0, "new_zeros": 0.0, "new_ones": 1.0}
# Ops in place fill such a tensor; nothing reads it before.
LIKE |= {"new_empty": 0.0, "empty_like": 0.0, "empty": 0.0}


@lowers(*LIKE, "full_like", "new_full")
def filled_like(lower, node):
    """Writes one number with the shape of another tensor, where that depends on the batch."""
    if node.meta["val"].dtype not in (torch.float32, torch.bool):
        raise Unsupported("makes integers of one value; make numbers of f32")
    name = node.target._opname
    value = LIKE[name] if name in LIKE else bound(node)["fill_value"]
    return repeated_to(number(lower, float(value)), sizes_of(node))


def stated(lower, value, sizes):
    """Returns the view of a constant, which has size 1 along the batch; None where graph IR can't
    state it."""
    varying = [
        dim
        for dim, size in enumerate(value.shape)
        if size > 1 and not bool((value == value.narrow(dim, 0, 1)).all())
    ]
    if value.dtype not in (torch.float32, torch.bool, torch.int32, torch.int64):
        return None
    core = value
    for dim in range(value.dim()):
        if dim not in varying:
            core = core.narrow(dim, 0, 1)
    flat = core.double().reshape([core.shape[dim] for dim in varying])
    made = None
    if len(varying) == 1:
        made = counted_up(lower, flat) or stepped(lower, flat)
    elif len(varying) == 2:
        made = banded(lower, flat) or diagonals(lower, flat, index, row_index)
    if made is None:
        return None
    dims = [()] * value.dim()
    for dim, atoms in zip(reversed(varying), reversed(made.dims)):
        dims[dim] = atoms
    return repeated_to(with_dims(made, dims), sizes)


def index(lower, size):
    return identity(lower.build.emit("iota", [], (size,)))


def counted_up(lower, flat):
    """Writes first + step i, where that gives the same numbers in f32."""
    numbers = flat.float()
    if not torch.equal(numbers.double(), flat):
        return None
    first, step = numbers[0], numbers[1] - numbers[0]
    if step == 0 or not torch.equal(first + step * torch.arange(len(flat)), numbers):
        return None
    view = scaled(lower, index(lower, len(flat)), float(step))
    return view if first == 0 else binary(lower, "add", view, number(lower, float(first)))


STEPS = 16


def stepped(lower, flat):
    """Writes a few numbers, each of which may be repeated, by choices among them."""
    starts = [0] + [at for at in range(1, len(flat)) if flat[at] != flat[at - 1]]
    if len(starts) > STEPS:
        return None
    position, view = index(lower, len(flat)), number(lower, float(flat[-1]))
    for start, after in reversed(list(zip(starts, starts[1:]))):
        before = compare(lower, "lt", position, number(lower, float(after)))
        view = where(lower, before, number(lower, float(flat[start])), view)
    return view


def banded(lower, flat):
    """Writes two values by low <= column - row <= high, with the rows and columns of a matrix."""
    two = torch.unique(flat)
    if len(two) != 2:
        return None
    rows, columns = flat.shape
    distance = torch.arange(columns)[None, :] - torch.arange(rows)[:, None]
    for inside, outside in ((two[1], two[0]), (two[0], two[1])):
        held = distance[flat == inside]
        low, high = int(held.min()), int(held.max())
        if torch.equal(flat == inside, (distance >= low) & (distance <= high)):
            break
    else:
        return None
    offset = binary(lower, "subtract", index(lower, columns), row_index(lower, rows))
    mask = None
    for kind, limit, least in (("ge", low, distance.min()), ("le", high, distance.max())):
        if limit == least:
            continue
        side = compare(lower, kind, offset, number(lower, float(limit)))
        mask = side if mask is None else binary(lower, "multiply", mask, side)
    if (float(inside), float(outside)) == (1.0, 0.0):
        return mask
    return where(lower, mask, number(lower, float(inside)), number(lower, float(outside)))


def row_index(lower, rows):
    view = index(lower, rows)
    return with_dims(view, (view.dims[0], ()))

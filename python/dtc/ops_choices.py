"""Comparisons, logic and choices. A mask is a value of f32 that holds 0 and 1, where PyTorch has
bool."""

import math

import torch

from dtc.algebra import is_node
from dtc.clean import bound, sizes_of
from dtc.errors import Unsupported
from dtc.ir import Batch
from dtc.lower import lowers
from dtc.ops_layers import reduced
from dtc.ops_points import as_numbers, binary, check_totals, floats, number, point
from dtc.ops_points import repeated_to, whole_dims
from dtc.views import identity, with_dims

EXACT = 1 << 24  # whole numbers below are exact in f32


def compare(lower, kind, a, b):
    """Writes the mask of a comparison of two views; integers are compared as such, or as numbers
    with numbers."""
    if a.kind != b.kind:
        a, b = as_numbers(lower, a), as_numbers(lower, b)
    return binary(
        lower,
        "compare",
        a,
        b,
        lambda operands, dims: lower.build.emit("compare", operands, dims, how=kind),
    )


@lowers("eq", "ne", "lt", "le", "gt", "ge")
def comparison(lower, node):
    views = []
    for side, other in (node.args[:2], node.args[1::-1]):
        if is_node(side):
            views.append(lower.view(side))
            continue
        whole = is_node(other) and not other.meta["val"].is_floating_point()
        if whole and abs(side) >= EXACT and math.isfinite(side):
            raise Unsupported(
                f"compares integers with {side}; graph IR has constants that are exact in f32,"
                f" below {EXACT}"
            )
        views.append(number(lower, float(side)))
    return compare(lower, node.target._opname, *views)


@lowers("isnan")
def is_nan(lower, node):
    view = floats(lower.view(node.args[0]))
    return compare(lower, "ne", view, view)


@lowers("isinf", "isfinite")
def is_infinite(lower, node):
    size = point(lower, "abs", floats(lower.view(node.args[0])))
    kind = "eq" if node.target._opname == "isinf" else "lt"
    return compare(lower, kind, size, number(lower, math.inf))


def truth(lower, value):
    """Returns the mask of an operand of a logical op: of numbers, where they are not 0."""
    if not is_node(value):
        return number(lower, float(bool(value)))
    view = lower.view(value)
    if value.meta["val"].dtype == torch.bool:
        return view
    return compare(lower, "ne", view, number(lower, 0.0))


def inverted(lower, mask):
    return binary(lower, "subtract", number(lower, 1.0), mask)


LOGIC = {"and": "multiply", "or": "maximum", "xor": "compare"}


@lowers(
    "logical_and",
    "logical_or",
    "logical_xor",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "__and__",
    "__or__",
    "__xor__",
)
def logic(lower, node):
    name = node.target._opname
    if not name.startswith("logical"):
        check_logic(node)
    kind = name.strip("_").removeprefix("logical_").removeprefix("bitwise_")
    a, b = truth(lower, node.args[0]), truth(lower, node.args[1])
    return compare(lower, "ne", a, b) if kind == "xor" else binary(lower, LOGIC[kind], a, b)


@lowers("logical_not", "bitwise_not")
def negation(lower, node):
    if node.target._opname == "bitwise_not":
        check_logic(node)
    return inverted(lower, truth(lower, node.args[0]))


def check_logic(node):
    if node.meta["val"].dtype != torch.bool:
        raise Unsupported("works on the bits of integers; graph IR has logic of masks only")


@lowers("any", "all")
def any_or_all(lower, node):
    """Writes any as the largest of a mask, and all as the opposite of any of the opposite."""
    arguments = bound(node)
    mask, rank = truth(lower, node.args[0]), len(sizes_of(node.args[0]))
    dims = arguments.get("dim")
    dims = list(range(rank)) if dims is None else [dims] if isinstance(dims, int) else list(dims)
    dims = sorted({dim % rank for dim in dims}) if rank else []
    if any(isinstance(mask.sizes[dim], Batch) for dim in dims):
        raise Unsupported("is over the batch, which couples samples")
    is_all = node.target._opname == "all"
    result = reduced(lower, inverted(lower, mask) if is_all else mask, "max", dims)
    if arguments.get("keepdim"):
        kept = list(result.dims)
        for dim in dims:
            kept.insert(dim, ())
        result = with_dims(result, kept)
    return inverted(lower, result) if is_all else result


def is_number(view):
    return view.value.dims == ()


def where(lower, mask, a, b):
    """Writes a where the mask holds, else b; all three broadcast as in NumPy."""
    for each in (mask, a, b):
        check_totals(lower, "where", each.value, each.value)
    lower.same_samples(mask.value, a.value, b.value)
    emit = lower.build.emit
    sizes = whole_dims(mask, a, b)
    if is_number(b):
        result = binary(
            lower, "where", mask, a, lambda of, dims: emit("where", [*of, b.value], dims)
        )
    elif is_number(a):
        result = binary(
            lower, "where", mask, b, lambda of, dims: emit("where", [of[0], a.value, of[1]], dims)
        )
    else:
        values = [lower.build.plain(repeated_to(each, sizes)) for each in (mask, a, b)]
        result = identity(emit("where", values, values[0].dims))
    return repeated_to(result, sizes)


@lowers("where")
def choice(lower, node):
    if len(node.args) < 3:
        raise Unsupported("lists the places where a mask holds, of which the number depends on it")
    a, b = (side_of(lower, each) for each in node.args[1:3])
    return where(lower, truth(lower, node.args[0]), a, b)


def side_of(lower, value):
    return floats(lower.view(value)) if is_node(value) else number(lower, float(value))


@lowers("masked_fill")
def filled(lower, node):
    x, mask, value = node.args[:3]
    return where(lower, truth(lower, mask), side_of(lower, value), floats(lower.view(x)))


@lowers("prelu")
def prelu(lower, node):
    """Writes x above 0, else weight x; the weight is one number, or one for each channel, dim 1."""
    view, weight = floats(lower.view(node.args[0])), floats(lower.view(node.args[1]))
    rank = len(view.dims)
    dims = [()] * rank
    if rank > 1:
        dims[1] = weight.dims[0]
    slope = binary(lower, "multiply", view, with_dims(weight, dims))
    return where(lower, compare(lower, "gt", view, number(lower, 0.0)), view, slope)

"""Point-by-point ops: a table of the unary ones, and two operands that broadcast."""

import torch

from dtc import views
from dtc.clean import bound, name_of, sizes_of
from dtc.errors import Unsupported
from dtc.fold import is_batch_size, rows_of
from dtc.ir import Batch, elements
from dtc.lower import lowers
from dtc.algebra import is_node
from dtc.views import Atom, View, identity, with_dims

UNARY = {
    "relu": "relu",
    "exp": "exp",
    "log": "log",
    "sqrt": "sqrt",
    "tanh": "tanh",
    "silu": "silu",
    "neg": "negate",
}


def pointwise(lower, name, view, **attributes):
    """Returns a unary op of a view: the value changes, the order stays."""
    view = lower.build.settled(view)
    if name not in ("negate", "scale") and view.value.total and not lower.for_state:
        raise Unsupported(
            "is not linear in a mean or sum over the batch; take it of each sample, before the mean"
        )
    value = lower.build.emit(name, [view.value], view.value.dims, **attributes)
    return View(value, view.layout, view.dims)


def point(lower, function, view, *parameters):
    """Returns a function of graph.point of a view, with its parameters."""
    how = (function, tuple(float(parameter) for parameter in parameters))
    return pointwise(lower, "point", view, how=how)


@lowers(*UNARY)
def unary(lower, node):
    view = floats(lower.view(node.args[0]))
    return pointwise(lower, UNARY[getattr(node.target, "_opname", node.target)], view)


def floats(view):
    if view.kind != "f32":
        raise Unsupported(
            "computes with integers, which graph IR only looks up: turn them into numbers with"
            " .float()"
        )
    return view


@lowers("gelu")
def gelu(lower, node):
    kind = bound(node)["approximate"]
    return pointwise(
        lower, "gelu", floats(lower.view(node.args[0])), how="tanh" if kind == "tanh" else "erf"
    )


@lowers("dropout")
def dropout(lower, node):
    return pointwise(
        lower,
        "dropout",
        views_written(lower, floats(lower.view(node.args[0]))),
        p=float(bound(node)["p"]),
    )


def chosen(lower, sizes, chance):
    """Writes 1 with a probability, else 0, for each element of a shape."""
    ones = repeated_to(number(lower, 1.0), sizes)
    if chance in (0, 1):
        return scaled(lower, ones, chance)
    view = pointwise(lower, "dropout", views_written(lower, ones), p=1 - chance)
    return scaled(lower, view, chance)


@lowers("bernoulli")
def drawn(lower, node):
    """Writes draws with one probability, as those that keep whole samples."""
    arguments, given = bound(node), node.args[0]
    chance = arguments.get("p")
    if chance is None and name_of(given) in ("full", "full_like", "new_full"):
        chance = bound(given)["fill_value"]
    if not isinstance(chance, (int, float)):
        raise Unsupported("draws with a probability of its own for each element")
    if not 0 <= chance <= 1:
        raise Unsupported(f"draws with the probability {chance}")
    return chosen(lower, sizes_of(node), float(chance))


@lowers("feature_dropout")
def channels_dropped(lower, node):
    """Drops whole channels of samples."""
    view, kept = floats(lower.view(node.args[0])), 1 - float(bound(node)["p"])
    if len(view.sizes) < 3 or not isinstance(view.sizes[0], Batch):
        raise Unsupported("drops channels of one image; give the batch as the first dim")
    sizes = (*view.sizes[:2], *(1 for _ in view.sizes[2:]))
    mask = chosen(lower, sizes, kept)
    return binary(lower, "multiply", view, scaled(lower, mask, 1 / kept if kept else 0.0))


def views_written(lower, view):
    """Returns the view with repeats written out, for ops that treat each repetition in another
    way."""
    return (
        identity(lower.build.plain(view))
        if any(atom.repeats for dim in view.dims for atom in dim)
        else view
    )


@lowers("to", "_to_copy")
def cast(lower, node):
    view = lower.view(node.args[0])
    kinds = (node.args[0].meta["val"].dtype, node.meta["val"].dtype)
    if kinds[1] == torch.bool:
        return is_not_zero(lower, view)
    if kinds[1].is_floating_point:
        return as_numbers(lower, view)
    if not kinds[0].is_floating_point:
        return view
    # Integers that a module computes are whole numbers of f32.
    return point(lower, "trunc", floats(view))


def as_numbers(lower, view):
    """Returns integers as numbers of f32; masks and numbers are that already."""
    if view.kind == "f32":
        return view
    view = lower.build.settled(view)
    return View(lower.build.emit("cast", [view.value], view.value.dims), view.layout, view.dims)


def is_not_zero(lower, view):
    def write(operands, dims):
        return lower.build.emit("compare", operands, dims, how="ne")

    return binary(lower, "compare", as_numbers(lower, view), number(lower, 0.0), write)


def magnitude(lower, view):
    """Returns |x|, whose gradient at 0 is 0, as PyTorch's is."""
    return point(lower, "abs", view)


def number(lower, value):
    return identity(lower.build.constant(value))


def scaled(lower, view, factor):
    return view if factor == 1 else pointwise(lower, "scale", view, factor=float(factor))


@lowers("add", "sub", "rsub")
def add(lower, node):
    a, b = node.args[0], node.args[1]
    alpha = node.kwargs.get("alpha", node.args[2] if len(node.args) > 2 else 1)
    if getattr(node.target, "_opname", "") == "rsub":
        a, b = b, a
    op = "add" if getattr(node.target, "_opname", "") == "add" else "subtract"
    a, b = operand(lower, a), operand(lower, b)
    if node.meta["val"].dtype == torch.bool:
        return binary(lower, "maximum", a, b)  # a sum of logic is "or"
    return binary(lower, op, a, scaled(lower, b, alpha))


def operand(lower, value):
    """Returns an operand as numbers of f32, which hold integers below 2^24 exactly."""
    return as_numbers(lower, lower.view(value)) if is_node(value) else number(lower, float(value))


@lowers("mul")
def multiply(lower, node):
    a, b = node.args[0], node.args[1]
    if not is_node(b):
        return scaled(lower, operand(lower, a), b)
    if not is_node(a):
        return scaled(lower, operand(lower, b), a)
    for x, factor in ((a, b), (b, a)):
        repeated = uniform(lower, factor)
        if repeated is not None and sizes_of(x) == sizes_of(node):
            return scaled(lower, operand(lower, x), repeated)
    return binary(lower, "multiply", operand(lower, a), operand(lower, b))


def uniform(lower, node):
    """Returns the number that a constant tensor repeats, or None."""
    if not lower.folder.is_constant(node):
        return None
    value = lower.folder.value(node)
    if not hasattr(value, "flatten"):
        return float(value)
    flat = value.flatten()
    return float(flat[0]) if flat.numel() and bool((flat == flat[0]).all()) else None


@lowers("div", "true_divide")
def divide(lower, node):
    a, b = node.args[0], node.args[1]
    mode = bound(node).get("rounding_mode")
    if mode or not any(is_node(x) and x.meta["val"].is_floating_point() for x in (a, b)):
        return quotient(lower, a, b, mode)
    if is_node(b) and is_batch_size(b):
        return of_each_sample(lower, floats(lower.view(a)), rows_of(b.meta["val"]))
    by = uniform(lower, b) if is_node(b) else b
    if by == 0:
        raise Unsupported("divides by 0")
    if not is_node(b):
        return scaled(lower, floats(lower.view(a)), 1 / b)
    if by is not None and is_node(a) and sizes_of(a) == sizes_of(node):
        return scaled(lower, floats(lower.view(a)), 1 / by)
    return binary(lower, "divide", operand(lower, a), operand(lower, b))


def quotient(lower, a, b, mode):
    """Returns an exact quotient, of which a factor 1 / b would be off by a rounding."""
    if not is_node(b) and b == 0:
        raise Unsupported("divides by 0")
    view = binary(lower, "divide", operand(lower, a), operand(lower, b))
    return point(lower, mode, view) if mode else view


@lowers("floor_divide")
def floor_divide(lower, node):
    return quotient(lower, node.args[0], node.args[1], "floor")


@lowers("remainder")
def remainder(lower, node):
    a, b = node.args[0], node.args[1]
    if any(is_node(x) and x.meta["val"].is_floating_point() for x in (a, b)):
        raise Unsupported("is the remainder of numbers, whose quotient graph IR rounds; of integers it is exact")
    whole = binary(lower, "multiply", quotient(lower, a, b, "floor"), operand(lower, b))
    return binary(lower, "subtract", operand(lower, a), whole)


def of_each_sample(lower, view, rows):
    """Returns a sum over samples divided by their number, times `rows`: a mean."""
    factor, op = 1 / rows, view.value.op
    while op is not None and op.name in ("scale", "negate"):
        factor *= op.attributes.get("factor", -1.0)
        op = op.operands[0].op
    if (
        op is None
        or (op.name, op.attributes.get("how")) != ("reduce", "sum")
        or op.result.dims
        or not op.operands[0].has_batch
    ):
        raise Unsupported(
            "divides by the number of samples what is no sum over all of them; use a mean"
        )
    source = op.operands[0]
    mean = lower.build.emit("reduce", [source], (), how="mean", dims=op.attributes["dims"])
    return scaled(lower, identity(mean), factor * elements(source.dims))


@lowers("lerp")
def between(lower, node):
    """Writes start + weight * (end - start)."""
    arguments = bound(node)
    start, end = (operand(lower, arguments[key]) for key in ("self", "end"))
    apart = binary(lower, "subtract", end, start)
    weight = arguments["weight"]
    moved = (
        scaled(lower, apart, weight)
        if isinstance(weight, (int, float))
        else binary(lower, "multiply", apart, operand(lower, weight))
    )
    return binary(lower, "add", start, moved)


@lowers("maximum", "minimum")
def extremum(lower, node):
    return binary(
        lower, node.target._opname, operand(lower, node.args[0]), operand(lower, node.args[1])
    )


def binary(lower, name, a, b, write=None):
    """Writes an op of two views that broadcast as in NumPy; `write` makes it of two values and the
    dims of its result."""
    write = write or (lambda operands, dims: lower.build.emit(name, operands, dims))
    check_totals(lower, name, a.value, b.value)
    lower.same_samples(a.value, b.value)
    rank = max(len(a.dims), len(b.dims))
    a, b = (with_dims(view, ((),) * (rank - len(view.dims)) + tuple(view.dims)) for view in (a, b))
    sizes = tuple(x if x != 1 else y for x, y in zip(a.sizes, b.sizes))
    for lead, other, swap in ((a, b, False), (b, a, True)):
        if lead.sizes == sizes and not any(atom.repeats for dim in lead.dims for atom in dim):
            found = beside(lower, lead, other)
            if found is not None:
                lead, value = found
                operands = [value, lead.value] if swap else [lead.value, value]
                return View(write(operands, lead.value.dims), lead.layout, lead.dims)
    return outer(lower, write, a, b, sizes)


def whole_dims(*given):
    """Returns the sizes of views broadcast together as in NumPy."""
    rank = max(len(view.dims) for view in given)
    sizes = [1] * rank
    for view in given:
        for dim, size in enumerate(view.sizes, rank - len(view.dims)):
            sizes[dim] = size if size != 1 else sizes[dim]
    return tuple(sizes)


def repeated_to(view, sizes):
    """Returns a view that repeats along dims of size 1 until it has these sizes."""
    dims = [()] * (len(sizes) - len(view.dims)) + list(view.dims)
    return with_dims(
        view,
        [
            dim if views.size_of(dim) == size else views.repeated_dim(size)
            for dim, size in zip(dims, sizes)
        ],
    )


def check_totals(lower, name, a, b):
    """Refuses what is not linear in a mean or sum over the batch, but on the way to state alone."""
    if lower.for_state or not a.total and not b.total:
        return
    linear = (
        name in ("add", "subtract")
        or name == "multiply"
        and not (a.total and b.total)
        or name == "divide"
        and not b.total
    )
    if not linear:
        raise Unsupported(
            "is not linear in a mean or sum over the batch, so that micro-batches would add up to"
            " another loss; compute it for each sample, before the mean"
        )
    if (
        name in ("add", "subtract")
        and {a.total, b.total} & {"sum"}
        and {a.total, b.total} - {"sum"}
    ):
        raise Unsupported(
            "adds a sum over the batch to a mean or to what does not depend on it; use one of them"
            " throughout"
        )


def beside(lower, lead, other):
    """Returns the lead and the other operand's value in the lead's order, or None where their dims
    have no common factors."""
    lead, other = lower.build.settled(lead), lower.build.settled(other)
    partner = {}
    for dim in range(len(lead.dims)):
        theirs = other.dims[dim]
        if not theirs or theirs[0].repeats and all(atom.repeats for atom in theirs):
            continue
        common = views.common_sizes(
            [atom.size for atom in lead.dims[dim]], [atom.size for atom in theirs]
        )
        if common is None:
            return None
        lead, mine = views.refine(lead, lead.dims[dim], common)
        other, theirs = views.refine(other, theirs, common)
        partner.update((x, y) for x, y in zip(mine, theirs) if not y.repeats)
    groups = []
    for atoms in lead.layout:  # a dim of the value that the other has in part is cut
        for atom in atoms:
            if (
                groups
                and groups[-1]
                and atom is not atoms[0]
                and (groups[-1][-1] in partner) == (atom in partner)
            ):
                groups[-1] = groups[-1] + (atom,)
            else:
                groups.append((atom,))
        if not atoms:
            groups.append(())
    value = lower.build.arrange(lead, groups)
    lead = View(value, tuple(groups), lead.dims)
    wanted = [tuple(partner[atom] for atom in group if atom in partner) for group in groups]
    while wanted and not wanted[0]:
        wanted.pop(0)
    return lead, lower.build.arrange(other, wanted)


def outer(lower, write, a, b, sizes):
    """Writes an op whose operands both repeat along dims of the other."""
    front = [dim for dim, size in enumerate(sizes) if isinstance(size, Batch)]
    order = front + [dim for dim in range(len(sizes)) if dim not in front]
    values = []
    for view in (a, b):
        view = lower.build.settled(view)
        dims = [tuple(atom for atom in view.dims[dim] if not atom.repeats) for dim in order]
        if any(
            views.size_of(group) != view.sizes[dim] and group for group, dim in zip(dims, order)
        ):
            value = lower.build.materialise(view, [view.dims[dim] for dim in order])
        else:
            value = lower.build.arrange(view, dims)
        values.append(value)
    wide = [max_size(x, y) for x, y in zip(values[0].dims, values[1].dims)]
    value = write(values, wide)
    result = identity(value)
    dims = [None] * len(sizes)
    for at, dim in enumerate(order):
        dims[dim] = result.dims[at]
        if result.value.dims[at] == 1 and sizes[dim] != 1:
            rows = sizes[dim]
            dims[dim] = (
                (Atom(Batch(1), True),) + ((Atom(rows.rows, True),) if rows.rows > 1 else ())
                if isinstance(rows, Batch)
                else (Atom(rows, True),)
            )
    return with_dims(result, dims)


def max_size(x, y):
    return y if x == 1 else x

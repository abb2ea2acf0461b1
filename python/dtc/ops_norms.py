"""Norms of vectors, and products of the elements of a dim."""

from dtc import views
from dtc.clean import bound, sizes_of
from dtc.errors import Unsupported
from dtc.ir import Batch
from dtc.lower import lowers
from dtc.ops_choices import compare, where
from dtc.ops_layers import reduced
from dtc.ops_moves import take
from dtc.ops_points import binary, floats, magnitude, number, pointwise, repeated_to
from dtc.ops_sums import extreme_over, product
from dtc.views import identity, with_dims


@lowers("linalg_vector_norm")
def norm(lower, node):
    """Writes the norm of order 1, 2 or infinity. The gradient of that of order 2 is 0 where all
    elements are, as in PyTorch."""
    arguments, view = bound(node), floats(lower.view(node.args[0]))
    dims = arguments["dim"]
    dims = range(len(view.dims)) if dims is None else [dims] if isinstance(dims, int) else dims
    dims = [dim % len(view.dims) for dim in dims]
    if any(isinstance(view.sizes[dim], Batch) for dim in dims):
        raise Unsupported("is over the batch, which couples samples; name other dims")
    if arguments["ord"] == 1:
        result = reduced(lower, magnitude(lower, view), "sum", dims)
    elif arguments["ord"] == 2:
        sums = reduced(lower, binary(lower, "multiply", view, view), "sum", dims)
        zero = compare(lower, "eq", sums, number(lower, 0.0))
        root = pointwise(lower, "sqrt", where(lower, zero, number(lower, 1.0), sums))
        result = where(lower, zero, number(lower, 0.0), root)
    elif arguments["ord"] == float("inf"):
        result = extreme_over(lower, magnitude(lower, view), dims, False)
    else:
        raise Unsupported(f"is of order {arguments['ord']}; 1, 2 and infinity are known")
    return views.reshape(result, sizes_of(node))


def along_dim(lower, node):
    """Returns the operand as a value of its own, and the dim of a product."""
    view = identity(lower.build.plain(floats(lower.view(node.args[0]))))
    dim = bound(node)["dim"] % len(view.dims)
    if isinstance(view.sizes[dim], Batch):
        raise Unsupported("is over the batch, which couples samples; name another dim")
    return view, dim


@lowers("prod")
def multiplied(lower, node):
    """Writes a product by halves, whose gradient is right where elements are 0, too."""
    if node.target._overloadname == "default":
        raise Unsupported("multiplies all elements; flatten the samples and name a dim")
    view, dim = along_dim(lower, node)
    while (size := view.sizes[dim]) > 1:
        half = size // 2
        low, high = (take(lower, view, dim, start, half) for start in (0, half))
        both = identity(lower.build.plain(binary(lower, "multiply", low, high)))
        if size % 2:
            rest = lower.build.plain(take(lower, view, dim, size - 1, 1))
            dims = both.sizes[:dim] + (half + 1,) + both.sizes[dim + 1 :]
            parts = [lower.build.plain(both), lower.build.reshape(rest, rest_dims(dims, dim))]
            both = identity(lower.build.emit("concat", parts, dims, dim=dim))
        view = both
    return views.reshape(view, sizes_of(node))


def rest_dims(dims, dim):
    return dims[:dim] + (1,) + dims[dim + 1 :]


@lowers("cumprod")
def products_so_far(lower, node):
    """Writes running products, in as many steps as the size has bits: each multiplies by the
    product of as many elements before."""
    view, dim = along_dim(lower, node)
    size, by = view.sizes[dim], 1
    while by < size:
        shape = view.sizes[:dim] + (by,) + view.sizes[dim + 1 :]
        ones = lower.build.plain(repeated_to(number(lower, 1.0), shape))
        before = lower.build.plain(take(lower, view, dim, 0, size - by))
        before = lower.build.reshape(
            before, view.sizes[:dim] + (size - by,) + view.sizes[dim + 1 :]
        )
        moved = lower.build.emit("concat", [ones, before], view.sizes, dim=dim)
        view = identity(lower.build.plain(binary(lower, "multiply", view, identity(moved))))
        by *= 2
    return view


@lowers("bilinear")
def of_two(lower, node):
    """Writes x W y for each sample and each matrix W, and the bias."""
    arguments = bound(node)
    x, y = (floats(lower.view(arguments[each])) for each in ("input1", "input2"))
    if len(x.dims) != 2:
        raise Unsupported("has dims between the batch and the features; flatten them")
    rows, names = product(lower, (x, "bi"), (lower.view(arguments["weight"]), "oij"), set("boj"))
    result, names = product(lower, (rows, names), (y, "bj"), set("bo"))
    result = with_dims(result, [result.dims[names.index(letter)] for letter in "bo"])
    if arguments["bias"] is None:
        return result
    return binary(lower, "add", result, lower.view(arguments["bias"]))

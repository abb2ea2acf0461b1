"""Images in other sizes: interpolation and pooling by matrices along each dim, and padding that
repeats what is there. The matrices and indices are made of numbers that count up."""

from dtc import views
from dtc.clean import bound, sizes_of
from dtc.errors import Unsupported
from dtc.ir import Batch
from dtc.lower import lowers
from dtc.ops_choices import compare
from dtc.ops_constants import index as counting
from dtc.ops_indices import gathered
from dtc.ops_layers import reduced
from dtc.ops_moves import take
from dtc.ops_points import binary, floats, number, point, pointwise, scaled
from dtc.ops_sums import product
from dtc.views import Atom, with_dims


def shifted(lower, view, by):
    return view if by == 0 else binary(lower, "add", view, number(lower, float(by)))


def clamped(lower, view, low, high):
    return point(lower, "clamp", view, low, high)


def rows_of(view):
    """Returns numbers along one dim as those of the rows of a matrix."""
    return with_dims(view, (view.dims[0], ()))


def along(lower, view, dim, matrix):
    """Multiplies a matrix [to, from] with every line of a view along `dim`."""
    letters = "abcdefgh"[: len(view.dims)]
    into = letters[:dim] + "z" + letters[dim + 1 :]
    result, names = product(lower, (view, letters), (matrix, "z" + letters[dim]), set(into))
    return with_dims(result, [result.dims[names.index(letter)] for letter in into])


def resized(lower, node, function):
    """Applies function(view, dim, from, to, scale) to each dim behind the channels."""
    arguments, sizes = bound(node), sizes_of(node)
    view = floats(lower.view(node.args[0]))
    scales = arguments.get("scale_factors") or [None] * (len(sizes) - 2)
    for dim, factor in zip(range(2, len(sizes)), scales):
        size, into = view.sizes[dim], sizes[dim]
        view = function(view, dim, size, into, 1 / factor if factor else size / into)
    return view


@lowers("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d")
def linear(lower, node):
    """Writes the two nearest pixels, weighted by their distance."""
    arguments = bound(node)

    def resize(view, dim, size, into, scale):
        if size == into:
            return view
        at = counting(lower, into)
        if arguments["align_corners"]:
            at = scaled(lower, at, (size - 1) / (into - 1) if into > 1 else 0.0)
        else:
            at = shifted(lower, scaled(lower, shifted(lower, at, 0.5), scale), -0.5)
        at = clamped(lower, at, 0.0, size - 1.0)
        apart = binary(lower, "subtract", rows_of(at), counting(lower, size))
        near = scaled(lower, point(lower, "abs", apart), -1.0)
        matrix = pointwise(lower, "relu", shifted(lower, near, 1))
        return along(lower, view, dim, matrix)

    return resized(lower, node, resize)


@lowers("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d")
def nearest(lower, node):
    """Repeats each pixel a whole number of times, by atoms that cost nothing until an op reads
    them, or reads pixels at indices."""

    def resize(view, dim, size, into, scale):
        if into == size:
            return view
        if into % size == 0 and scale == size / into:
            wide = view.dims[dim] + (Atom(into // size, repeats=True),)
            return with_dims(view, view.dims[:dim] + (wide,) + view.dims[dim + 1 :])
        at = point(lower, "floor", scaled(lower, counting(lower, into), scale))
        at = clamped(lower, at, 0.0, size - 1.0)
        return gathered(lower, view, at, dim)

    return resized(lower, node, resize)


@lowers("adaptive_avg_pool2d", "adaptive_avg_pool1d", "adaptive_avg_pool3d")
def pooled(lower, node):
    """Writes means over windows: those that cover a dim evenly at once, others by a matrix, since
    neighbours may overlap by a pixel."""
    view, sizes = floats(lower.view(node.args[0])), sizes_of(node)
    count = int(node.target._opname[-2])
    even = []
    for dim in range(len(sizes) - count, len(sizes)):
        size, into = view.sizes[dim], sizes[dim]
        if size != into and size % into == 0:
            even.append(dim)
        elif size != into:
            view = along(lower, view, dim, windows(lower, size, into))
    for dim in reversed(even):
        parts = (sizes[dim], view.sizes[dim] // sizes[dim])
        shape = view.sizes[:dim] + parts + view.sizes[dim + 1 :]
        split = views.reshape(view, shape)
        view = split or views.reshape(views.identity(lower.build.plain(view)), shape)
    view = reduced(lower, view, "mean", [dim + at + 1 for at, dim in enumerate(even)])
    return views.reshape(view, sizes)


def windows(lower, size, into):
    """Returns the matrix [into, size] of means over floor(i size / into) to the pixel before
    ceil((i + 1) size / into)."""
    first, pixel = counting(lower, into), counting(lower, size)

    def edge(start, function):
        position = binary(lower, "divide", scaled(lower, start, size), number(lower, float(into)))
        return point(lower, function, position)

    low, high = edge(first, "floor"), edge(shifted(lower, first, 1), "ceil")
    inside = binary(
        lower,
        "multiply",
        compare(lower, "ge", pixel, rows_of(low)),
        compare(lower, "lt", pixel, rows_of(high)),
    )
    return binary(lower, "divide", inside, rows_of(binary(lower, "subtract", high, low)))


def padded_by(lower, view, dim, low, high, mode):
    """Pads a dim by what is there: mirrored at its ends, its ends repeated, or from its other
    end."""
    size = view.sizes[dim]
    if isinstance(size, Batch):
        raise Unsupported("pads the batch; the number of samples is fixed")
    if mode == "circular":
        return joined_around(lower, view, dim, low, high)
    at = shifted(lower, counting(lower, size + low + high), -low)
    if mode == "reflect":
        # -2, -1, 0 are 2, 1, 0, and size, size + 1 are size - 2, size - 3.
        at = shifted(lower, scaled(lower, point(lower, "abs", at), -1.0), size - 1)
        at = shifted(lower, scaled(lower, point(lower, "abs", at), -1.0), size - 1)
    elif mode == "replicate":
        at = clamped(lower, at, 0.0, size - 1.0)
    else:
        raise Unsupported(f"pads by mode '{mode}', which graph IR does not have")
    return gathered(lower, view, at, dim)


def joined_around(lower, view, dim, low, high):
    size = view.sizes[dim]
    parts = [(size - low, low), (0, size), (0, high)]
    values = [
        lower.build.plain(take(lower, view, dim, start, count)) for start, count in parts if count
    ]
    dims = view.sizes[:dim] + (size + low + high,) + view.sizes[dim + 1 :]
    return views.identity(lower.build.emit("concat", values, dims, dim=dim))

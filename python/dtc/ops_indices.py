"""Ops that read or write elements at indices, and selection by size."""

import torch

from dtc import views
from dtc.clean import bound, name_of, sizes_of
from dtc.errors import Unsupported
from dtc.ir import Batch, elements
from dtc.lower import check_exact, lowers
from dtc.ops_choices import compare
from dtc.ops_constants import index as counting
from dtc.ops_points import as_numbers, binary, floats, number, repeated_to, scaled, uniform
from dtc.ops_sums import dims_over, extreme_over
from dtc.views import identity, with_dims


MOST_WORK = 1 << 26  # elements that a selection looks at: 8192 sorted, 50 of a vocabulary


def dim_of(node, dim):
    """Returns a dim of a node's operand that elements are taken from; it is not the batch."""
    sizes = sizes_of(node.args[0])
    dim %= max(len(sizes), 1)
    if sizes and isinstance(sizes[dim], Batch):
        raise Unsupported(
            "works on samples of the batch by their indices, which couples samples; keep the batch"
            " as the first dim and index another"
        )
    return dim


def index_view(lower, node, size):
    """Returns the view of the indices of a dim of `size` elements. Constant ones are checked, and
    negative ones count from the end."""
    if not lower.folder.is_constant(node):
        view = lower.view(node)
        if view.kind == "i32":
            lower.index_inputs.add(view.value)
        return view
    indices = lower.folder.value(node)
    if indices.numel() and not bool(((-size <= indices) & (indices < size)).all()):
        raise Unsupported(f"has indices outside of the dim of size {size}")
    return constant_indices(lower, torch.where(indices < 0, indices + size, indices), node)


def from_the_end(lower, node, size):
    """Returns the view of indices of which negative ones count from the end."""
    if lower.folder.is_constant(node):
        return index_view(lower, node, size)
    index = as_numbers(lower, lower.view(node))
    negative = compare(lower, "lt", index, number(lower, 0.0))
    return binary(lower, "add", index, scaled(lower, negative, size))


def constant_indices(lower, indices, node=None):
    """Writes constant indices: by arithmetic where that can state them, else as a buffer."""
    check_exact(indices)
    shape = tuple(indices.shape)
    if indices.numel() and bool((indices == indices.flatten()[0]).all()):
        return repeated_to(number(lower, float(indices.flatten()[0])), shape)
    view = lower.stated(indices, shape)
    if view is None and node is not None:
        view = lower.index_buffer(node, indices)
    if view is None:
        raise Unsupported(
            f"has {indices.numel()} constant indices that follow no simple pattern: make them a"
            " buffer of the module (register_buffer with persistent=True), which files keep"
        )
    return view


def batch_leads(write):
    """Decorates a function of (lower, views of a tensor and of what goes with it, dim), whose results have the dims of
    the first: graph IR has the batch first, and modules whose sequence is first are written with dims swapped."""

    def swapped(lower, *given):
        *given, dim = given
        sizes = given[0].sizes
        at = next((at for at, size in enumerate(sizes) if isinstance(size, Batch)), 0)
        if at == 0:
            return write(lower, *given, dim)
        order = [at] + [other for other in range(len(sizes)) if other != at]
        back = [order.index(other) for other in range(len(sizes))]

        def turned(view, order):
            return with_dims(view, [view.dims[at] for at in order]) if len(view.dims) == len(order) else view

        found = write(lower, *(turned(view, order) for view in given), order.index(dim))
        if isinstance(found, tuple):
            return tuple(turned(view, back) for view in found)
        return turned(found, back)

    return swapped


@batch_leads
def gathered(lower, view, index, dim):
    """Writes the elements of a view at indices, of all dims or of `dim` alone."""
    x, index = lower.build.plain(floats(view)), lower.build.plain(index)
    lower.same_samples(x, index)
    count = index.dims[dim] if len(index.dims) == len(x.dims) else index.dims[0]
    dims = x.dims[:dim] + (count,) + x.dims[dim + 1 :]
    return identity(lower.build.emit("gather", [x, index], dims, dim=dim))


@lowers("gather")
def gather(lower, node):
    x, dim = lower.view(node.args[0]), dim_of(node, node.args[1])
    if not x.sizes:
        return repeated_to(floats(x), sizes_of(node))
    index = index_view(lower, node.args[2], x.sizes[dim])
    return gathered(lower, cut(lower, floats(x), index.sizes, dim), index, dim)


def cut(lower, view, sizes, dim):
    """Returns the view with as many elements as `sizes` along all dims but `dim`, from the first."""
    from dtc.ops_moves import take  # it uses functions that this module has

    for at, size in enumerate(sizes):
        if at != dim and view.sizes[at] != size:
            view = take(lower, view, at, 0, size)
    return view


@lowers("index_select")
def selected(lower, node):
    x, dim = floats(lower.view(node.args[0])), dim_of(node, node.args[1])
    index = index_view(lower, node.args[2], x.sizes[dim])
    return gathered(lower, x, with_dims(index, [index.dims[-1] if index.dims else ()]), dim)


@lowers("index", "_unsafe_index")
def indexed(lower, node):
    """Writes x[..., index, ...] with one tensor of indices, or with one for each sample beside
    torch.arange over the batch."""
    tensors = list(node.args[1])
    given = [at for at, each in enumerate(tensors) if each is not None]
    if any(each.meta["val"].dtype in (torch.bool, torch.uint8) for each in tensors if each):
        raise Unsupported(
            "takes the elements where a mask holds, of which the number depends on it; use"
            " torch.where or multiply by the mask"
        )
    if len(given) == 2 and given == [0, 1] and counts_samples(lower, node, tensors[0]):
        return by_sample(lower, node, tensors[1])
    if len(given) != 1:
        return of_several(lower, node, tensors, given)
    at = given[0]
    dim = dim_of(node, at)
    x = floats(lower.view(node.args[0]))
    index = from_the_end(lower, tensors[at], x.sizes[dim])
    if not x.value.has_batch and x.value.kind == "f32" and at == 0 and not x.value.total:
        return of_table(lower, x, index, sizes_of(node))
    if any(isinstance(size, Batch) for size in index.sizes):
        raise Unsupported(
            "takes other elements for each sample of all samples; use torch.gather, or index by"
            " torch.arange over the batch beside it"
        )
    flat = views.reshape(index, (elements(index.sizes),)) or identity(
        lower.build.reshape(lower.build.plain(index), (elements(index.sizes),))
    )
    return views.reshape(gathered(lower, x, flat, dim), sizes_of(node))


def of_table(lower, x, index, sizes):
    """Writes the rows of a table that no sample changes, as an embedding has them."""
    rows = (x.sizes[0], elements(x.sizes[1:]))
    table = views.reshape(x, rows) or identity(lower.build.reshape(lower.build.plain(x), rows))
    table, ids = lower.build.plain(table), lower.build.plain(index)
    if ids.kind != "i32":
        ids = lower.build.emit("cast", [ids], ids.dims, "i32")
    value = lower.build.emit("embedding", [table, ids], (*ids.dims, rows[1]))
    return views.reshape(identity(value), sizes)


def of_several(lower, node, tensors, given):
    """Writes x[..., i, j, ...] with constant indices of dims side by side, as those of one dim."""
    x, sizes = floats(lower.view(node.args[0])), sizes_of(node)
    first, last = given[0], given[-1]
    if (
        given != list(range(first, last + 1))
        or not all(lower.folder.is_constant(tensors[at]) for at in given)
        or any(isinstance(x.sizes[at], Batch) for at in given)
    ):
        raise Unsupported(
            "takes elements by several tensors of indices; reshape the dims to one and index that"
        )
    flat = torch.zeros((), dtype=torch.long)
    for at in given:
        index = lower.folder.value(tensors[at])
        flat = flat * x.sizes[at] + torch.where(index < 0, index + x.sizes[at], index)
    merged = x.sizes[:first] + (elements(x.sizes[first : last + 1]),) + x.sizes[last + 1 :]
    x = views.reshape(identity(lower.build.plain(x)), merged)
    return views.reshape(
        gathered(lower, x, constant_indices(lower, flat.flatten()), first), sizes
    )


def counts_samples(lower, node, index):
    """Returns whether an index is torch.arange over the samples of a tensor."""
    sizes = sizes_of(index)
    return (
        len(sizes) == 1
        and isinstance(sizes[0], Batch)
        and sizes[0] == sizes_of(node.args[0])[0]
        and name_of(index) == "arange"
        and bound(index).get("start", 0) in (0, None)
        and bound(index).get("step", 1) in (1, None)
    )


def by_sample(lower, node, index):
    """Writes x[arange(batch), index], an element of dim 1 for each sample."""
    x = floats(lower.view(node.args[0]))
    view = from_the_end(lower, index, x.sizes[1])
    rest = x.sizes[2:]
    dims = [view.dims[0], (), *(views.repeated_dim(size) if size != 1 else () for size in rest)]
    found = gathered(lower, x, with_dims(view, dims), 1)
    return views.reshape(found, sizes_of(node))


def top(lower, view, dim, count, smallest=False):
    """Writes the largest or smallest elements of a dim, in order; returns views of them and of
    their indices."""

    @batch_leads
    def written(lower, view, dim):
        x = lower.build.plain(floats(view))
        if count * x.dims[dim] > MOST_WORK:
            raise Unsupported(
                f"selects {count} of {x.dims[dim]} elements, each by a pass over all of them, which"
                " would take for ever; select fewer with topk"
            )
        dims = x.dims[:dim] + (count,) + x.dims[dim + 1 :]
        results = lower.build.emit_many("top_k", [x], [dims, dims], dim=dim, smallest=smallest)
        return tuple(identity(each) for each in results)

    return written(lower, view, dim)


def of_dim(node, argument="dim"):
    dim = bound(node)[argument]
    return dim_of(node, -1 if dim is None else dim)


@lowers("topk")
def largest(lower, node):
    arguments = bound(node)
    x = lower.view(node.args[0])
    return top(lower, x, of_dim(node), arguments["k"], not arguments["largest"])


@lowers("sort")
def ordered(lower, node):
    x, dim = lower.view(node.args[0]), of_dim(node)
    return top(lower, x, dim, x.sizes[dim], not bound(node)["descending"])


@lowers("argsort")
def order(lower, node):
    return ordered(lower, node)[1]


@lowers("getitem")
def part(lower, node):
    """Returns one result of an op that has several."""
    return lower.views[node.args[0]][node.args[1]]


@lowers("max", "min")
def extreme(lower, node):
    """Writes the larger of two tensors, the largest of all elements, or those of a dim with their
    indices."""
    least = node.target._opname == "min"
    x = floats(lower.view(node.args[0]))
    if node.target._overloadname == "other":
        other = floats(lower.view(node.args[1]))
        return binary(lower, "minimum" if least else "maximum", x, other)
    if node.target._overloadname == "default":
        return extreme_over(lower, x, dims_over(node, None), least)
    dim = of_dim(node)
    results = top(lower, x, dim, 1, least)
    if not bound(node)["keepdim"]:
        results = tuple(without(view, dim) for view in results)
    return results


def without(view, dim):
    return with_dims(view, view.dims[:dim] + view.dims[dim + 1 :])


@lowers("argmax", "argmin")
def place(lower, node):
    arguments = bound(node)
    x = lower.view(node.args[0])
    if arguments["dim"] is None:
        if any(isinstance(size, Batch) for size in x.sizes):
            raise Unsupported("is over the batch, which couples samples; name the dim")
        x = identity(lower.build.reshape(lower.build.plain(floats(x)), (elements(x.sizes),)))
        dim = 0
    else:
        dim = dim_of(node, arguments["dim"])
    index = top(lower, x, dim, 1, node.target._opname == "argmin")[1]
    if arguments["dim"] is None:
        return with_dims(index, [()] * len(sizes_of(node)))
    return index if arguments["keepdim"] else without(index, dim)


@lowers("one_hot")
def one_hot(lower, node):
    """Writes the mask of classes that are a number."""
    sizes = sizes_of(node)
    index = as_numbers(lower, lower.view(node.args[0]))
    classes = counting(lower, sizes[-1])
    index = with_dims(index, [*index.dims, ()])
    return repeated_to(compare(lower, "eq", index, classes), sizes)


@lowers("flip")
def flipped(lower, node):
    view = floats(lower.view(node.args[0]))
    for dim in node.args[1]:
        dim = dim_of(node, dim)
        size = view.sizes[dim]
        if size > 1:
            backwards = constant_indices(lower, torch.arange(size - 1, -1, -1))
            view = gathered(lower, view, backwards, dim)
    return view


def scattered(lower, source, index, dim, size):
    """Writes the sums of a view's elements at indices of a dim of `size` elements."""

    @batch_leads
    def written(lower, source, index, dim):
        u, index = lower.build.plain(floats(source)), lower.build.plain(index)
        lower.same_samples(u, index)
        dims = u.dims[:dim] + (size,) + u.dims[dim + 1 :]
        return identity(lower.build.emit("scatter_add", [u, index], dims, dim=dim))

    return written(lower, source, index, dim)


def check_whole(x, index, dim):
    """Refuses indices that leave out elements of the other dims."""
    for at, size in enumerate(index.sizes):
        if at != dim and size != x.sizes[at]:
            raise Unsupported(
                f"has indices for {size} of {x.sizes[at]} elements of dim {at}; give the indices"
                " and the source all of them"
            )


@lowers("scatter_add", "index_add")
def added_at(lower, node):
    arguments = bound(node)
    x, dim = floats(lower.view(node.args[0])), dim_of(node, arguments["dim"])
    index = index_view(lower, arguments["index"], x.sizes[dim])
    if node.target._opname == "index_add":
        source = lower.view(arguments["source"])
    else:
        check_whole(x, index, dim)
        source = cut(lower, floats(lower.view(arguments["src"])), index.sizes, -1)
    sums = scattered(lower, source, index, dim, x.sizes[dim])
    alpha = arguments.get("alpha", 1)
    return binary(lower, "add", x, sums if alpha == 1 else scaled(lower, sums, float(alpha)))


@lowers("scatter")
def written_at(lower, node):
    """Writes elements at indices that differ, as those of topk do: what is there is replaced."""
    arguments = bound(node)
    x, dim = floats(lower.view(node.args[0])), dim_of(node, arguments["dim"])
    if not are_different(lower, arguments["index"], dim):
        raise Unsupported(
            "writes at indices several of which may be equal, where PyTorch keeps any of the"
            " elements; use scatter_add, or indices of topk or sort of the same dim"
        )
    if arguments.get("reduce") is not None:
        raise Unsupported("reduces what is there; use scatter_add")
    index = index_view(lower, arguments["index"], x.sizes[dim])
    check_whole(x, index, dim)
    if "src" in arguments:
        source = cut(lower, floats(lower.view(arguments["src"])), index.sizes, -1)
    else:
        source = repeated_to(number(lower, float(arguments["value"])), index.sizes)
    written = scattered(lower, source, index, dim, x.sizes[dim])
    if uniform(lower, arguments["self"]) == 0:
        return written
    ones = repeated_to(number(lower, 1.0), index.sizes)
    kept = binary(
        lower, "subtract", number(lower, 1.0), scattered(lower, ones, index, dim, x.sizes[dim])
    )
    return binary(lower, "add", binary(lower, "multiply", x, kept), written)


def are_different(lower, index, dim):
    """Returns whether the indices along a dim are known to differ: a constant, or the order that a
    selection along the same dim found."""
    if lower.folder.is_constant(index):
        indices = lower.folder.value(index)
        along = indices.movedim(dim, -1).flatten(0, -2) if indices.dim() > 1 else indices[None]
        return all(len(torch.unique(line)) == len(line) for line in along)
    made = index
    while name_of(made) == "slice":
        made = made.args[0]
    made = made.args[0] if getattr(made.target, "__name__", "") == "getitem" else made
    if name_of(made) not in ("topk", "sort", "argsort"):
        return False
    return of_dim(made) == dim % max(len(sizes_of(index)), 1)

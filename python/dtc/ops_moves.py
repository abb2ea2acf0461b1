"""Ops that move elements: most only rearrange a view."""

from dtc import views
from dtc.clean import bound, sizes_of
from dtc.errors import Unsupported
from dtc.ir import Batch
from dtc.lower import lowers
from dtc.ops_points import binary, check_totals, number
from dtc.views import Atom, View, identity, with_dims


@lowers(
    "view",
    "reshape",
    "flatten",
    "unflatten",
    "_unsafe_view",
    "view_as",
    "squeeze",
    "unsqueeze",
    moves=True,
)
def reshaped(lower, node):
    view, sizes = lower.view(node.args[0]), sizes_of(node)
    result = views.reshape(view, sizes)
    if result is None:
        value = lower.build.plain(view)
        result = identity(lower.build.reshape(value, sizes))
    return result


@lowers("transpose", "swapaxes", "swapdims", moves=True)
def transposed(lower, node):
    view = lower.view(node.args[0])
    dims = list(view.dims)
    a, b = node.args[1], node.args[2]
    dims[a], dims[b] = dims[b], dims[a]
    return with_dims(view, dims)


@lowers("t", "numpy_T", moves=True)
def flipped(lower, node):
    view = lower.view(node.args[0])
    return with_dims(view, view.dims[::-1])


@lowers("mT", moves=True)
def matrices_flipped(lower, node):
    view = lower.view(node.args[0])
    return with_dims(view, view.dims[:-2] + view.dims[:-3:-1])


@lowers("permute", moves=True)
def permuted(lower, node):
    view = lower.view(node.args[0])
    return with_dims(view, [view.dims[dim] for dim in node.args[1]])


@lowers("movedim", moves=True)
def moved(lower, node):
    view = lower.view(node.args[0])
    arguments = bound(node)
    sources = (
        [arguments["source"]] if isinstance(arguments["source"], int) else list(arguments["source"])
    )
    targets = (
        [arguments["destination"]]
        if isinstance(arguments["destination"], int)
        else list(arguments["destination"])
    )
    rank = len(view.dims)
    taken = {target % rank: source % rank for source, target in zip(sources, targets)}
    rest = [dim for dim in range(rank) if dim not in taken.values()]
    return with_dims(
        view, [view.dims[taken[dim] if dim in taken else rest.pop(0)] for dim in range(rank)]
    )


@lowers("expand", "expand_as", "broadcast_to", moves=True)
def expanded(lower, node):
    view, sizes = lower.view(node.args[0]), sizes_of(node)
    dims = [()] * (len(sizes) - len(view.dims)) + list(view.dims)
    wide = []
    for dim, size in zip(dims, sizes):
        if views.size_of(dim) == size:
            wide.append(dim)
        elif isinstance(size, Batch):
            wide.append(
                (Atom(Batch(1), repeats=True),)
                + ((Atom(size.rows, repeats=True),) if size.rows > 1 else ())
            )
        else:
            wide.append((Atom(size, repeats=True),))
    return with_dims(view, wide)


@lowers("repeat", moves=True)
def repeated(lower, node):
    view, times = lower.view(node.args[0]), list(node.args[1])
    dims = [()] * (len(times) - len(view.dims)) + list(view.dims)
    if any(not isinstance(time, int) for time in times):
        at = next(at for at, time in enumerate(times) if not isinstance(time, int))
        if (
            views.size_of(dims[at]) != 1
            or any(not isinstance(time, int) for time in times[at + 1 :])
            or sizes_of(node)[at] != Batch(1)
        ):
            raise Unsupported("repeats by the number of samples; repeat along a dim of size 1")
        before = repeat_dims(dims[:at], times[:at])
        behind = repeat_dims(dims[at + 1 :], times[at + 1 :])
        return with_dims(view, before + [(Atom(Batch(1), repeats=True),)] + behind)
    return with_dims(view, repeat_dims(dims, times))


@lowers("roll")
def rolled(lower, node):
    """Joins the end of each dim with its start."""
    view, arguments = lower.view(node.args[0]), bound(node)
    shifts, dims = arguments["shifts"], arguments["dims"]
    value = lower.build.plain(view)
    if not dims:
        raise Unsupported("rolls all dims as one; name the dims")
    for shift, dim in zip(shifts, dims):
        dim %= len(value.dims)
        size = value.dims[dim]
        if isinstance(size, Batch):
            raise Unsupported("rolls the batch, which couples samples")
        shift = shift % size if size else 0
        if shift:
            parts = []
            for start, length in ((size - shift, shift), (0, size - shift)):
                part = value.dims[:dim] + (length,) + value.dims[dim + 1 :]
                parts.append(
                    lower.build.emit(
                        "slice", [value], part, value.kind, dim=dim, start=start, size=length
                    )
                )
            value = lower.build.emit("concat", parts, value.dims, value.kind, dim=dim)
    return identity(value)


def repeat_dims(dims, times):
    return [
        ((Atom(time, repeats=True),) if time != 1 else ()) + tuple(dim)
        for dim, time in zip(dims, times)
    ]


@lowers("repeat_interleave", moves=True)
def interleaved(lower, node):
    arguments = bound(node)
    view, times, dim = lower.view(arguments["self"]), arguments.get("repeats"), arguments["dim"]
    if not isinstance(times, int) or dim is None:
        raise Unsupported("repeats by a tensor or without a dim; give a number and a dim")
    dims = list(view.dims)
    dims[dim] = tuple(dims[dim]) + ((Atom(times, repeats=True),) if times != 1 else ())
    return with_dims(view, dims)


@lowers("select", moves=True)
def selected(lower, node):
    view, dim, index = lower.view(node.args[0]), node.args[1], node.args[2]
    dim %= len(view.dims)
    size = view.sizes[dim]
    if isinstance(size, Batch):
        raise Unsupported(
            "selects a sample of the batch, which couples samples; keep the batch as the first dim"
        )
    rest = view.dims[:dim] + view.dims[dim + 1 :]
    index %= size
    atoms = view.dims[dim]
    plain = [atom for atom in atoms if not atom.repeats]
    if len(plain) == len(atoms):
        fixed = []
        for atom in reversed(atoms):
            fixed.append((atom, index % atom.size))
            index //= atom.size
        return View(view.value, view.layout, rest, view.fixed + tuple(fixed))
    if not plain:
        return with_dims(view, rest)
    value = lower.build.plain(view)
    return selected_of(lower, value, dim, index)


def selected_of(lower, value, dim, index):
    dims = value.dims[:dim] + value.dims[dim + 1 :]
    return identity(
        lower.build.emit(
            "slice", [value], dims, value.kind, dim=dim, start=index, size=1, squeeze=True
        )
    )


@lowers("slice", moves=True)
def sliced(lower, node):
    arguments = bound(node)
    view, dim, size = lower.view(arguments["self"]), arguments["dim"], None
    dim %= len(view.dims)
    size = view.sizes[dim]
    if isinstance(size, Batch):
        raise Unsupported("takes a part of the batch, which couples samples; keep the batch whole")
    start = min(
        max((arguments["start"] or 0) + (size if (arguments["start"] or 0) < 0 else 0), 0), size
    )
    count = sizes_of(node)[dim]
    if arguments["step"] != 1:
        return every(lower, view, dim, start, count, arguments["step"])
    if count == size:
        return view
    return take(lower, view, dim, start, count)


def every(lower, view, dim, start, count, step):
    """Returns every n-th element of a dim: an index of an inner dim where n divides its size."""
    size = view.sizes[dim]
    if size == count * step:
        split = views.reshape(view, view.sizes[:dim] + (count, step) + view.sizes[dim + 1 :])
        if split is not None:
            part = take(lower, split, dim + 1, start, 1)
            return views.reshape(part, view.sizes[:dim] + (count,) + view.sizes[dim + 1 :])
    from dtc.ops_constants import index  # they use functions of this module
    from dtc.ops_indices import gathered
    from dtc.ops_points import floats, scaled

    position = scaled(lower, index(lower, count), step)
    if start:
        position = binary(lower, "add", position, number(lower, float(start)))
    return gathered(lower, floats(view), position, dim)


def take(lower, view, dim, start, count):
    """Returns elements [start, start + count) of a dim: as one index of an atom where they are an
    even part, else a slice."""
    size = view.sizes[dim]
    atoms = view.dims[dim]
    if (
        count
        and size % count == 0
        and start % count == 0
        and not any(atom.repeats for atom in atoms)
    ):
        split = views.reshape(
            view, view.sizes[:dim] + (size // count, count) + view.sizes[dim + 1 :]
        )
        if split is not None:
            index, fixed = start // count, []
            for atom in reversed(split.dims[dim]):
                fixed.append((atom, index % atom.size))
                index //= atom.size
            return View(
                split.value,
                split.layout,
                split.dims[:dim] + split.dims[dim + 1 :],
                split.fixed + tuple(fixed),
            )
    if all(atom.repeats for atom in atoms):
        return with_dims(
            view,
            view.dims[:dim]
            + ((Atom(count, repeats=True),) if count != 1 else (),)
            + view.dims[dim + 1 :],
        )
    by = lower.build.by_dims(view)
    at = by.layout.index(by.dims[dim])
    dims = by.value.dims[:at] + (count,) + by.value.dims[at + 1 :]
    value = lower.build.emit("slice", [by.value], dims, by.kind, dim=at, start=start, size=count)
    part = (Atom(count),)
    return View(
        value,
        by.layout[:at] + (part,) + by.layout[at + 1 :],
        tuple(part if index == dim else group for index, group in enumerate(by.dims)),
    )


@lowers("cat", "concat", "concatenate")
def joined(lower, node):
    arguments = bound(node)
    dim = arguments["dim"] % len(sizes_of(node))
    return join(lower, arguments["tensors"], dim, False, sizes_of(node))


@lowers("stack")
def stacked(lower, node):
    arguments = bound(node)
    dim = arguments["dim"] % len(sizes_of(node))
    return join(lower, arguments["tensors"], dim, True, sizes_of(node))


def join(lower, nodes, dim, stack, sizes):
    parts = [lower.view(each) for each in nodes]
    if isinstance(sizes[dim], Batch):
        raise Unsupported(
            "joins along the batch, which changes the number of samples; join along another dim"
        )
    if len({view.kind for view in parts}) > 1:
        raise Unsupported("joins integers with numbers; call .float() on the integers")
    order = batch_first(sizes)  # the result's dims; those of a part without the dim that stack adds
    inner = [at - (stack and at > dim) for at in order if not stack or at != dim]
    values = [lower.build.materialise(view, [view.dims[at] for at in inner]) for view in parts]
    lower.same_samples(*values)
    for value in values[1:]:
        check_totals(lower, "add", values[0], value)
    result = identity(
        lower.build.emit(
            "concat",
            values,
            [sizes[at] for at in order],
            values[0].kind,
            dim=order.index(dim),
            stack=stack,
        )
    )
    return with_dims(result, [result.dims[order.index(at)] for at in range(len(order))])


def batch_first(sizes):
    """Returns the order of dims with the batch first, as values of graph IR have it."""
    return sorted(range(len(sizes)), key=lambda at: not isinstance(sizes[at], Batch))


@lowers("copy")
def copied(lower, node):
    """Writes the second operand with the shape of the first."""
    view, sizes = lower.view(node.args[1]), sizes_of(node)
    dims = [()] * (len(sizes) - len(view.dims)) + list(view.dims)
    return with_dims(
        view,
        [
            dim if views.size_of(dim) == size else views.repeated_dim(size)
            for dim, size in zip(dims, sizes)
        ],
    )


@lowers("unfold")
def windows(lower, node):
    """Writes the windows of a dim, each `step` behind the one before, by a part for each place in
    them."""
    dim, size, step = node.args[1:4]
    return windows_of(lower, lower.view(node.args[0]), dim, size, step)


@lowers("im2col")
def patches(lower, node):
    arguments, view = bound(node), lower.view(node.args[0])
    kernel, stride, padding, dilation = (
        arguments[name] for name in ("kernel_size", "stride", "padding", "dilation")
    )
    if len(view.dims) != 4 or any(each != 1 for each in dilation):
        raise Unsupported("is of one image or dilated; give a batch, and leave dilation at 1")
    for dim, by in zip((2, 3), padding):
        view = pad_dim(lower, lower.build.by_dims(view), dim, by, by) if by else view
    for dim in (2, 3):
        view = windows_of(lower, view, dim, kernel[dim - 2], stride[dim - 2])
    b, c, h, w, p, q = view.dims
    view = with_dims(view, (b, c, p, q, h, w))
    result = views.reshape(view, sizes_of(node))
    return result or identity(lower.build.reshape(lower.build.plain(view), sizes_of(node)))


def windows_of(lower, view, dim, size, step):
    """Returns the windows of a dim, with the places in them as the last dim."""
    dim %= len(view.dims)
    if isinstance(view.sizes[dim], Batch):
        raise Unsupported("takes windows of samples, which couples samples; unfold another dim")
    count = (view.sizes[dim] - size) // step + 1
    if size == step:
        whole = take(lower, view, dim, 0, count * size)
        shape = whole.sizes[:dim] + (count, size) + whole.sizes[dim + 1 :]
        split = views.reshape(whole, shape)
        split = split or views.reshape(identity(lower.build.plain(whole)), shape)
        dims = split.dims
        return with_dims(split, (*dims[: dim + 1], *dims[dim + 2 :], dims[dim + 1]))
    if size > MOST_PARTS:
        raise Unsupported(
            f"takes windows of {size} elements that overlap; at most {MOST_PARTS} are taken, by a part"
            " for each: use a convolution"
        )
    parts = [take(lower, view, dim, at, (count - 1) * step + 1) for at in range(size)]
    values = [lower.build.plain(every(lower, part, dim, 0, count, step)) for part in parts]
    dims = values[0].dims
    return identity(
        lower.build.emit("concat", values, (*dims, size), values[0].kind, dim=len(dims), stack=True)
    )


MOST_PARTS = 64


@lowers("pad", "constant_pad_nd")
def padded(lower, node):
    from dtc.ops_resize import padded_by  # it uses functions of this module

    arguments = bound(node)
    mode, value = arguments.get("mode", "constant"), float(arguments.get("value") or 0)
    pads = list(arguments["pad"])
    view = lower.build.by_dims(lower.view(arguments["self"]))
    if view.kind != "f32" or not all(isinstance(pad, int) for pad in pads):
        raise Unsupported("pads integers or by computed sizes; pad the data instead")
    for index in range(len(pads) // 2):
        low, high = pads[2 * index], pads[2 * index + 1]
        dim = len(view.dims) - 1 - index
        if low < 0 or high < 0:
            raise Unsupported("pads by less than 0; slice instead")
        if mode != "constant" and (low or high):
            view = padded_by(lower, view, dim, low, high, mode)
        elif low or high:
            size = view.sizes[dim]
            view = pad_dim(lower, view, dim, low, high)
            view = outside(lower, view, dim, low, low + size, value)
    return view


def outside(lower, view, dim, low, high, value):
    """Writes a number where the index along a dim is not from `low` to before `high`."""
    from dtc.ops_choices import compare, where  # they use functions of this module
    from dtc.ops_constants import index

    if value == 0:
        return view
    size = view.sizes[dim]
    position, inside = index(lower, size), None
    for kind, limit in (("ge", low), ("lt", high)):
        if limit not in (0, size):
            side = compare(lower, kind, position, number(lower, float(limit)))
            inside = side if inside is None else binary(lower, "multiply", inside, side)
    inside = with_dims(inside, [inside.dims[0] if at == dim else () for at in range(len(view.dims))])
    return where(lower, inside, view, number(lower, value))


def pad_dim(lower, view, dim, low, high):
    size = view.sizes[dim]
    if isinstance(size, Batch):
        raise Unsupported("pads the batch; the number of samples is fixed")
    value = view.value
    if view.dims[dim] not in view.layout or not view.dims[dim]:
        value = lower.build.plain(view)
        view = View(value, view.dims, view.dims)
        at = dim
    else:
        at = view.layout.index(view.dims[dim])
    dims = value.dims[:at] + (size + low + high,) + value.dims[at + 1 :]
    value = lower.build.emit("pad", [value], dims, dim=at, low=low, high=high)
    part = (Atom(size + low + high),)
    return View(
        value,
        view.layout[:at] + (part,) + view.layout[at + 1 :],
        tuple(part if index == dim else group for index, group in enumerate(view.dims)),
    )


@lowers("embedding")
def embedding(lower, node):
    arguments = bound(node)
    table, ids = arguments["weight"], arguments["indices"]
    if arguments["scale_grad_by_freq"] or arguments["sparse"]:
        raise Unsupported("scales gradients by frequency or makes them sparse; leave both off")
    table = lower.view(table)
    if lower.folder.is_constant(ids):
        positions, padding = lower.folder.value(ids), arguments["padding_idx"]
        if isinstance(padding, int) and padding >= 0 and bool((positions == padding).any()):
            raise Unsupported(
                f"looks up the padding row {padding} by a constant id, so that the row gets no"
                " gradient, which graph IR has for ids of inputs only; leave padding_idx out"
            )
        index = None if counts_up(positions) else lower.known_indices(ids, positions)
        if index is None:
            return by_positions(lower, table, positions, sizes_of(node))
    else:
        index = lower.view(ids)
    rows = lower.build.plain(table)
    ids = lower.build.plain(index)
    if ids.kind != "i32":  # integers that the module computes, as whole numbers of f32
        ids = lower.build.emit("cast", [ids], ids.dims, "i32")
    lower.index_inputs.add(ids)
    padding = (
        arguments["padding_idx"]
        if isinstance(arguments["padding_idx"], int) and arguments["padding_idx"] >= 0
        else None
    )
    value = lower.build.emit("embedding", [rows, ids], ids.dims + rows.dims[1:], padding=padding)
    result = identity(value)
    return views.reshape(result, sizes_of(node))


def counts_up(ids):
    flat = ids.flatten()
    return bool((flat == flat[0]).all()) or bool((flat.diff() == 1).all())


def by_positions(lower, table, ids, sizes):
    """Looks up constant ids that count up: rows of the table, one after the other."""
    flat = ids.flatten()
    count, start = flat.numel(), int(flat[0])
    if bool((flat == start).all()):
        count = 1
    elif any(int(a) != start + at for at, a in enumerate(flat.tolist())):
        raise Unsupported(
            "looks up constant ids that do not count up by one; use a slice or an input"
        )
    rows = table if count == table.sizes[0] else take(lower, table, 0, start, count)
    if count == 1:
        dims = ((),) * ids.dim() + rows.dims[-1:]
        rows = with_dims(rows, dims)
        return with_dims(
            rows,
            [
                dim if views.size_of(dim) == size else views.repeated_dim(size)
                for dim, size in zip(rows.dims, sizes)
            ],
        )
    return expand_rows(rows, ids, sizes)


def expand_rows(rows, ids, sizes):
    result = views.reshape(rows, tuple(ids.shape) + rows.sizes[-1:])
    dims = []
    for dim, size in zip(result.dims, sizes):
        dims.append(dim if views.size_of(dim) == size else views.repeated_dim(size))
    return with_dims(result, dims)

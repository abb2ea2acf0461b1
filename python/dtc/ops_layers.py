"""Layers: linear, products, norms, softmax, sums and means."""

from dtc import views
from dtc.clean import bound, sizes_of
from dtc.errors import Unsupported
from dtc.ir import Batch, elements
from dtc.lower import lowers
from dtc.ops_points import binary, check_totals, floats, scaled, views_written
from dtc.views import Atom, View, identity, size_of, with_dims


def rows_and_last(lower, view):
    """Returns the view over a value whose last dims are exactly the atoms of PyTorch's last dim,
    and how many dims these are."""
    view = lower.build.settled(view)
    last = view.dims[-1]
    if any(atom.repeats for atom in last):
        view = views.identity(lower.build.plain(view))
        last = view.dims[-1]
    tail, count = (), 0
    for group in reversed(view.layout):
        if tail == last and count:
            break
        tail, count = group + tail, count + 1
    if tail == last and count and last:
        return view, count
    groups = [tuple(atom for atom in group if atom not in last) for group in view.layout]
    groups = [group for group in groups if group] + [last]
    return View(lower.build.arrange(view, groups), tuple(groups), view.dims), 1


@lowers("linear")
def linear(lower, node):
    arguments = bound(node)
    bias = None if arguments["bias"] is None else lower.view(arguments["bias"])
    return multiply_rows(
        lower, lower.view(arguments["input"]), lower.view(arguments["weight"]), bias
    )


@lowers("addmm")
def addmm(lower, node):
    arguments = bound(node)
    if arguments["beta"] != 1 or arguments["alpha"] != 1:
        raise Unsupported("scales its operands; leave alpha and beta at 1")
    weight, bias = lower.view(arguments["mat2"]), lower.view(arguments["self"])
    rows, turned = lower.view(arguments["mat1"]), with_dims(weight, weight.dims[::-1])
    if weight.value.has_batch:
        return binary(lower, "add", multiply_matrices(lower, rows, weight, sizes_of(node)), bias)
    if bias.sizes != weight.sizes[1:]:
        return binary(lower, "add", multiply_rows(lower, rows, turned, None), bias)
    return multiply_rows(lower, rows, turned, bias)


def multiply_rows(lower, x, weight, bias):
    """Writes graph.linear of x [..., in] and a weight [out, in] in any order; dims of x that make
    up `in` stay apart."""
    floats(x), floats(weight)
    if weight.value.has_batch:
        raise Unsupported("has a weight for each sample; use torch.matmul")
    lower.same_samples(x.value, weight.value)
    check_totals(lower, "multiply", x.value, weight.value)
    if bias is not None:
        check_totals(lower, "add", x.value, bias.value)
    if len(x.dims) == 1 and not x.value.has_batch:
        raise Unsupported("multiplies a vector without a batch")
    x, count = rows_and_last(lower, x)
    inner = [size_of(group) for group in x.layout[-count:]]
    outside = weight.sizes[0]
    split = views.reshape(weight, (outside, *inner))
    if split is None:
        flat = x.dims[-1]
        groups = list(x.layout[:-count]) + [flat]
        x = View(lower.build.arrange(x, groups), tuple(groups), x.dims)
        count, split = 1, weight
    split = lower.build.settled(split)
    order = [atom for group in split.layout for atom in group]
    out_first = not split.dims[0] or not order or split.dims[0][0] is order[0]
    groups = [split.dims[0], *split.dims[1:]] if out_first else [*split.dims[1:], split.dims[0]]
    matrix = lower.build.materialise(split, groups)
    operands = [x.value, matrix]
    if bias is not None:
        operands.append(lower.build.plain(floats(bias)))
    dims = x.value.dims[: len(x.value.dims) - count] + (outside,)
    value = lower.build.emit(
        "linear", operands, dims, contract=count if count > 1 else None, transposed=out_first
    )
    out = (Atom(outside),) if outside != 1 else ()
    return View(value, x.layout[: len(x.layout) - count] + (out,), x.dims[:-1] + (out,))


@lowers("matmul", "mm", "bmm")
def matmul(lower, node):
    a, b = lower.view(node.args[0]), lower.view(node.args[1])
    if len(a.dims) >= 2 and len(b.dims) == 2 and not b.value.has_batch:
        return multiply_rows(lower, a, with_dims(b, b.dims[::-1]), None)
    if len(b.dims) > 2 and not b.value.has_batch and all(
        atom.repeats for dim in b.dims[:-2] for atom in dim
    ):
        return multiply_rows(lower, a, with_dims(b, (b.dims[-1], b.dims[-2])), None)
    if len(a.dims) < 2 or len(b.dims) < 2:
        return by_vector(lower, a, b)
    return multiply_matrices(lower, a, b, sizes_of(node))


@lowers("mv", "dot", "vdot")
def vectors(lower, node):
    return by_vector(lower, lower.view(node.args[0]), lower.view(node.args[1]))


def by_vector(lower, a, b):
    """Writes a product where one side or both have one dim, as products point by point and sums."""
    check_totals(lower, "multiply", a.value, b.value)
    if len(a.dims) == 1:  # [k] @ [..., k, n]
        b = b if len(b.dims) == 1 else with_dims(b, (*b.dims[:-2], b.dims[-1], b.dims[-2]))
    result = binary(lower, "multiply", floats(a), floats(b))
    return reduced(lower, result, "sum", [len(result.dims) - 1])


def multiply_matrices(lower, a, b, sizes):
    """Writes graph.matmul over the last two dims; dims in front are a batch of matrices."""
    floats(a), floats(b)
    lower.same_samples(a.value, b.value)
    check_totals(lower, "multiply", a.value, b.value)
    if lower.for_state and is_over_samples(a.dims, b.dims):
        return sum_of_products(lower, a, b, sizes)
    rank = len(sizes)
    operands, flags = [], []
    for view, matrix in ((a, sizes[-2:]), (b, sizes[-2:])):
        view = lower.build.settled(
            with_dims(view, ((),) * (rank - len(view.dims)) + tuple(view.dims))
        )
        dims = [
            dim if size_of(dim) == size else views.repeated_dim(size)
            for dim, size in zip(view.dims[:-2], sizes[:-2])
        ]
        if any(isinstance(size, Batch) for size in view.sizes[-2:]):
            raise Unsupported(
                "multiplies over the batch or has it in a matrix, which couples samples; keep the"
                " batch in front of both matrices"
            )
        order = [atom for group in view.layout for atom in group]
        rows, columns = view.dims[-2], view.dims[-1]
        swapped = bool(
            rows
            and columns
            and rows[0] in order
            and columns[0] in order
            and order.index(columns[0]) < order.index(rows[0])
        )
        groups = dims + ([columns, rows] if swapped else [rows, columns])
        operands.append(lower.build.materialise(with_dims(view, view.dims), groups))
        flags.append(swapped)
    return identity(
        lower.build.emit("matmul", operands, sizes, transpose_a=flags[0], transpose_b=flags[1])
    )


def is_over_samples(a, b):
    """Returns whether two matrices [m, k] and [k, n] have the batch, and then the same parts of a sample, in k."""
    inner = [[atom.size for atom in dim] for dim in (a[-1], b[-2])]
    return len(a) == 2 and len(b) == 2 and inner[0] == inner[1] and inner[0][:1] == [Batch(1)]


def sum_of_products(lower, a, b, sizes):
    """Writes a product over samples, which only a state can take, as the sum of the products of each."""
    a = with_dims(a, (a.dims[1][:1], a.dims[0], a.dims[1][1:]))
    b = with_dims(b, (b.dims[0][:1], b.dims[0][1:], b.dims[1]))
    return reduced(lower, multiply_matrices(lower, a, b, (Batch(1), *sizes)), "sum", [0])


def vector(lower, view, width, default):
    """Returns a weight of a norm as a value [width]; a constant where there is none."""
    if view is None:
        return lower.build.constant(default, (width,))
    return lower.build.materialise(view, [tuple(atom for dim in view.dims for atom in dim)])


def normalised(lower, node, name, weight_names):
    arguments = bound(node)
    x, shape = floats(lower.view(arguments["input"])), list(arguments["normalized_shape"])
    if x.value.total:
        raise Unsupported("is not linear in a mean or sum over the batch")
    sizes = sizes_of(node)
    if any(not isinstance(size, int) for size in shape):
        raise Unsupported("normalises over the batch, which couples samples")
    flat = views.reshape(x, sizes[: len(sizes) - len(shape)] + (elements(shape),)) or identity(
        lower.build.reshape(
            lower.build.plain(x), sizes[: len(sizes) - len(shape)] + (elements(shape),)
        )
    )
    flat = views_written(lower, flat) if any(atom.repeats for atom in flat.dims[-1]) else flat
    flat, count = rows_and_last(lower, flat)
    if count != 1:
        groups = list(flat.layout[:-count]) + [flat.dims[-1]]
        flat = View(lower.build.arrange(flat, groups), tuple(groups), flat.dims)
    operands = [flat.value]
    for parameter, default in weight_names:
        weight = arguments[parameter]
        operands.append(
            vector(lower, None if weight is None else lower.view(weight), elements(shape), default)
        )
    epsilon = arguments["eps"]
    epsilon = 1.1920928955078125e-07 if epsilon is None else epsilon  # that of f32, as torch's rms_norm
    value = lower.build.emit(
        name, operands, flat.value.dims, epsilon=None if epsilon == 1e-5 else float(epsilon)
    )
    result = View(value, flat.layout, flat.dims)
    return views.reshape(result, sizes)


@lowers("layer_norm", "native_layer_norm")
def layer_norm(lower, node):
    return normalised(lower, node, "layer_norm", (("weight", 1.0), ("bias", 0.0)))


@lowers("group_norm", "instance_norm")
def group_norm(lower, node):
    """Writes a norm over groups of channels as a layer norm of rows, then a weight and a bias for
    each channel."""
    arguments = bound(node)
    if arguments.get("running_mean") is not None:
        raise Unsupported("keeps statistics that a step changes; leave track_running_stats off")
    x, sizes = floats(lower.view(arguments["input"])), sizes_of(node)
    if x.value.total or not isinstance(sizes[0], Batch):
        raise Unsupported("is of one sample without a batch; give the batch as the first dim")
    groups = arguments.get("num_groups", sizes[1])
    rows = lower.build.plain(x)
    width = elements(sizes[1:]) // groups
    rows = lower.build.reshape(rows, (sizes[0], groups, width))
    ones, zeros = lower.build.constant(1.0, (width,)), lower.build.constant(0.0, (width,))
    epsilon = float(arguments["eps"])
    value = lower.build.emit(
        "layer_norm", [rows, ones, zeros], rows.dims, epsilon=None if epsilon == 1e-5 else epsilon
    )
    result = identity(lower.build.reshape(value, sizes))
    for name, op in (("weight", "multiply"), ("bias", "add")):
        if arguments[name] is not None:
            by_channel = lower.view(arguments[name])
            result = binary(
                lower, op, result, with_dims(by_channel, by_channel.dims + ((),) * (len(sizes) - 2))
            )
    return result


@lowers("rms_norm")
def rms_norm(lower, node):
    return normalised(lower, node, "rms_norm", (("weight", 1.0),))


@lowers("softmax", "_softmax")
def softmax(lower, node):
    x, dim = floats(lower.view(node.args[0])), node.args[1] % max(1, len(sizes_of(node)))
    if isinstance(sizes_of(node)[dim], Batch):
        raise Unsupported("is over the batch, which couples samples")
    order = [each for each in range(len(x.dims)) if each != dim] + [dim]
    turned = with_dims(x, [x.dims[each] for each in order])
    if any(atom.repeats for atom in turned.dims[-1]):
        turned = identity(lower.build.plain(turned))
    turned, count = rows_and_last(lower, turned)
    if count != 1:
        groups = list(turned.layout[:-count]) + [turned.dims[-1]]
        turned = View(lower.build.arrange(turned, groups), tuple(groups), turned.dims)
    if turned.value.total:
        raise Unsupported("is not linear in a mean or sum over the batch")
    value = lower.build.emit("softmax", [turned.value], turned.value.dims)
    return View(
        value, turned.layout, tuple(turned.dims[order.index(each)] for each in range(len(order)))
    )


@lowers("cumsum")
def cumulative_sum(lower, node):
    x, sizes = floats(lower.view(node.args[0])), sizes_of(node)
    if not sizes:
        return x
    dim = node.args[1] % len(sizes)
    if isinstance(sizes[dim], Batch):
        raise Unsupported("adds up over the batch, which couples samples")
    value = lower.build.plain(x)
    return identity(lower.build.emit("cumsum", [value], value.dims, dim=dim))


@lowers("mean", "sum")
def reduce(lower, node):
    arguments = bound(node)
    view = floats(lower.view(arguments["self"]))
    rank = len(view.dims)
    dims = arguments.get("dim")
    dims = (
        list(range(rank))
        if dims is None or dims == []
        else [dims] if isinstance(dims, int) else list(dims)
    )
    dims = sorted({dim % rank for dim in dims}) if rank else []
    result = reduced(lower, view, node.target._opname, dims)
    if arguments.get("keepdim"):
        kept = list(result.dims)
        for dim in dims:
            kept.insert(dim, ())
        result = with_dims(result, kept)
    return result


def reduced(lower, view, kind, dims):
    """Writes a sum or mean over dims, which the result lacks."""
    lost = [atom for dim in dims for atom in view.dims[dim]]
    rest = [dim for index, dim in enumerate(view.dims) if index not in dims]
    factor = 1
    for atom in lost:
        if atom.repeats and isinstance(atom.size, Batch):
            view = identity(lower.build.plain(view))
            return reduced(lower, view, kind, dims)
        factor *= atom.size if atom.repeats and kind == "sum" else 1
    lost = {atom for atom in lost if not atom.repeats}
    view = lower.build.settled(view)
    if not lost:
        return scaled(lower, with_dims(view, rest), factor)
    groups = []
    for atoms in view.layout:
        for at, atom in enumerate(atoms):
            if at and (atom in lost) == (atoms[at - 1] in lost):
                groups[-1] = groups[-1] + (atom,)
            else:
                groups.append((atom,))
        if not atoms:
            groups.append(())
    value = lower.build.arrange(view, groups)
    over = [at for at, group in enumerate(groups) if group and group[0] in lost]
    kept = [group for at, group in enumerate(groups) if at not in over]
    result = lower.build.emit(
        "reduce", [value], [size_of(group) for group in kept], how=kind, dims=over
    )
    return scaled(lower, View(result, tuple(kept), tuple(rest)), factor)

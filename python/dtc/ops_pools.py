"""Pooling of rows, images and volumes, as that of images: a dim that a pool leaves alone lies
beside the channels or the pixels."""

from dtc import views
from dtc.clean import bound, sizes_of
from dtc.errors import Unsupported
from dtc.ir import Batch
from dtc.lower import lowers
from dtc.ops_constants import index as counting
from dtc.ops_images import unless
from dtc.ops_moves import outside, pad_dim
from dtc.ops_points import binary, floats, number, point, scaled
from dtc.views import identity, with_dims


class Pool:
    """A pool of `count` dims: kernel, stride and padding for each."""

    def __init__(self, node):
        self.node, self.arguments, self.sizes = node, bound(node), sizes_of(node)
        self.name, self.count = node.target._opname[:3], int(node.target._opname[-2])
        self.kernel = self.each("kernel_size")
        self.stride = self.each("stride") or self.kernel
        self.padding = self.each("padding")
        if len(self.sizes) != 2 + self.count or not isinstance(self.sizes[0], Batch):
            raise Unsupported("is of one sample without a batch; give the batch as the first dim")
        if self.name == "max" and any(each != 1 for each in self.each("dilation")):
            raise Unsupported("is dilated; leave dilation at 1")
        if self.name == "avg" and self.arguments.get("divisor_override"):
            raise Unsupported("has a divisor of its own; leave divisor_override out")

    def each(self, name):
        value = self.arguments[name]
        value = [value] if isinstance(value, int) else list(value)
        return value * self.count if len(value) == 1 else value

    def run(self, lower, view):
        """Writes pools of the last one or two dims, and then of the dim before."""
        view = identity(lower.build.plain(view))
        view = self.padded_more(lower, view)
        sizes = view.sizes
        if self.count == 1:
            rows = views.reshape(view, (*sizes[:2], 1, sizes[2]))
            view = self.emit(lower, rows, (0,), (*self.sizes[:2], 1, self.sizes[2]))
        elif self.count == 2:
            view = self.emit(lower, view, (0, 1), self.sizes)
        else:
            flat = views.reshape(view, (sizes[0], sizes[1] * sizes[2], *sizes[3:]))
            view = self.emit(
                lower, flat, (1, 2), (sizes[0], sizes[1] * sizes[2], *self.sizes[3:])
            )
            pixels = self.sizes[3] * self.sizes[4]
            view = views.reshape(view, (*sizes[:3], pixels))
            view = self.emit(lower, view, (0, None), (*self.sizes[:3], pixels))
        return self.by_counts(lower, views.reshape(view, self.sizes))

    def emit(self, lower, view, dims, sizes):
        """Writes one op: `dims` are those of the pool that are height and width; one alone is the
        width, and None a dim that stays."""
        dims = (None, *dims) if len(dims) == 1 else dims
        kernel, stride, padding = (
            [default if dim is None else of[dim] for dim in dims]
            for of, default in ((self.kernel, 1), (self.stride, 1), (self.padding, 0))
        )
        value = lower.build.emit(
            f"{self.name}_pool2d",
            [lower.build.plain(view)],
            sizes,
            kernel=kernel,
            stride=unless(stride, [1, 1]),
            padding=unless(padding, [0, 0]),
        )
        return identity(value)

    def padded_more(self, lower, view):
        """Pads ends where the last window begins inside but ends outside (ceil_mode)."""
        for at in range(self.count):
            size = view.sizes[2 + at]
            span = (self.sizes[2 + at] - 1) * self.stride[at] + self.kernel[at]
            more = span - size - 2 * self.padding[at]
            if more <= 0:
                continue
            if self.name == "avg":
                raise Unsupported("rounds sizes up, where means are of fewer; leave ceil_mode off")
            view = pad_dim(lower, view, 2 + at, 0, more)
            view = outside(lower, view, 2 + at, 0, size, float("-inf"))
            view = identity(lower.build.plain(view))
        return view

    def by_counts(self, lower, view):
        """Makes means over whole windows those over the pixels inside, if padding does not
        count."""
        if self.name != "avg" or self.arguments["count_include_pad"]:
            return view
        for at, padding in enumerate(self.padding):
            if not padding:
                continue
            size = sizes_of(self.node.args[0])[2 + at]
            start = scaled(lower, counting(lower, self.sizes[2 + at]), float(self.stride[at]))
            start = binary(lower, "add", start, number(lower, float(-padding)))
            end = binary(lower, "add", start, number(lower, float(self.kernel[at])))
            start, end = (point(lower, "clamp", each, 0.0, float(size)) for each in (start, end))
            share = binary(lower, "subtract", end, start)
            share = scaled(lower, share, 1.0 / self.kernel[at])
            dims = [share.dims[0] if dim == 2 + at else () for dim in range(len(view.dims))]
            view = binary(lower, "divide", view, with_dims(share, dims))
        return view


@lowers(*(f"{name}_pool{count}d" for name in ("max", "avg") for count in (1, 2, 3)))
def pool(lower, node):
    return Pool(node).run(lower, floats(lower.view(node.args[0])))


@lowers("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive(lower, node):
    """Writes the maxima of windows that cover each dim evenly, one dim after the other; the op has
    the indices as a second result, which nothing may read."""
    view = floats(lower.view(node.args[0]))
    wanted = [int(each) for each in node.meta["val"][0].shape[2:]]
    if any(user.args[1] for user in node.users):
        raise Unsupported("gives indices; leave return_indices off")
    sizes = list(view.sizes)
    if len(sizes) != 2 + len(wanted) or not isinstance(sizes[0], Batch):
        raise Unsupported("is of one sample without a batch; give the batch as the first dim")
    for at, into in enumerate(wanted):
        size = sizes[2 + at]
        if size % into:
            raise Unsupported(
                f"makes {into} pixels of {size}, by windows of several sizes; use a size that"
                f" divides {size}"
            )
        before, behind = sizes[1], 1
        for other in sizes[2 : 2 + at]:
            before *= other
        for other in sizes[3 + at :]:
            behind *= other
        flat = views.reshape(identity(lower.build.plain(view)), (sizes[0], before, size, behind))
        step = size // into
        value = lower.build.emit(
            "max_pool2d",
            [lower.build.plain(flat)],
            (sizes[0], before, into, behind),
            kernel=[step, 1],
            stride=unless([step, 1], [1, 1]),
        )
        sizes[2 + at] = into
        view = views.reshape(identity(value), sizes)
    return (view, None)

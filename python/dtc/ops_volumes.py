"""Convolution of volumes, by that of images: the kernel's slices along the depth become channels,
for which each place along the depth has the slices of the volume that the kernel covers there."""

from dtc import views
from dtc.clean import bound, sizes_of
from dtc.errors import Unsupported
from dtc.ir import Batch
from dtc.lower import lowers
from dtc.ops_images import unless
from dtc.ops_moves import every, pad_dim, take
from dtc.ops_points import binary, floats
from dtc.views import identity, with_dims


def three(value):
    """Returns an argument for depth, height and width."""
    value = [value] if isinstance(value, int) else list(value)
    return value * 3 if len(value) == 1 else value


class VolumeConvolution:
    """The operands of a convolution of volumes or of its transpose."""

    def __init__(self, lower, node):
        self.lower, self.arguments, self.sizes = lower, bound(node), sizes_of(node)
        self.x = floats(lower.view(self.arguments["input"]))
        self.weight = lower.view(self.arguments["weight"])
        self.kernel = self.weight.sizes[2:]
        if len(self.sizes) != 5 or not isinstance(self.sizes[0], Batch):
            raise Unsupported("is of one volume without a batch; give the batch as the first dim")
        self.stride, self.dilation = (
            three(self.arguments[each]) for each in ("stride", "dilation")
        )

    def emit(self, name, images, channels, sizes, bias, padding):
        """Writes the op on images, whose batch has a place for each of the depth; returns its
        result as [batch, depth, channels, height, width]."""
        depth, batch = images.sizes[1], images.sizes[0].rows
        groups = [images.dims[0] + images.dims[1], channels, *images.dims[-2:]]
        flat, build = self.weight.dims, self.lower.build
        weight = with_dims(self.weight, (flat[0], flat[1] + flat[2], flat[3], flat[4]))
        operands = [build.materialise(images, groups), build.plain(weight)]
        if bias is not None:
            operands.append(build.plain(self.lower.view(bias)))
        value = build.emit(
            name,
            operands,
            (Batch(batch * depth), *sizes),
            stride=unless(self.stride[1:], [1, 1]),
            padding=unless(padding[1:], [0, 0]),
            dilation=unless(self.dilation[1:], [1, 1]),
        )
        return views.reshape(identity(value), (Batch(batch), depth, *sizes))


def depth_first(lower, view):
    """Returns volumes as [batch, depth, channels, height, width], written in this order."""
    b, c, d, h, w = view.dims
    return identity(lower.build.plain(with_dims(view, (b, d, c, h, w))))


def depth_behind(view):
    b, d, c, h, w = view.dims
    return with_dims(view, (b, c, d, h, w))


@lowers("conv3d")
def convolution(lower, node):
    conv = VolumeConvolution(lower, node)
    padding = conv.arguments["padding"]
    if isinstance(padding, str):
        extents = [(size - 1) * each for size, each in zip(conv.kernel, conv.dilation)]
        if padding == "same" and any(extent % 2 for extent in extents):
            raise Unsupported(
                "pads one side more than the other; pad explicitly, or use an odd kernel"
            )
        padding = [extent // 2 if padding == "same" else 0 for extent in extents]
    padding = three(padding)
    (taps, *_), (_, filters, depth, *image) = conv.kernel, conv.sizes
    stride, dilation = conv.stride[0], conv.dilation[0]
    x = depth_first(lower, conv.x)
    size, needed = x.sizes[1], (taps - 1) * dilation + depth * stride
    high = max(padding[0], needed - size - padding[0])
    if padding[0] or high:
        x = pad_dim(lower, x, 1, padding[0], high)
    if stride == taps and dilation == 1:  # each slice is read once
        x = x if x.sizes[1] == needed - taps + 1 else take(lower, x, 1, 0, depth * stride)
        split = views.reshape(x, (x.sizes[0], depth, taps, *x.sizes[2:]))
        b, d, k, c, h, w = split.dims
        images, channels = with_dims(split, (b, d, c, h, w)), c + k
    else:
        parts = [
            every(lower, take(lower, x, 1, at * dilation, depth * stride), 1, 0, depth, stride)
            for at in range(taps)
        ]
        images = parts[0]
        channels = images.dims[2]
        if taps > 1:
            values = [lower.build.plain(part) for part in parts]
            dims = values[0].dims
            value = lower.build.emit(
                "concat", values, (*dims[:3], taps, *dims[3:]), dim=3, stack=True
            )
            joined = identity(value)
            b, d, c, k, h, w = joined.dims
            images, channels = with_dims(joined, (b, d, c, h, w)), c + k
    result = conv.emit(
        "conv2d", images, channels, (filters, *image), conv.arguments["bias"], padding
    )
    return depth_behind(result)


@lowers("conv_transpose3d")
def transposed_convolution(lower, node):
    conv = VolumeConvolution(lower, node)
    more, padding = (three(conv.arguments[each]) for each in ("output_padding", "padding"))
    if any(rows >= step for rows, step in zip(more, conv.stride)):
        raise Unsupported("pads the result by the stride or more; leave output_padding below it")
    (taps, *_), (batch, channels, depth, *image) = conv.kernel, conv.sizes
    stride, dilation = conv.stride[0], conv.dilation[0]
    x = depth_first(lower, conv.x)
    size = x.sizes[1]
    spread = conv.emit(
        "conv_transpose2d", x, x.dims[2], (channels * taps, *image), None, padding
    )
    spread = views.reshape(spread, (batch, size, channels, taps, *image))
    b, d, c, k, h, w = spread.dims
    if stride == taps and dilation == 1:  # no two slices meet
        result = with_dims(spread, (b, d + k, c, h, w))
    else:
        result = None
        for at in range(taps):
            part = with_dims(spread, (b, d, k, c, h, w))
            part = identity(lower.build.plain(take(lower, part, 2, at, 1)))
            part = views.reshape(part, (batch, size, 1, channels, *image))
            if stride > 1:
                part = pad_dim(lower, identity(lower.build.plain(part)), 2, 0, stride - 1)
            part = identity(
                lower.build.reshape(
                    lower.build.plain(part), (batch, size * stride, channels, *image)
                )
            )
            if taps > 1 and dilation:
                part = pad_dim(lower, part, 1, at * dilation, (taps - 1 - at) * dilation)
            result = part if result is None else binary(lower, "add", result, part)
    there, wanted = result.sizes[1], padding[0] + depth
    if wanted > there:
        result = pad_dim(lower, identity(lower.build.plain(result)), 1, 0, wanted - there)
    if padding[0] or wanted < there:
        result = take(lower, result, 1, padding[0], depth)
    result = depth_behind(result)
    if conv.arguments["bias"] is None:
        return result
    bias = lower.view(conv.arguments["bias"])
    return binary(lower, "add", result, with_dims(bias, bias.dims + ((), (), ())))

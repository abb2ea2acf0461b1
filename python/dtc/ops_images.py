"""Convolution of rows and images."""

from dtc.clean import bound, sizes_of
from dtc.errors import Unsupported
from dtc.ir import Batch
from dtc.lower import lowers
from dtc.ops_layers import reduced
from dtc.ops_points import binary, floats
from dtc.views import Atom, identity, with_dims


class Convolution:
    """The operands of a convolution or of its transpose: those of one dim get a height of 1."""

    def __init__(self, lower, node):
        self.arguments = bound(node)
        self.flat = node.target._opname.endswith("1d")
        self.x = floats(lower.view(self.arguments["input"]))
        self.weight = lower.view(self.arguments["weight"])
        self.sizes = sizes_of(node)
        if self.flat:
            x, weight, sizes = self.x, self.weight, self.sizes
            self.x = with_dims(x, (*x.dims[:2], (), x.dims[2]))
            self.weight = with_dims(weight, (*weight.dims[:2], (), weight.dims[2]))
            self.sizes = (*sizes[:2], 1, sizes[2])
        if len(self.sizes) != 4 or not isinstance(self.sizes[0], Batch):
            raise Unsupported("is of one image without a batch; give the batch as the first dim")

    def pair(self, name, one):
        """Returns an argument as [height, width]; the height of a convolution of rows is `one`."""
        value = list(self.arguments[name])
        return [one, *value] if self.flat else value * (2 if len(value) == 1 else 1)

    def emit(self, lower, name, bias, padding):
        """Writes the op, and returns its result as PyTorch sees it."""
        operands = [lower.build.plain(self.x), lower.build.plain(self.weight)]
        if bias is not None:
            operands.append(lower.build.plain(lower.view(bias)))
        value = lower.build.emit(
            name,
            operands,
            self.sizes,
            stride=unless(self.pair("stride", 1), [1, 1]),
            padding=unless(padding, [0, 0]),
            dilation=unless(self.pair("dilation", 1), [1, 1]),
        )
        result = identity(value)
        return with_dims(result, (*result.dims[:2], result.dims[3])) if self.flat else result


@lowers("conv2d", "conv1d")
def convolution(lower, node):
    conv = Convolution(lower, node)
    padding = conv.arguments["padding"]
    if isinstance(padding, str):
        dilation = conv.pair("dilation", 1)
        extents = [(size - 1) * each for size, each in zip(conv.weight.sizes[2:], dilation)]
        if padding == "same" and any(extent % 2 for extent in extents):
            raise Unsupported(
                "pads one side more than the other; pad explicitly, or use an odd kernel"
            )
        padding = [extent // 2 if padding == "same" else 0 for extent in extents]
    else:
        padding = conv.pair("padding", 0)
    return conv.emit(lower, "conv2d", conv.arguments["bias"], padding)


@lowers("conv_transpose2d", "conv_transpose1d")
def transposed_convolution(lower, node):
    conv = Convolution(lower, node)
    more, stride = conv.pair("output_padding", 0), conv.pair("stride", 1)
    if any(rows >= step for rows, step in zip(more, stride)):
        raise Unsupported("pads the result by the stride or more; leave output_padding below it")
    result = conv.emit(lower, "conv_transpose2d", None, conv.pair("padding", 0))
    if conv.arguments["bias"] is None:
        return result
    bias = lower.view(conv.arguments["bias"])
    return binary(lower, "add", result, with_dims(bias, bias.dims + ((),) * (len(result.dims) - 2)))


def unless(value, default):
    value = [int(each) for each in value]
    return None if value == default else value

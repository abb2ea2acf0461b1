"""Batch norm: by the statistics of the batch while a module trains, by its running ones in eval mode."""

import torch

from dtc.clean import bound, sizes_of
from dtc.errors import Unsupported
from dtc.ir import Batch
from dtc.lower import lowers
from dtc.ops_layers import vector
from dtc.ops_points import binary, floats, number, point
from dtc.views import identity, with_dims

# The momentum that capture() gives to torch for None, which averages over all steps.
OVER_ALL_STEPS = -1.0


@lowers("batch_norm")
def batch_norm(lower, node):
    arguments = bound(node)
    x, sizes = floats(lower.view(arguments["input"])), sizes_of(node)
    if x.value.total or not isinstance(sizes[0], Batch):
        raise Unsupported("is of one sample without a batch; give the batch as the first dim")
    if arguments["training"]:
        return by_batch(lower, arguments, x, sizes)
    return by_running(lower, arguments, x)


def by_batch(lower, arguments, x, sizes):
    """Writes graph.batch_norm, which keeps the running statistics where the module tracks them."""
    operands = [lower.build.plain(x)]
    for name, default in (("weight", 1.0), ("bias", 0.0)):
        given = arguments[name]
        view = None if given is None else lower.view(given)
        operands.append(vector(lower, view, sizes[1], default))
    attributes = {}
    if arguments["running_mean"] is not None:
        operands += state_of(lower, arguments)
        if arguments["momentum"] != OVER_ALL_STEPS:
            attributes["momentum"] = float(arguments["momentum"])
    epsilon = float(arguments["eps"])
    value = lower.build.emit(
        "batch_norm",
        operands,
        sizes,
        epsilon=None if epsilon == 1e-5 else epsilon,
        parts=lower.statistics == "parts",
        **attributes,
    )
    return identity(value)


def state_of(lower, arguments):
    """Returns the values of the running mean, the running variance and the number of steps."""
    names = [lower.captured.buffers.get(arguments[key]) for key in ("running_mean", "running_var")]
    counter = (names[0] or "").rpartition(".")[0]
    names.append(f"{counter}.num_batches_tracked" if counter else "num_batches_tracked")
    buffers = dict(lower.module.named_buffers())
    persistent = lower.module.state_dict(keep_vars=True)
    if any(name not in buffers or name not in persistent for name in names):
        raise Unsupported(
            "keeps statistics that are no buffers of an nn.BatchNorm; use that module, which counts"
            " its steps in num_batches_tracked"
        )
    names = [lower.names[name] for name in names]
    if names[0] in lower.observed:
        raise Unsupported(
            "keeps running statistics and is in forward twice, so that a step would give them two"
            " values; give each place a module of its own, or turn track_running_stats off"
        )
    lower.observed.add(names[0])
    return [lower.state(name).value for name in names]


def by_running(lower, arguments, x):
    """Writes a scale and a shift of each channel."""

    def of_channels(view):
        return with_dims(view, view.dims + ((),) * (len(x.dims) - 2))

    mean, variance = lower.view(arguments["running_mean"]), lower.view(arguments["running_var"])
    shifted = binary(lower, "add", variance, number(lower, float(arguments["eps"])))
    slope = point(lower, "rsqrt", shifted)
    if arguments["weight"] is not None:
        slope = binary(lower, "multiply", slope, lower.view(arguments["weight"]))
    centred = binary(lower, "subtract", x, of_channels(mean))
    result = binary(lower, "multiply", centred, of_channels(slope))
    if arguments["bias"] is not None:
        result = binary(lower, "add", result, of_channels(lower.view(arguments["bias"])))
    return result


class MeanOfAllSteps:
    """Lets torch.export trace modules without momentum, whose forward reads a counter's value."""

    def __enter__(self):
        kind = torch.nn.modules.batchnorm._BatchNorm
        self.kind, self.forward = kind, kind.forward

        def forward(module, x):
            tracks = module.training and module.track_running_stats
            if module.momentum is not None or not tracks:
                return self.forward(module, x)
            module._check_input_dim(x)
            return torch.nn.functional.batch_norm(
                x,
                module.running_mean,
                module.running_var,
                module.weight,
                module.bias,
                True,
                OVER_ALL_STEPS,
                module.eps,
            )

        kind.forward = forward

    def __exit__(self, *_):
        self.kind.forward = self.forward

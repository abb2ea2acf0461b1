"""Losses: cross entropy and what is written with point-by-point ops."""

from dtc import views
from dtc.clean import bound, sizes_of
from dtc.errors import Unsupported
from dtc.ir import Batch
from dtc.lower import check_exact, lowers
from dtc.ops_choices import compare, where
from dtc.ops_entropy import nll_of
from dtc.ops_layers import reduced, rows_and_last
from dtc.ops_points import (
    beside,
    binary,
    floats,
    magnitude,
    number,
    point,
    pointwise,
    repeated_to,
    scaled,
    uniform,
)
from dtc.ops_sums import log_softmax_of
from dtc.views import View, with_dims

REDUCTIONS = {0: None, 1: "mean", 2: "sum"}


def finish(lower, view, reduction):
    """Takes the mean or sum over everything."""
    kind = REDUCTIONS[reduction]
    return view if kind is None else reduced(lower, view, kind, list(range(len(view.dims))))


@lowers("cross_entropy_loss")
def cross_entropy(lower, node):
    arguments = bound(node)
    logits = floats(lower.view(arguments["self"]))
    if len(logits.dims) < 2:
        raise Unsupported("is of one sample without a batch; give the batch as the first dim")
    smoothing = float(arguments["label_smoothing"])
    if arguments["target"].meta["val"].is_floating_point():
        raise Unsupported(
            "has probabilities as targets, for which torch.export fixes the size of the batch;"
            " write -(targets * logits.log_softmax(1)).sum(1).mean()"
        )
    targets = class_indices(lower, arguments["target"])
    if arguments["weight"] is not None or smoothing:
        logs = log_softmax_of(lower, logits, [1])
        return nll_of(lower, logs, targets, arguments, smoothing, mean_by_weights, finish)
    rows = with_dims(
        logits, (logits.dims[0], *logits.dims[2:], logits.dims[1])
    )  # classes are dim 1
    rows, count = rows_and_last(lower, rows)
    if count != 1:
        groups = list(rows.layout[:-count]) + [rows.dims[-1]]
        rows = View(lower.build.arrange(rows, groups), tuple(groups), rows.dims)
    if rows.value.total:
        raise Unsupported("is not linear in a mean or sum over the batch")
    lead = View(rows.value, rows.layout[:-1], rows.dims[:-1])
    value, ids = same_order(lower, lead, targets, rows)
    ignoring = int(arguments["ignore_index"])
    lower.counts["cross_entropy"] = lower.counts.get("cross_entropy", 0) + 1
    if arguments["reduction"] == 1:
        result = lower.build.emit("cross_entropy", [value, ids], (), ignoring=ignoring, mean=True)
        return views.identity(result)
    losses = lower.build.emit("cross_entropy", [value, ids], ids.dims, ignoring=ignoring)
    lead = View(losses, lead.layout, lead.dims)
    return finish(lower, lead, arguments["reduction"])


def class_indices(lower, node):
    """Returns the view of targets in i32: of an input, or of integers that the module or the loss computes, or of
    constants such as the first of several candidates for every sample."""
    if lower.folder.is_constant(node):
        check_exact(lower.folder.value(node))
        same = uniform(lower, node)
        view = (
            lower.known_indices(node, lower.folder.value(node))
            if same is None
            else repeated_to(number(lower, same), sizes_of(node))
        )
        if view is None:
            raise Unsupported(
                "has constant targets that follow no simple pattern: make them an input, or a buffer"
                " of the module (register_buffer), which files keep"
            )
    else:
        view = lower.view(node)
    if view.kind == "i32":
        return view
    numbers = lower.build.plain(view)
    return views.identity(lower.build.emit("cast", [numbers], numbers.dims, "i32"))


def same_order(lower, lead, targets, rows):
    """Returns the logits and the targets, these in the order of the logits' rows."""
    targets = lower.build.settled(targets)
    pairs = {}
    for mine, theirs in zip(lead.dims, targets.dims):
        if [atom.size for atom in mine] != [atom.size for atom in theirs] or any(
            atom.repeats for atom in (*mine, *theirs)
        ):
            break
        pairs.update(zip(mine, theirs))
    else:
        groups = [tuple(pairs[atom] for atom in group) for group in lead.layout]
        return rows.value, lower.build.arrange(targets, groups)
    raise Unsupported("has logits and targets in another order; flatten both in the same way")


@lowers("nll_loss", "nll_loss_nd", "nll_loss2d")
def nll(lower, node):
    """Writes the loss of log-probabilities; those of a log_softmax are a cross entropy already."""
    arguments = bound(node)
    logs = floats(lower.view(arguments["self"]))
    targets = class_indices(lower, arguments["target"])
    if len(logs.dims) < 2:
        raise Unsupported("is of one sample without a batch; give the batch as the first dim")
    return nll_of(lower, logs, targets, arguments, 0.0, mean_by_weights, finish)


@lowers("kl_div")
def kl_div(lower, node):
    """Writes t (log t - x) for log-probabilities x, 0 where t is."""
    arguments = bound(node)
    x, target = pair(lower, arguments)
    if arguments["log_target"]:
        share, log = pointwise(lower, "exp", target), target
    else:
        one, zero = number(lower, 1.0), number(lower, 0.0)
        share = target
        log = pointwise(
            lower, "log", where(lower, compare(lower, "gt", target, zero), target, one)
        )
    losses = binary(lower, "multiply", share, binary(lower, "subtract", log, x))
    return finish(lower, losses, arguments["reduction"])


@lowers("mse_loss")
def mse(lower, node):
    arguments = bound(node)
    difference = binary(lower, "subtract", *pair(lower, arguments))
    return finish(lower, binary(lower, "multiply", difference, difference), arguments["reduction"])


def pair(lower, arguments):
    a, b = floats(lower.view(arguments["self"])), floats(lower.view(arguments["target"]))
    if a.sizes != b.sizes:
        raise Unsupported(
            f"compares {shape(a.sizes)} with {shape(b.sizes)}, which PyTorch repeats; give both the"
            " same shape"
        )
    return a, b


def shape(sizes):
    return (
        "["
        + ", ".join(
            (
                "batch"
                if size == Batch(1)
                else f"batch * {size.rows}" if isinstance(size, Batch) else str(size)
            )
            for size in sizes
        )
        + "]"
    )


@lowers("l1_loss")
def l1(lower, node):
    arguments = bound(node)
    difference = binary(lower, "subtract", *pair(lower, arguments))
    return finish(lower, magnitude(lower, difference), arguments["reduction"])


@lowers("smooth_l1_loss", "huber_loss")
def smooth_l1(lower, node):
    """Writes the loss with m = min(|d|, beta): m^2 / 2 + beta (|d| - m), divided by beta for smooth
    L1."""
    arguments = bound(node)
    beta = arguments["beta"] if "beta" in arguments else arguments["delta"]
    if beta <= 0:
        raise Unsupported(f"has beta {beta}; use the L1 loss for 0")
    size = magnitude(lower, binary(lower, "subtract", *pair(lower, arguments)))
    small = binary(lower, "minimum", size, number(lower, beta))
    square = scaled(lower, binary(lower, "multiply", small, small), 0.5)
    loss = binary(lower, "add", square, scaled(lower, binary(lower, "subtract", size, small), beta))
    if "beta" in arguments:
        loss = scaled(lower, loss, 1 / beta)
    return finish(lower, loss, arguments["reduction"])


@lowers("binary_cross_entropy_with_logits")
def bce(lower, node):
    """Writes (1 - y) x - (1 + (p - 1) y) log(sigmoid(x)) with p the weight of positive targets."""
    arguments = bound(node)
    x, y = pair(lower, arguments)
    one, log = number(lower, 1.0), point(lower, "log_sigmoid", x)
    if arguments["pos_weight"] is not None:
        more = binary(lower, "subtract", floats(lower.view(arguments["pos_weight"])), one)
        factor = binary(lower, "add", one, binary(lower, "multiply", y, more))
        log = binary(lower, "multiply", log, factor)
    rest = binary(lower, "multiply", binary(lower, "subtract", one, y), x)
    losses = binary(lower, "subtract", rest, log)
    if arguments["weight"] is not None:
        losses = binary(lower, "multiply", losses, floats(lower.view(arguments["weight"])))
    return finish(lower, losses, arguments["reduction"])


@lowers("binary_cross_entropy")
def bce_of_probabilities(lower, node):
    raise Unsupported(
        "is of probabilities that are no sigmoid; give logits to"
        " binary_cross_entropy_with_logits, which is exact for any of them"
    )


@lowers("weighted_mean")
def weighted_mean(lower, node):
    return mean_by_weights(
        lower, floats(lower.view(node.args[0])), floats(lower.view(node.args[1]))
    )


def mean_by_weights(lower, x, weights):
    """Writes sum(x w) / sum(w) over everything."""
    found = beside(lower, x, weights)
    if found is None or found[0].value.dims != found[1].dims:
        raise Unsupported("has weights of another shape than the losses; repeat them by hand")
    return views.identity(lower.build.emit("weighted_mean", [found[0].value, found[1]], ()))


@lowers("counted")
def counted(lower, node):
    view = lower.build.settled(lower.view(node.args[0]))
    value = lower.build.emit("counted", [view.value], view.value.dims, ignoring=int(node.args[1]))
    return View(value, view.layout, view.dims)

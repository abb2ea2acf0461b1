"""Losses of log-probabilities that graph.cross_entropy does not have."""

from dtc.errors import Unsupported
from dtc.ops_choices import compare, where
from dtc.ops_layers import reduced
from dtc.ops_points import as_numbers, binary, floats, number, pointwise, scaled, views_written
from dtc.views import identity, with_dims


class Classes:
    """The class, of dim 1 of the logits, that each target names; a target that does not count names
    none."""

    def __init__(self, lower, sizes, targets, ignored):
        self.lower, self.targets = lower, as_numbers(lower, targets)
        self.rank, self.ignored = len(sizes), ignored
        index = identity(lower.build.emit("iota", [], (sizes[1],)))
        wide = with_dims(self.targets, (self.targets.dims[0], (), *self.targets.dims[1:]))
        self.named = compare(lower, "eq", wide, self.along(index))

    def along(self, view):
        """Returns a vector of classes as dim 1."""
        return with_dims(view, ((), view.dims[0], *[()] * (self.rank - 2)))

    def counted(self):
        return compare(self.lower, "ne", self.targets, number(self.lower, float(self.ignored)))

    def pick(self, view):
        """Returns the number of the class that each target names, 0 for those that do not count."""
        only = where(self.lower, self.named, view, number(self.lower, 0.0))
        return reduced(self.lower, only, "sum", [1])


def class_weights(lower, arguments, rank):
    """Returns the weights of classes as dim 1, or None."""
    if arguments["weight"] is None:
        return None
    weights = floats(lower.view(arguments["weight"]))
    return with_dims(weights, ((), weights.dims[0], *[()] * (rank - 2)))


def negative(lower, view):
    return pointwise(lower, "negate", view)


def nll_of(lower, logs, targets, arguments, smoothing, weighted_mean, finish):
    """Writes the loss of log-probabilities [batch, classes, ...] for class indices."""
    classes = Classes(lower, logs.sizes, targets, arguments["ignore_index"])
    weights = class_weights(lower, arguments, len(logs.dims))
    losses = negative(lower, classes.pick(logs))
    if smoothing:
        if weights is not None:
            raise Unsupported("has label smoothing and class weights together; leave one out")
        spread = negative(lower, reduced(lower, logs, "mean", [1]))
        losses = binary(
            lower,
            "add",
            scaled(lower, losses, 1 - smoothing),
            scaled(lower, spread, smoothing),
        )
    counts = classes.counted() if weights is None else classes.pick(weights)
    if arguments["reduction"] == 1:
        return weighted_mean(lower, *(views_written(lower, each) for each in (losses, counts)))
    return finish(lower, binary(lower, "multiply", losses, counts), arguments["reduction"])

"""Losses: the named ones, and functions that a user gives."""

import inspect

import torch
import torch.nn.functional as F

from dtc.errors import ExportError


def class_last(logits, targets):
    """Returns logits with the classes in the last dim, as models give them, as rows beside the
    targets."""
    return logits.flatten(0, -2), targets.flatten()


def cross_entropy(output, targets):
    logits, targets = class_last(logits_of(output), targets)
    return F.cross_entropy(logits, targets, ignore_index=-100)


def cross_entropy_sum(output, targets):
    logits, targets = class_last(logits_of(output), targets)
    return F.cross_entropy(logits, targets, ignore_index=-100, reduction="sum")


def cross_entropy_weighted(output, targets, weights):
    logits, flat = class_last(logits_of(output), targets)
    rows = F.cross_entropy(logits, flat, ignore_index=-100, reduction="none")
    return (rows * weights.flatten()).sum() / weights.sum()


def nll(output, targets, reduction):
    logs, targets = class_last(output, targets)
    return F.nll_loss(logs, targets, reduction=reduction)


def kl_div(output, targets, reduction):
    """The sum over all numbers of a sample; of samples the mean or the sum."""
    return F.kl_div(output, targets, reduction="sum" if reduction == "sum" else "batchmean")


def logits_of(output):
    """Returns the tensor of a model's output: itself, or its field 'logits'."""
    return output["logits"] if hasattr(output, "keys") and "logits" in output.keys() else output


def of(function, reduction):
    def loss(output, targets):
        return function(logits_of(output), targets, reduction=reduction)

    return loss


NAMED = {
    "cross_entropy": cross_entropy,
    "cross_entropy_sum": cross_entropy_sum,
    "cross_entropy_weighted": cross_entropy_weighted,
}
for name, function in (
    ("mse", F.mse_loss),
    ("l1", F.l1_loss),
    ("smooth_l1", F.smooth_l1_loss),
    ("huber", F.huber_loss),
    ("bce_with_logits", F.binary_cross_entropy_with_logits),
    ("bce", F.binary_cross_entropy),
    ("nll", nll),
    ("kl_div", kl_div),
):
    NAMED[name], NAMED[f"{name}_sum"] = of(function, "mean"), of(function, "sum")

class Loss:
    """A loss as a function of a module's output and of further inputs by name."""

    def __init__(self, function):
        self.function = function
        called = function.forward if isinstance(function, torch.nn.Module) else function
        parameters = list(inspect.signature(called).parameters.values())
        if not parameters or any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
            raise ExportError(
                "the loss has to be a function of the module's output and of further inputs by"
                " name, without * and **"
            )
        self.further = [p.name for p in parameters[1:]]
        self.needed = [p.name for p in parameters[1:] if p.default is p.empty]

    def names(self, count):
        """Returns the names of further inputs; those without a default where inputs are given in a
        row, as `count` says."""
        return self.further if count is None else self.needed

    def required(self):
        return self.needed

    def __call__(self, output, **further):
        return self.function(output, **further)


def loss_of(loss):
    """Returns the loss that a user named or gave, or None where the module returns it."""
    if loss is None:
        return None
    if isinstance(loss, str):
        if loss not in NAMED:
            raise ExportError(
                f"there is no loss '{loss}': use one of {', '.join(NAMED)}, or give a function"
            )
        return Loss(NAMED[loss])
    if not callable(loss):
        raise ExportError(
            f"loss is {type(loss).__name__}, but a function or one of {', '.join(NAMED)} is wanted"
        )
    return Loss(loss)

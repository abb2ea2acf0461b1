"""Finds what a graph of torch.export does not show: gradients that a module changes by hand, and
state that it keeps outside of the graph."""

import contextlib
import gc
import math
import os
import sys
from unittest import mock

import torch

from dtc.errors import ExportError, is_own


class Refused(Exception):
    """An error for what forward does that no graph shows; the location is that of the frame that does it."""


@contextlib.contextmanager
def watched():
    """Refuses, while a module is traced, what torch.export leaves out of its graph silently."""
    apply = torch.autograd.Function.apply

    def checked_apply(cls, *args, **kwargs):
        if cls.__module__.split(".")[0] != "torch":
            raise Refused(
                f"{cls.__name__} is a torch.autograd.Function with a backward of its own, which"
                " graph IR does not have; write its forward with ordinary ops, whose gradient dtc"
                " derives"
            )
        return apply.__func__(cls, *args, **kwargs)

    def checked_hook(self, hook):
        raise Refused("a hook changes a gradient, which graph IR does not have; leave it out")

    enter, enter_none, leave_none = (
        torch.enable_grad.__enter__,
        torch.no_grad.__enter__,
        torch.no_grad.__exit__,
    )
    without = []  # the regions of torch.no_grad() of the model; torch.is_grad_enabled() does not tell while it traces

    def is_of_model(file):
        return not is_own(file) or os.path.basename(file) == "_contextlib.py"  # of a decorator

    def checked_enter(self):
        if without and is_of_model(sys._getframe(1).f_code.co_filename):
            raise Refused(
                "gradients are enabled within torch.no_grad(), whose rest torch.export then takes"
                " for what has gradients; use detach"
            )
        return enter(self)

    def noted_enter(self):
        if is_of_model(sys._getframe(1).f_code.co_filename):
            without.append(self)
        return enter_none(self)

    def noted_leave(self, *problem):
        if without and without[-1] is self:
            without.pop()
        return leave_none(self, *problem)

    bag = torch.nn.functional.embedding_bag

    def rows_of_bags(input, weight, offsets=None, *arguments, **options):
        if offsets is not None or input.dim() != 2:
            return bag(input, weight, offsets, *arguments, **options)
        return bags(input, weight, *arguments, **options)

    def given_causal(mask, is_causal=None, size=None):
        return bool(is_causal)  # torch would read the mask; the exporter sees what it is

    with mock.patch.object(
        torch.autograd.Function, "apply", classmethod(checked_apply)
    ), mock.patch.object(
        torch.nn.modules.transformer, "_detect_is_causal_mask", given_causal
    ), mock.patch.object(
        torch.nn.functional, "embedding_bag", rows_of_bags
    ), mock.patch.object(
        torch.nn.functional, "gaussian_nll_loss", gaussian_nll
    ), mock.patch.object(
        torch.distributions.Distribution, "_validate_args", False  # it would read all values
    ), mock.patch.object(
        torch.enable_grad, "__enter__", checked_enter
    ), mock.patch.object(
        torch.no_grad, "__enter__", noted_enter
    ), mock.patch.object(
        torch.no_grad, "__exit__", noted_leave
    ), mock.patch.object(
        torch.Tensor, "register_hook", checked_hook
    ):
        yield


def bags(
    input,
    weight,
    max_norm=None,
    norm_type=2,
    scale_grad_by_freq=False,
    mode="mean",
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    """The embedding bag of rows of equal length, as the sum, mean or maximum of an embedding."""
    rows = torch.nn.functional.embedding(
        input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse
    )
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[:, :, None]
    if padding_idx is None:
        return rows.amax(1) if mode == "max" else getattr(rows, mode)(1)
    kept = (input != padding_idx)[:, :, None]
    if mode == "max":
        return torch.where(kept, rows, -torch.inf).amax(1)
    total = (rows * kept).sum(1)
    return total / kept.sum(1).clamp(min=1) if mode == "mean" else total


def gaussian_nll(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """torch.nn.functional.gaussian_nll_loss without its look at the values of `var`."""
    var = torch.as_tensor(var).clamp(min=eps)
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    loss = loss + 0.5 * math.log(2 * math.pi) if full else loss
    return loss if reduction == "none" else getattr(loss, reduction)()


def check_hooks(module):
    """Refuses hooks that a module or a parameter has for gradients."""
    for name, parameter in module.named_parameters():
        if parameter._backward_hooks or getattr(parameter, "_post_accumulate_grad_hooks", None):
            raise ExportError(
                f"'{name}' has a hook that may change its gradient, which graph IR does not have;"
                " remove it before the export"
            )
    for path, child in module.named_modules():
        if child._backward_hooks or child._backward_pre_hooks:
            raise ExportError(
                f"'{path}' ({type(child).__name__}) has a hook for gradients, which graph IR does"
                " not have; remove it before the export"
            )


def check_memory(module):
    """Refuses parameters and buffers that share memory without being one parameter."""
    first = {}
    for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
        if not tensor.numel():
            continue
        other = first.setdefault(tensor.data_ptr(), (name, tensor))
        if other[1] is not tensor and (tensor.requires_grad or other[1].requires_grad):
            raise ExportError(
                f"'{name}' shares memory with the parameter '{other[0]}' without being it: give"
                " both names the same nn.Parameter to tie them, or clone() one of them"
            )


def trained_elsewhere(tensor):
    """Returns whether a constant of a graph is a tensor that wants a gradient."""
    return any(
        type(each) in (torch.Tensor, torch.nn.Parameter)
        and each.requires_grad
        and each.is_leaf
        and each.data_ptr() == tensor.data_ptr()
        for each in gc.get_objects()
    )

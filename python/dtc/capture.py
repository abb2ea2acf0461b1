"""Runs torch.export on a module and its loss, and says what each placeholder of the graph is."""

import contextlib
import inspect
import io
import logging
import re
import traceback
import warnings
from dataclasses import dataclass, field

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.export import Dim, export
from torch.export.graph_signature import InputKind, OutputKind

from dtc.errors import ExportError, is_own, location_of, source_line, without_prefix
from dtc.losses import loss_of
from dtc.ops_batch_norm import MeanOfAllSteps
from dtc.state import Assignments
from dtc.watch import Refused, check_hooks, check_memory, trained_elsewhere, watched


@dataclass
class Captured:
    """The graph of a module and its loss. Placeholders: node -> name of a parameter, buffer or
    input."""

    graph_module: torch.fx.GraphModule
    parameters: dict = field(default_factory=dict)
    buffers: dict = field(default_factory=dict)
    constants: dict = field(default_factory=dict)  # node -> tensor, of buffers too
    inputs: dict = field(default_factory=dict)
    changed: list = field(default_factory=list)  # nodes of buffers that the graph changes

    @property
    def output(self):
        """The node of the loss, which rewriting the graph may have replaced."""
        return next(node for node in self.graph_module.graph.nodes if node.op == "output").args[0][
            -1
        ]


class Wrapper(torch.nn.Module):
    """The module and its loss as one function of tensors in a row."""

    def __init__(self, module, names, model_names, loss, assignments):
        super().__init__()
        self.assignments = assignments
        self.module, self.names, self.model_names, self.loss = module, names, set(model_names), loss

    def forward(self, *tensors):
        given = dict(zip(self.names, tensors))
        output = self.module(
            **{name: value for name, value in given.items() if name in self.model_names}
        )
        if self.loss is not None:
            result = self.loss(
                output,
                **{name: value for name, value in given.items() if name not in self.model_names},
            )
        else:
            result = scalar_of(output)
        self.assignments.write_back()
        return result


def scalar_of(output):
    """Returns the loss among what a module returned: the tensor itself, or the field 'loss'."""
    if not isinstance(output, torch.Tensor):
        output = output["loss"] if hasattr(output, "keys") and "loss" in output.keys() else output
    if not isinstance(output, torch.Tensor):
        raise ExportError(
            f"the module returns {type(output).__name__}, and no loss among it: give loss=, a"
            " function of what the module returns and of further inputs"
        )
    if output.dim():
        raise ExportError(
            f"the module returns a tensor of {output.dim()} dims, which is no loss: give"
            " loss='cross_entropy', another name, or a function of it"
        )
    return output


def forward_names(module):
    """Returns the names of forward's parameters, and whether it takes any keyword."""
    parameters = inspect.signature(module.forward).parameters.values()
    named = [
        p.name
        for p in parameters
        if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY, p.POSITIONAL_ONLY)
    ]
    return named, any(p.kind == p.VAR_KEYWORD for p in parameters)


def named_inputs(module, inputs, loss):
    """Returns name -> example of all inputs, and the names of those that forward takes."""
    names, any_keyword = forward_names(module)
    if not isinstance(inputs, dict):
        inputs = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
        further = loss.names(len(inputs)) if loss is not None else []
        mine = len(inputs) - len(further)
        if mine < 1 or mine > len(names):
            raise ExportError(
                f"there are {len(inputs)} example inputs; forward takes {', '.join(names)}"
                + (f", the loss {', '.join(further)}" if further else "")
                + ": give a dict of them by name"
            )
        inputs = dict(zip(names[:mine] + further, inputs))
        if len(inputs) != mine + len(further):
            raise ExportError(
                "the loss has an input of the same name as forward: rename the one of the loss"
            )
        model_names = names[:mine]
    else:
        further = [] if loss is None else loss.names(None)
        model_names = [
            name for name in inputs if name in names or any_keyword and name not in further
        ]
    for name in inputs:
        if name not in model_names and (loss is None or name not in loss.names(None)):
            raise ExportError(
                f"'{name}' is no parameter of forward, which takes {', '.join(names)}"
                + (
                    ""
                    if loss is None
                    else f", and none of the loss, which takes {', '.join(loss.names(None))}"
                )
            )
    missing = [] if loss is None else [name for name in loss.required() if name not in inputs]
    if missing:
        raise ExportError(
            f"the loss takes '{missing[0]}', which is not among the example inputs"
            f" {', '.join(inputs)}"
        )
    return inputs, model_names


def checked_inputs(inputs):
    """Returns the examples with two samples or more; refuses what is no batch of f32 or
    integers."""
    sizes = {}
    for name, value in inputs.items():
        if not isinstance(value, torch.Tensor):
            raise ExportError(
                f"example input '{name}' is {type(value).__name__}, but a tensor is wanted: set"
                " options in the module, for example with functools.partial or in its constructor"
            )
        if value.dtype not in (torch.float32, torch.int64, torch.int32):
            raise ExportError(
                f"example input '{name}' has {value.dtype}, but float32, int32 or int64 is wanted"
            )
        if value.dim() == 0:
            raise ExportError(
                f"example input '{name}' has no dims, but the first dim of every input is the batch"
            )
        sizes[name] = value.shape[0]
    if len(set(sizes.values())) > 1:
        raise ExportError(
            "the first dim of every input is the batch, but example inputs have "
            + ", ".join(f"{size} ('{name}')" for name, size in sizes.items())
        )
    if 0 in sizes.values():
        raise ExportError("the example inputs have no samples")
    # A tensor that is given twice would be one input of torch.export: each example is a copy.
    return {
        name: torch.cat([value] * 2) if value.shape[0] == 1 else value.detach().clone()
        for name, value in inputs.items()
    }


def capture(module, example_inputs, loss):
    """Exports a module; raises ExportError where torch can't, with the line of the model."""
    if not isinstance(module, torch.nn.Module):
        raise ExportError(
            f"the first argument is {type(module).__name__}, but a torch.nn.Module is wanted"
        )
    check_memory(module)
    check_hooks(module)
    for name, tensor in list(module.named_parameters()) + list(module.named_buffers()):
        if tensor.is_floating_point() and tensor.dtype != torch.float32:
            raise ExportError(
                f"'{name}' has {tensor.dtype}, but graph IR is f32: call module.float() before; dtc"
                " compile --precision bf16 trains in 16 bits"
            )
        if tensor.device.type != "cpu":
            raise ExportError(f"'{name}' is on {tensor.device}; call module.cpu() before")
    loss = loss_of(loss)
    inputs, model_names = named_inputs(module, example_inputs, loss)
    inputs = checked_inputs(inputs)
    assignments = Assignments(Refused)
    wrapper = Wrapper(module, list(inputs), model_names, loss, assignments)
    wrapper.training = module.training
    shapes = {"tensors": tuple({0: Dim("batch", min=1)} for _ in inputs)}
    try:
        with quiet(), watched(), assignments.watched(), MeanOfAllSteps():
            program = export(wrapper, tuple(inputs.values()), dynamic_shapes=shapes, strict=False)
    except ExportError:
        raise
    except Exception as error:
        raise ExportError(explain(module, error)) from error
    return read(program, list(inputs), module)


@contextlib.contextmanager
def quiet():
    """Keeps what torch logs and prints of a failing export off the terminal; the exception has
    it."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(
            io.StringIO()
        ), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def explain(module, error):
    """Returns one line about an exception of torch.export, with the location in the model that raised
    it."""
    paths = {id(child): path for path, child in module.named_modules()}
    location, inside, code = "", "", ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        if is_own(file):
            continue
        owner = frame.f_locals.get("self")
        location = f"{file}:{line}: "
        if id(owner) in paths:
            inside = (
                f"'{paths[id(owner)]}' ({type(owner).__name__}): "
                if paths[id(owner)]
                else f"the module ({type(owner).__name__}): "
            )
        code = (traceback.linecache.getline(file, line) or "").strip()
    what = str(error).strip()
    line = source_line(what)
    if not location and line:
        location, code = f"{line[0]}:{line[1]}: ", line[2].strip()
    location = location or "the loss, or what it reads: "
    if isinstance(error, Refused):
        return f"{location}{inside}{code + ': ' if code else ''}{error}"
    if (
        "data-dependent" in what
        or "Could not guard" in what
        or "Could not extract specialized integer" in what
        or re.search(r"\bu\d+\b", what)
    ):
        return (
            f"{location}{inside}{code + ': ' if code else ''}control flow or a shape depends on the"
            " values of a tensor, which a compiled step can't do; compute both sides and choose by"
            " arithmetic, or move the choice out of forward"
        )
    if "Constraints violated" in what or "specialized" in what:
        return (
            "the module works for one size of the batch only: "
            + " ".join(line.strip() for line in what.splitlines() if "batch" in line)[:300]
            + "; let shapes follow x.shape[0]"
        )
    first = next((line.strip() for line in what.splitlines() if line.strip()), type(error).__name__)
    return f"{location}{inside}torch.export can't trace it: {type(error).__name__}: {first}"


def checked_constant(node, tensor):
    """Returns a tensor that the module or the loss holds without having registered it; refuses one
    that would be trained."""
    reader = next(iter(node.users), node)
    if isinstance(tensor, FakeTensor):
        raise ExportError(
            f"{location_of(reader)}: reads a parameter or buffer by .data, which stops the gradient;"
            " read it as it is, or freeze it with requires_grad=False"
        )
    if trained_elsewhere(tensor):
        raise ExportError(
            f"{location_of(reader)}: reads a parameter {list(tensor.shape)} that module.parameters()"
            " does not have, so that nothing would train it: register it in the module (lists:"
            " nn.ParameterList, nn.ModuleList; of a loss: a module that returns its loss), or"
            " freeze it with requires_grad=False"
        )
    return tensor


def read(program, names, module):
    """Reads the signature of an exported program."""
    captured = Captured(program.graph_module)
    nodes = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    left = list(names)
    for spec in program.graph_signature.input_specs:
        node = nodes[spec.arg.name]
        if spec.kind == InputKind.PARAMETER:
            captured.parameters[node] = without_prefix(spec.target)
        elif spec.kind == InputKind.BUFFER:
            captured.buffers[node] = without_prefix(spec.target)
            captured.constants[node] = (
                program.state_dict if spec.target in program.state_dict else program.constants
            )[spec.target]
        elif spec.kind == InputKind.CONSTANT_TENSOR:
            captured.constants[node] = checked_constant(node, program.constants[spec.target])
        elif spec.kind == InputKind.USER_INPUT:
            captured.inputs[node] = left.pop(0)
        else:
            raise ExportError(
                f"'{spec.target}' is {spec.kind.name}, which graph IR does not have: keep only"
                " tensors in the module"
            )
    outputs = [
        spec for spec in program.graph_signature.output_specs if spec.kind == OutputKind.USER_OUTPUT
    ]
    result = next(node for node in program.graph.nodes if node.op == "output").args[0]
    if len(outputs) != 1 or not isinstance(result[-1], torch.fx.Node):
        raise ExportError(
            "the loss is a constant or more than one tensor; return one tensor without dims"
        )
    shape = captured.output.meta["val"].shape
    if len(shape):
        raise ExportError(
            f"the loss has {len(shape)} dims, but one number is wanted: take its mean or sum"
        )
    return captured

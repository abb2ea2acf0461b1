"""Writes graph IR for the nodes of a graph; ops_*.py have a function for each op of PyTorch."""

import operator

import torch

from dtc import views
from dtc.build import COUPLED, Builder
from dtc.clean import name_of, sizes_of
from dtc.errors import ExportError, Unsupported, module_path, op_name, location_of, without_prefix
from dtc.ir import Batch, Graph, Parameter, Value
from dtc.state import ancestors, observe_changes
from dtc.views import identity

# name of an aten op (or a function that stands for an op) -> function(lower, node); filled by
# lowers().
OPS = {}
# Names of aten ops that only rearrange a tensor, so that constants pass through them.
MOVES = set()


def lowers(*names, moves=False):
    """Registers the function that writes graph IR for ops of these names; each op has one."""

    def register(function):
        for name in names:
            assert name not in OPS, f"{name} is registered twice"
            OPS[name] = function
            if moves:
                MOVES.add(name)
        return function

    return register


REFUSAL = "dtc_refusal"  # in the metadata of an op: why it can't be written as simpler ones
WHOLE_IN_F32 = 1 << 24  # f32, which indices are kept in, holds all whole numbers up to here


class Lowering:
    """Goes through the nodes in order; the problems of all of them are reported at once."""

    def __init__(self, captured, folder, module, statistics="batch"):
        """`statistics`: those of batch norm are of the whole "batch", or of "parts" of it."""
        self.captured, self.folder, self.module = captured, folder, module
        self.statistics, self.observed = statistics, set()  # names of state that an op changes
        self.graph = Graph()
        self.build = Builder(self.graph)
        self.views, self.problems, self.poisoned = {}, {}, set()
        self.index_inputs, self.masks = set(), {}
        self.node, self.of_loss = None, set()  # the node that is lowered; those that the loss depends on
        self.names = canonical_names(module)
        self.declare()

    def declare(self):
        for node, name in self.captured.inputs.items():
            kind = "f32" if node.meta["val"].is_floating_point() else "i32"
            value = Value(sizes_of(node), kind)
            if (
                value.dims[0] != Batch(1)
                or value.has_batch
                and any(isinstance(size, Batch) for size in value.dims[1:])
            ):
                raise ExportError(
                    f"input '{name}' has dims {value.dims}; only the first may be the batch"
                )
            self.graph.inputs.append((name, value))
            self.views[node] = identity(value)
        for name, tensor in self.module.named_parameters():
            self.graph.parameters[name] = Parameter(
                name, tuple(tensor.shape), tensor, not tensor.requires_grad
            )
        persistent = self.module.state_dict(keep_vars=True)
        self.graph.tied = {
            name: first
            for name, first in self.names.items()
            if name != first and name in persistent and first in self.graph.parameters
        }
        for name, tensor in self.module.named_buffers():
            if name in persistent and tensor.dtype == torch.float32:
                self.graph.parameters[name] = Parameter(name, tuple(tensor.shape), tensor, True)

    def parameter(self, name):
        """Returns the view of a parameter or persistent buffer."""
        parameter = self.graph.parameters[self.names[name]]
        if parameter.value is None:
            parameter.value = Value(parameter.shape)
        return identity(parameter.value)

    def state(self, name):
        """Returns the view of a buffer that a step changes; graph IR has it in f32."""
        if name not in self.graph.parameters:
            tensor = dict(self.module.named_buffers())[name]
            self.graph.parameters[name] = Parameter(name, tuple(tensor.shape), tensor, True)
        return self.parameter(name)

    def old_state(self, name):
        """Returns the view of the value that a buffer has before the step, which no gradient reaches."""
        self.build.path = name.rpartition(".")[0]
        value = self.state(self.names[name]).value
        return identity(self.build.emit("detach", [value], value.dims))

    def run(self):
        nodes = list(self.captured.graph_module.graph.nodes)
        self.of_loss = ancestors(self.captured.output)
        for node in nodes:
            if node.op == "placeholder":
                if node in self.captured.parameters:
                    self.views[node] = self.parameter(self.captured.parameters[node])
                elif node in self.captured.changed:
                    self.views[node] = self.old_state(self.captured.buffers[node])
            elif node.op == "call_function" and not self.folder.is_constant(node):
                self.lower(node)
        if not self.problems:
            try:
                self.node = self.captured.output
                self.finish()
                observe_changes(self)
            except Unsupported as problem:
                self.problem(self.node, problem)
        if self.problems:
            self.refuse()
        self.keep_buffers()
        return self.graph

    def keep_buffers(self):
        """Adds persistent buffers of integers and masks that no op reads, so that files have what load_state_dict
        wants; those with numbers that 16 bits do not have, which a run may keep them in, are left out."""
        persistent = self.module.state_dict(keep_vars=True)
        for name, tensor in self.module.named_buffers():
            if (
                name in persistent
                and name not in self.graph.parameters
                and not tensor.is_floating_point()
                and not tensor.is_complex()
                and torch.equal(tensor.bfloat16().to(tensor.dtype), tensor)
            ):
                self.graph.parameters[name] = Parameter(
                    name, tuple(tensor.shape), tensor.float(), True
                )

    def problem(self, node, problem):
        """Notes what is wrong with an op; the same of other places is counted."""
        what = f"{op_name(node)} {problem}"
        self.problems.setdefault(what, []).append(location_of(node))
        self.poisoned.add(node)

    def refuse(self):
        """Raises the error that has all problems, a line each."""
        lines = []
        for what, locations in self.problems.items():
            others = len(set(locations)) - 1
            more = f" (and in {others} other places)" if others > 1 else ""
            more = f" (and at {sorted(set(locations[1:]) - {locations[0]})[0]})" if others == 1 else more
            lines.append(f"{locations[0]}: {what}{more}")
        raise ExportError("\n".join(lines))

    @property
    def for_state(self):
        """Returns whether only state depends on the node that is being lowered: that takes any function of the sums,
        means and maxima over a step, which then has one micro-batch."""
        return self.node not in self.of_loss

    def lower(self, node):
        if isinstance(node.meta.get("val"), (torch.SymInt, int)) and not name_of(node):
            return  # arithmetic on sizes, which shapes have the result of
        name = name_of(node) or getattr(node.target, "__name__", str(node.target))
        function = OPS.get(name)
        self.node = node
        self.build.path = without_prefix(module_path(node)[0])
        try:
            refused = any(argument in self.poisoned for argument in node.all_input_nodes)
            if function is None and not (refused and node.target is operator.getitem):
                raise node.meta.get(REFUSAL) or Unsupported(missing(name))
            if refused:
                self.poisoned.add(node)
                return
            self.check_types(node)
            self.views[node] = function(self, node)
            self.check(node)
        except Unsupported as problem:
            self.problem(node, problem)

    def check_types(self, node):
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor) and value.dtype not in (
            torch.float32,
            torch.int64,
            torch.int32,
            torch.bool,
        ):
            raise Unsupported(
                f"gives {value.dtype}, but graph IR is f32 and i32: leave casts and autocast out,"
                " dtc compile --precision trains in 16 bits"
            )

    def check(self, node):
        """Compares the shape of a view with that of PyTorch."""
        view = self.views[node]
        if isinstance(view, views.View) and view.sizes != sizes_of(node):
            raise AssertionError(
                f"{location_of(node)}: {op_name(node)} has {view.sizes}, PyTorch {sizes_of(node)}"
            )

    def view(self, node):
        """Returns the view of an operand; a constant is written out, where graph IR has it."""
        if node not in self.views or self.folder.is_constant(node):
            return self.constant(node)
        return self.views[node]

    def constant(self, node):
        """Writes a constant: one number repeated, or a buffer of the module, moved about."""
        value = self.folder.value(node)
        if (
            isinstance(value, torch.Tensor)
            and (value.is_floating_point() or value.dtype == torch.bool)
            and value.numel()
            and bool((value == value.flatten()[0]).all())
        ):
            number = self.build.constant(float(value.flatten()[0]))
            dims = tuple(
                (views.Atom(size, repeats=True),) if size != 1 else () for size in sizes_of(node)
            )
            return views.View(number, (), dims)
        if node in self.captured.buffers:
            name = self.captured.buffers[node]
            if name not in self.names or self.names[name] not in self.graph.parameters:
                if value.dtype == torch.bool and name in self.module.state_dict():
                    return self.state(self.names[name])  # a mask of numbers 0 and 1
                raise Unsupported(
                    f"uses the buffer '{name}', which "
                    + (
                        "is none of f32"
                        if not value.is_floating_point()
                        else (
                            "state_dict() does not have: register it with "
                            "persistent=True, so that files keep it"
                        )
                    )
                )
            return self.parameter(name)
        if name_of(node) in MOVES and node.all_input_nodes:
            previous, path = self.node, self.build.path
            self.node = node
            result = OPS[name_of(node)](self, node)
            self.node, self.build.path = previous, path
            return result
        if isinstance(value, torch.Tensor) and value.numel():
            view = self.stated(value, sizes_of(node))
            if view is not None:
                return view
        view = self.computed(node)
        if view is not None:
            return view
        shape = list(value.shape) if isinstance(value, torch.Tensor) else value
        raise Unsupported(
            f"uses a constant tensor {shape} with several values, which graph IR does not have:"
            " make it a buffer of the module (register_buffer) or a parameter with"
            " requires_grad=False"
        )

    def computed(self, node):
        """Writes the op that makes a constant, where graph IR has that and what it reads; None
        elsewhere. It is outside of any layer, so that it is written once."""
        function = OPS.get(name_of(node))
        if function is None or not node.all_input_nodes:
            return None
        previous, path = self.node, self.build.path
        self.node, self.build.path, written = node, "", len(self.graph.ops)
        try:
            self.views[node] = function(self, node)
            self.check(node)
            return self.views[node]
        except Unsupported:
            del self.graph.ops[written:]  # drops operands that could be written
            self.build.forget()
            return None
        finally:
            self.node, self.build.path = previous, path

    def known_indices(self, node, indices):
        """Returns the view of constant indices: what makes them, or a buffer; None where neither
        can be stated."""
        check_exact(indices)
        view = self.stated(indices, sizes_of(node)) or self.computed(node)
        return view or self.index_buffer(node, indices)

    def index_buffer(self, node, indices):
        """Returns the view of constant indices that are a buffer of the module, moved about; None
        where they aren't. A file holds them as numbers in f32, also where a run has 16 bits."""
        root = node
        while name_of(root) in MOVES and root.all_input_nodes:
            root = root.all_input_nodes[0]
        name = self.names.get(self.captured.buffers.get(root, ""))
        if name is None or name not in self.module.state_dict():
            return None
        if name not in self.graph.parameters:
            tensor = self.folder.value(root)
            self.graph.parameters[name] = Parameter(
                name, tuple(tensor.shape), tensor.float(), True
            )
        return self.constant(node)

    def stated(self, value, sizes):
        """Writes a constant of several values outside of any layer, so that it is written once."""
        from dtc.ops_constants import stated  # it uses this module

        path, self.build.path = self.build.path, ""
        try:
            return stated(self, value, sizes)
        finally:
            self.build.path = path

    def finish(self):
        view = self.view(self.captured.output)
        value = self.build.plain(view)
        if not value.total:
            raise Unsupported(
                "gives the loss, which does not depend on the samples by a mean or a sum over the"
                " batch"
            )
        self.graph.loss = value
        length = {value.dims[1] if len(value.dims) > 1 else None for _, value in self.graph.inputs}
        if (
            len(length) == 1
            and None not in length
            and any(value in self.index_inputs for _, value in self.graph.inputs)
        ):
            self.graph.sequence = length.pop()

    def same_samples(self, *values):
        """Refuses to use a mean or sum over the batch for single samples."""
        if any(value.total for value in values) and any(value.has_batch for value in values):
            raise Unsupported(COUPLED)


def check_exact(indices):
    """Refuses constant indices that f32 rounds."""
    if indices.numel() and int(indices.max()) > WHOLE_IN_F32:
        raise Unsupported(
            f"has constant indices up to {int(indices.max())}, which graph IR computes in f32, with"
            f" whole numbers up to {WHOLE_IN_F32}; make the indices an input of forward"
        )


def canonical_names(module):
    """Returns every name of a parameter or buffer -> the first name of the same parameter, or of a
    buffer with the same memory."""
    first, names = {}, {}
    tensors = list(module.named_parameters(remove_duplicate=False)) + list(
        module.named_buffers(remove_duplicate=False)
    )
    for name, tensor in tensors:
        if isinstance(tensor, torch.nn.Parameter):
            key = id(tensor)
        elif tensor.numel():
            key = (tensor.data_ptr(), tuple(tensor.shape), tensor.stride())
        else:
            key = name
        names[name] = first.setdefault(key, name)
    return names


def missing(name):
    """Returns what to say of an op that graph IR does not have."""
    hints = {
        "wrap_with_set_grad_enabled": (
            "is torch.no_grad() around other regions, or around changes in place; use detach"
        ),
        "wrap_with_autocast": (
            "is torch.autocast; leave it out, dtc compile --precision trains in 16 bits"
        ),
        "item": "reads a value; a compiled step can't depend on it",
    }
    return "is not in graph IR yet" + (f": {hints[name]}" if name in hints else "")

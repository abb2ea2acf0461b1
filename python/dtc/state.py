"""Buffers that forward changes: the values that they have at the end of a step are state of the step (graph.observe).

In the graph of torch.export such a buffer is written in place. Its last value becomes an output of the graph in front
of the loss; once graph IR is written, an op of the layer that has the buffer observes it.
"""

import contextlib
from unittest import mock

import torch

from dtc.build import scope_of
from dtc.clean import aliases_of, is_mutable, name_of, replace
from dtc.errors import Unsupported
from dtc.ir import NO_GRADIENT, Op, Value

# Ops by which a value over samples stays linear in them, so that the mean over micro-batches is that of the step.
LINEAR = {"add", "subtract", "scale", "reshape", "transpose", "slice", "detach"}
WEIGHTED = (
    "gives a buffer its next value from a weighted mean over samples, such as one that leaves some out; divide a sum by"
    " a sum instead"
)


class Assignments:
    """While a module is traced, lets forward assign tensors to buffers, which torch.export does not see in every
    module; write_back() writes them in place at the end of forward."""

    def __init__(self, refused):
        """`refused`: the class of the error for an assignment that is no state."""
        self.refused, self.first = refused, {}  # (id of a module, name) -> (module, name, buffer)

    @contextlib.contextmanager
    def watched(self):
        set_attribute = torch.nn.Module.__setattr__

        def assign(module, name, value):
            buffers = module.__dict__.get("_buffers") or {}
            held = buffers.get(name)
            if not isinstance(value, torch.Tensor) or held is None:
                set_attribute(module, name, value)
            elif held is not value:
                if held.shape != value.shape or held.dtype != value.dtype:
                    raise self.refused(
                        f"gives the buffer '{name}' {list(value.shape)} of {value.dtype}, which has"
                        f" {list(held.shape)} of {held.dtype}; a step keeps its shape and type"
                    )
                self.first.setdefault((id(module), name), (module, name, held))
                buffers[name] = value

        with mock.patch.object(torch.nn.Module, "__setattr__", assign):
            try:
                yield
            finally:
                self.put_back()

    def write_back(self):
        """Writes what was assigned to the buffers themselves, so that the graph has it."""
        # A value may be the old one of another buffer, which is written as well.
        assigned = [(held, module._buffers[name].detach().clone()) for module, name, held in self.first.values()]
        self.put_back()
        for held, value in assigned:
            held.copy_(value)

    def put_back(self):
        for module, name, held in self.first.values():
            module._buffers[name] = held
        self.first = {}


def buffer_of(node, captured):
    """Returns the placeholder of the buffer whose memory a node may share, or None."""
    return next((each for each in aliases_of(node) if each in captured.buffers), None)


def find_changes(captured, module):
    """Makes each buffer that an op writes an output of the graph, in front of the loss, so that it has the last value
    once ops in place are ordinary ones. Buffers that only batch norm counts are left to it."""
    graph, persistent = captured.graph_module.graph, module.state_dict(keep_vars=True)
    for node in list(graph.nodes):
        if not is_mutable(node):
            continue
        buffer = buffer_of(node.args[0], captured)
        if buffer is None or buffer in captured.changed:
            continue
        name = captured.buffers[buffer]
        if is_counter(name, module):
            replace(node, node.args[0])  # batch norm counts
            continue
        if name not in persistent:
            continue  # the op is refused
        captured.changed.append(buffer)
    output = next(node for node in graph.nodes if node.op == "output")
    output.args = ((*captured.changed, captured.output),)
    for buffer in captured.changed:
        captured.constants.pop(buffer)


def is_counter(name, module):
    """Returns whether a buffer counts the steps of a batch norm."""
    owner, _, leaf = name.rpartition(".")
    return leaf == "num_batches_tracked" and isinstance(
        module.get_submodule(owner), torch.nn.modules.batchnorm._BatchNorm
    )


def ancestors(node):
    """Returns a node and all that it depends on."""
    found, queue = set(), [node]
    while queue:
        node = queue.pop()
        if node not in found:
            found.add(node)
            queue.extend(node.all_input_nodes)
    return found


def drop_state_stops(captured):
    """Removes what stops gradients on the way to state alone, which has none: graph IR combines sums over samples by
    linear ops."""
    reached = ancestors(captured.output)
    for node in list(captured.graph_module.graph.nodes):
        if name_of(node) == "detach" and node not in reached:
            replace(node, node.args[0])


def observe_changes(lower):
    """Adds the ops that give buffers their next values, to the graph that has all others."""
    output = next(node for node in lower.captured.graph_module.graph.nodes if node.op == "output")
    for buffer, node in zip(lower.captured.changed, output.args[0]):
        if node is buffer:
            continue  # the change was undone
        name = lower.captured.buffers[buffer]
        if lower.names[name] in lower.observed:
            raise Unsupported(f"leaves the buffer '{name}' with two values, under two names")
        lower.observed.add(lower.names[name])
        lower.node, lower.build.path = node, name.rpartition(".")[0]
        value = lower.build.plain(lower.view(node))
        if value.has_batch:
            raise Unsupported(f"gives the buffer '{name}' a value of each sample; keep a mean or a sum")
        if value.total == "weighted":
            raise Unsupported(WEIGHTED)
        state = lower.state(lower.names[name]).value
        insert(lower.graph, state, value, "mean" if is_mean(value) else "last", lower.build.path)


def is_mean(value):
    """Returns whether a value is a mean over samples, by ops that are linear in it."""
    if not value.total:
        return True
    op = value.op
    if op.operands[0].has_batch:
        return op.name == "reduce" and op.attributes["how"] == "mean"
    return op.name in LINEAR and all(is_mean(operand) for operand in op.operands)


def insert(graph, state, value, how, path):
    """Puts an observation where a tensor passes on the way to the loss, in the layer that has the state, so that it
    is part of the layer's block."""
    how = how if value.total else "last"
    at = graph.ops.index(value.op) if value.op is not None else -1
    carrying, scope = values_with_gradient(graph), scope_of(path)

    def passes(op):
        return op.result in carrying and op.name not in NO_GRADIENT

    here = [
        (index, op) for index, op in enumerate(graph.ops) if passes(op) and scope_of(op.path) == scope
    ]
    for index, op in here:
        for x in with_gradient(op) if index > at else ():
            if x.has_batch and x in carrying:
                observe(graph, index, [x, state, value], how, path, graph.ops[index : index + 1])
                return
    for index, op in reversed(here):
        x, rest = op.result, graph.ops[at + 1 :]
        if index <= at and x.has_batch and any(x in with_gradient(each) for each in rest if passes(each)):
            observe(graph, at + 1, [x, state, value], how, path, rest)
            return
    graph.loss = observe(graph, len(graph.ops), [graph.loss, state, value], how, path, [])


def with_gradient(op):
    """Returns the operands of an op to which it passes a gradient."""
    return op.operands[:1] if op.name == "observe" else op.operands[1:] if op.name == "where" else op.operands


def values_with_gradient(graph):
    """Returns the values through which the loss passes a gradient, which takes the values of states with it."""
    found, queue = set(), [graph.loss]
    while queue:
        value = queue.pop()
        if value in found or value.kind != "f32":
            continue
        found.add(value)
        op = value.op
        if op is None or op.name in NO_GRADIENT or value is not op.result:
            continue  # the second result of top_k are places, without a gradient
        queue.extend(with_gradient(op))
    return found


def observe(graph, at, operands, how, path, readers):
    """Inserts the op at a position; `readers` read its result from now on. Returns that."""
    x = operands[0]
    result = Value(x.dims, x.kind, total=x.total)
    op = Op("observe", operands, [result], {"how": how}, path)
    result.op = op
    for each in readers:
        each.operands = [result if value is x else value for value in each.operands]
    graph.ops.insert(at, op)
    return result

"""Writes layers that repeat as blocks: submodules with numbers whose ops are equal, called or
repeated.

A layer is the ops of module path 'h.3'. Two layers are equal where their ops, attributes, shapes
and parameters are, names counted from the layer. A run of equal layers of which each reads the
results of the one before becomes a graph.repeat, and so does one of layers that alternate, whose
block is a period of them; equal layers elsewhere are calls.
"""

from dataclasses import dataclass

from dtc.ir import Op, Value
from dtc.layers import describe, layers_of, numbers_of, with_neighbours
from dtc.runs import block_key, find_runs, repeated
from dtc.shared_work import take_out


@dataclass(eq=False)
class Block:
    """A function of graph IR: arguments, parameters by name below the layer, ops, results.

    A block of several layers, `period` of them, and one that reads parameters of other containers
    have names with the number of the layer, such as 'h.{1:2}.ln.weight'.
    """

    name: str
    arguments: list
    parameters: list  # [(name, [Parameter of each layer])]
    ops: list
    results: list
    container: str
    period: int = 1
    executions: int = 0


def find_blocks(graph):
    """Replaces layers in the graph by calls and repeats; returns the blocks."""
    blocks, claimed = [], set()
    for container in containers(graph):
        taken = runs_of(graph, container, unclaimed(graph, claimed))
        if repeated(taken) < len(layers_of(graph, container, unclaimed(graph, claimed))):
            taken = runs_without_shared(graph, container, claimed, taken)
        if not taken:
            continue
        before = [(op, list(op.operands)) for op in graph.ops]
        made, calls = write_calls(graph, taken, len(blocks))
        if not in_order(graph):
            graph.ops = [op for op, _ in before]
            for op, operands in before:
                op.operands = operands
            for run in taken:
                for layer in run.layers:
                    restore(layer)
            continue
        blocks += made
        claimed.update(calls)
        for run in taken:
            for layer in run.layers:
                for _, parameter in layer.parameters:
                    graph.parameters.pop(parameter.name)
    return blocks


def runs_of(graph, container, ops):
    """Returns the runs of a container's layers, with the ops between layers where more repeat
    then."""
    layers, uses = layers_of(graph, container, ops), graph.uses()
    if len(layers) < 2:
        return []
    for layer in layers:
        describe(uses, layer)
    taken = find_runs(uses, layers)
    if repeated(taken) < len(layers) and (wider := with_neighbours(graph, layers, ops)):
        for layer in wider:
            describe(uses, layer)
        others = find_runs(uses, wider)
        if repeated(others) > repeated(taken):
            return others
    return taken


def unclaimed(graph, claimed):
    """Returns the ops that are in no block."""
    return [op for op in graph.ops if op not in claimed]


def runs_without_shared(graph, container, claimed, taken):
    """Returns the runs of a container's layers without the work that they share, if more repeat
    then, else `taken`."""
    undo = take_out(graph, container, unclaimed(graph, claimed))
    if undo is None:
        return taken
    others = runs_of(graph, container, unclaimed(graph, claimed))
    if repeated(others) > repeated(taken):
        return others
    undo()
    return taken


def restore(layer):
    """Gives the results of a layer's ops their ops back."""
    for op in layer.ops:
        for value in op.results:
            value.op = op


def containers(graph):
    """Returns the paths of modules whose children have numbers, outermost first, in order of
    appearance."""
    found = []
    for op in graph.ops:
        for container, _ in numbers_of(op.path):
            if container not in found:
                found.append(container)
    return sorted(found, key=lambda container: container.count("."))


def write_calls(graph, runs, known):
    """Puts a repeat or a call in place of each run; returns the blocks and these ops."""
    blocks, calls = {}, []
    for run in runs:
        key, first, last = block_key(run), run.layers[0], run.layers[-1]
        carried = run.carried or []
        moving = [position for position, _ in carried]
        order = moving + [
            position for position in range(len(first.inputs)) if position not in moving
        ]
        outputs = [output for _, output in carried] if run.carried else first.outputs
        if key not in blocks:
            name = "block" if known + len(blocks) == 0 else f"block_{known + len(blocks) + 1}"
            blocks[key] = Block(
                name,
                [first.inputs[position] for position in order],
                [(name_of(at, first), []) for at, _ in first.parameters],
                first.ops,
                [first.value(output) for output in outputs],
                first.container,
                first.size,
            )
        block = blocks[key]
        for layer in run.layers:
            block.executions += 1
            for (_, members), (_, parameter) in zip(block.parameters, layer.parameters):
                members.append(parameter)
        random = any(op.name == "dropout" or op.attributes.get("dropout") for op in first.ops)
        operands = [first.inputs[position] for position in order]
        results = [last.value(output) for output in outputs]
        attributes = {
            "callee": block.name,
            "instance": first.index if random and first.index else None,
        }
        if run.carried:
            under = first.container + (".{}" if first.index == 0 else f".{{{first.index}}}")
            attributes.update(
                count=len(run.layers),
                carrying=len(carried) if len(carried) != 1 else None,
                under=under if first.is_own() else None,
            )
            op = Op("repeat", operands, fresh(results), attributes, first.container)
        else:
            op = Op(
                "call",
                operands,
                fresh(results),
                {**attributes, "under": first.prefix},
                first.container,
            )
        for old, new in zip(results, op.results):
            new.op = op
            new.total = old.total
        members = {each for layer in run.layers for each in layer.ops}
        at = graph.ops.index(last.ops[-1])
        graph.ops = (
            [each for each in graph.ops[: at + 1] if each not in members]
            + [op]
            + [each for each in graph.ops[at + 1 :] if each not in members]
        )
        replaced = dict(zip(results, op.results))
        for each in graph.ops:
            if each is not op:
                each.operands = [replaced.get(value, value) for value in each.operands]
        for other in runs:  # layers of later runs read what this one gives
            for layer in other.layers:
                layer.inputs = [replaced.get(value, value) for value in layer.inputs]
        calls.append(op)
    return list(blocks.values()), calls


def name_of(at, layer):
    """Returns what a parameter is called in a block that begins with a layer."""
    return at.tail if layer.is_own() else at.family(layer.index, layer.size)


def fresh(values):
    return [Value(value.dims, value.kind) for value in values]


def in_order(graph):
    """Orders the ops so that each comes after what it reads; returns False where that can't be."""
    given = {value for _, value in graph.inputs} | {
        parameter.value for parameter in graph.parameters.values()
    }
    left, done = list(graph.ops), []
    while left:
        ready = next((op for op in left if all(value in given for value in op.operands)), None)
        if ready is None:
            return False
        left.remove(ready)
        done.append(ready)
        given.update(ready.results)
    graph.ops = done
    return graph.loss in given

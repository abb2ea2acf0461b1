"""Finds layers that repeat: submodules with numbers whose ops are equal become one block, called or
repeated.

A layer is the ops of module path 'h.3'. Two layers are equal where their ops, attributes, shapes
and parameters are, names counted from the layer. A run of equal layers of which each reads the
results of the one before becomes a graph.repeat; equal layers elsewhere calls.
"""

from dataclasses import dataclass, field

from dtc.ir import Op, Value


@dataclass(eq=False)
class Block:
    """A function of graph IR: arguments, parameters by name below the layer, ops, results."""

    name: str
    arguments: list
    parameters: list  # [(relative name, [Parameter of each layer])]
    ops: list
    results: list
    container: str
    executions: int = 0


@dataclass(eq=False)
class Layer:
    container: str
    index: int
    ops: list
    parameters: list  # [(relative name, Parameter)]
    inputs: list = field(default_factory=list)
    outputs: list = field(default_factory=list)  # [(op position, result position)]
    key: object = None

    @property
    def prefix(self):
        return f"{self.container}.{self.index}"

    def value(self, output):
        return self.ops[output[0]].results[output[1]]


def numbers_of(path):
    """Returns (container, index) for each number in a module path, outermost first."""
    parts = path.split(".")
    return [
        (".".join(parts[:at]), int(part)) for at, part in enumerate(parts) if at and part.isdigit()
    ]


def find_blocks(graph):
    """Replaces layers in the graph by calls and repeats; returns the blocks."""
    blocks, claimed = [], set()
    for container in containers(graph):
        free = [op for op in graph.ops if op not in claimed]
        layers = layers_of(graph, container, free)
        if len(layers) < 2:
            continue
        uses = graph.uses()
        for layer in layers:
            describe(uses, layer)
        taken = choose(graph, layers)
        if not taken:
            continue
        before = [(op, list(op.operands)) for op in graph.ops]
        made, calls = write_calls(graph, taken, len(blocks))
        if not in_order(graph):
            graph.ops = [op for op, _ in before]
            for op, operands in before:
                op.operands = operands
            for layer in layers:
                restore(layer)
            continue
        blocks += made
        claimed.update(calls)
        for run in taken:
            for layer in run.layers:
                for _, parameter in layer.parameters:
                    graph.parameters.pop(parameter.name)
    return blocks


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


def layers_of(graph, container, ops):
    """Returns the layers of a container that have ops and parameters, by index."""
    layers = {}
    for op in ops:
        for name, index in numbers_of(op.path):
            if name == container:
                layers.setdefault(index, Layer(container, index, [], [])).ops.append(op)
    uses = graph.uses()
    for layer in layers.values():
        mine = set(layer.ops)
        for name, parameter in graph.parameters.items():
            if name.startswith(layer.prefix + ".") and all(
                user in mine for user in uses.get(parameter.value, [])
            ):
                layer.parameters.append((name.removeprefix(layer.prefix + "."), parameter))
    return [
        layers[index]
        for index in sorted(layers)
        if layers[index].parameters and len(layers[index].ops) > 1
    ]


def describe(uses, layer):
    """Finds what a layer reads and gives, and a key that is equal for equal layers."""
    mine = {op: position for position, op in enumerate(layer.ops)}
    names = {
        parameter.value: name for name, parameter in layer.parameters if parameter.value is not None
    }
    refers, inputs = {}, []
    ops = []
    for position, op in enumerate(layer.ops):
        operands = []
        for value in op.operands:
            if value in names:
                operands.append(("parameter", names[value]))
            elif value in refers:
                operands.append(refers[value])
            else:
                refers[value] = ("input", len(inputs))
                inputs.append(value)
                operands.append(refers[value])
        for result, value in enumerate(op.results):
            refers[value] = ("result", position, result)
        ops.append(
            (
                op.name,
                tuple(operands),
                repr(sorted(op.attributes.items())),
                tuple(value.type for value in op.results),
            )
        )
    layer.inputs = inputs
    layer.outputs = [
        (position, result)
        for position, op in enumerate(layer.ops)
        for result, value in enumerate(op.results)
        if any(user not in mine for user in uses.get(value, []))
    ]
    parameters = tuple(
        (
            name,
            parameter.shape,
            parameter.frozen,
            str(parameter.stored),
            parameter.value.type if parameter.value else None,
        )
        for name, parameter in layer.parameters
    )
    layer.key = (tuple(ops), parameters, tuple(value.type for value in inputs))


@dataclass(eq=False)
class Run:
    """Consecutive layers that one op executes; `carried`: (input position, output) of what goes
    from one to the next."""

    layers: list
    carried: list = None


def choose(graph, layers):
    """Returns the runs of layers that become calls or repeats: those whose block is executed more
    than once."""
    uses, runs, at = graph.uses(), [], 0
    while at < len(layers):
        run, end = Run([layers[at]]), at + 1
        while end < len(layers) and layers[end].index == layers[end - 1].index + 1:
            carried = link(uses, run, layers[end])
            if carried is None:
                break
            run.carried = carried
            run.layers.append(layers[end])
            end += 1
        last = run.layers[-1]
        if len(run.layers) > 1 and not set(last.outputs) <= {output for _, output in run.carried}:
            run.layers.pop()
            end -= 1
            if len(run.layers) == 1:
                run.carried = None
        runs.append(run)
        at = end
    executions = {}
    for run in runs:
        executions.setdefault(block_key(run), []).append(len(run.layers))
    return [run for run in runs if sum(executions[block_key(run)]) > 1]


def block_key(run):
    """Returns what has to be equal for two runs to have one block; a call gives all its outputs."""
    first = run.layers[0]
    return (
        first.key,
        tuple(run.carried) if run.carried else tuple(first.outputs),
        run.carried is None,
    )


def link(uses, run, layer):
    """Returns what a layer carries over from the last one of a run, or None where it is not the
    next of it."""
    last = run.layers[-1]
    if layer.key != last.key or not last.outputs:
        return None
    results = {last.value(output): output for output in last.outputs}
    carried = [
        (position, results[value])
        for position, value in enumerate(layer.inputs)
        if value in results
    ]
    shared = {position for position, _ in carried}
    if any(
        value is not last.inputs[position]
        for position, value in enumerate(layer.inputs)
        if position not in shared
    ):
        return None
    mine = set(layer.ops)
    if {output for _, output in carried} != set(last.outputs) or any(
        user not in mine for value in results for user in uses[value]
    ):
        return None
    if any(layer.inputs[position].type != last.inputs[position].type for position in shared):
        return None
    return carried if run.carried in (None, carried) else None


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
                [(name, []) for name, _ in first.parameters],
                first.ops,
                [first.value(output) for output in outputs],
                first.container,
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
                under=under,
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

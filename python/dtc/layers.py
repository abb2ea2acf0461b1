"""Layers of a graph: the ops of one number of a container, such as 'h.3', with what they read and
give.

Ops of no layer that stand between two layers of a container, such as the sum of `x + layer(x)`, can
be counted to the first of them.
"""

from dataclasses import dataclass, field


@dataclass(eq=False)
class Layer:
    """One layer, or several that follow each other, from number `index` on."""

    container: str
    index: int
    ops: list
    parameters: list = field(default_factory=list)  # [(Place, Parameter)]
    size: int = 1  # the number of layers
    inputs: list = field(default_factory=list)
    outputs: list = field(default_factory=list)  # [(op position, result position)]
    key: object = None

    @property
    def prefix(self):
        return f"{self.container}.{self.index}"

    def value(self, output):
        return self.ops[output[0]].results[output[1]]

    def is_own(self):
        """Returns whether it is one layer, all of whose parameters are under its prefix."""
        return self.size == 1 and all(at.head == self.container for at, _ in self.parameters)

    def is_block(self):
        return bool(self.parameters) and len(self.ops) > 1


@dataclass(frozen=True)
class ParameterPath:
    """The path of a parameter in a layer: 'h.3.ln.weight' is head 'h', offset 3 - index, and tail
    'ln.weight'."""

    head: str
    offset: int
    tail: str

    def family(self, first, step):
        """Returns the name of the parameters of layers that begin at first, first + step ..."""
        number = first + self.offset
        braces = f"{{{number}:{step}}}" if step > 1 else f"{{{number or ''}}}"
        return ".".join(filter(None, (self.head, braces, self.tail)))


def numbers_of(path):
    """Returns (container, index) for each number in a module path, outermost first."""
    parts = path.split(".")
    return [
        (".".join(parts[:at]), int(part)) for at, part in enumerate(parts) if at and part.isdigit()
    ]


def layers_of(graph, container, ops):
    """Returns the layers of a container, in order."""
    layers = {}
    for op in ops:
        for name, index in numbers_of(op.path):
            if name == container:
                layers.setdefault(index, Layer(container, index, [])).ops.append(op)
    ordered = [layers[index] for index in sorted(layers)]
    find_parameters(graph, ordered)
    return ordered


def find_parameters(graph, layers):
    """Gives layers the parameters that no other op reads, and whose names have the layer's
    number."""
    uses, owners = graph.uses(), {}
    for layer in layers:
        layer.parameters = []
        for op in layer.ops:
            owners[op] = layer
    numbered = {(layer.container, layer.index): layer for layer in layers}
    for name, parameter in graph.parameters.items():
        users = {owners.get(user) for user in uses.get(parameter.value, [])}
        numbers = numbers_of(name)
        unused = [numbered[each] for each in numbers if not users and each in numbered]
        owner = users.pop() if len(users) == 1 else unused[0] if unused else None
        if owner is None:
            continue
        same = [each for each in numbers if each[1] == owner.index]
        heads = [head for head, _ in same if head == owner.container] or [head for head, _ in same]
        if heads:
            tail = name.removeprefix(f"{heads[0]}.{owner.index}").removeprefix(".")
            owner.parameters.append((ParameterPath(heads[0], 0, tail), parameter))


def with_neighbours(graph, layers, ops):
    """Returns the layers with the ops of none that follow the start of each and depend on it or on
    what it reads, or None where there are none. The layers are described.

    What follows the last layer may not belong to it: it gets as many ops as the last one that is
    like it.
    """
    position = {op: at for at, op in enumerate(ops)}
    starts = [position[layer.ops[0]] for layer in layers]
    if len(layers) < 2 or starts != sorted(starts):
        return None
    taken = {op for layer in layers for op in layer.ops}
    wider, counts = [], {}
    for at, layer in enumerate(layers):
        is_last = at + 1 == len(layers)
        known = {value for op in layer.ops for value in op.results}
        known |= {value for value in layer.inputs if value.has_batch}
        more = []
        for op in ops[starts[at] : None if is_last else starts[at + 1]]:
            if op not in taken and any(value in known for value in op.operands):
                more.append(op)
                known.update(op.results)
        if is_last:
            more = more[: counts.get(layer.key, 0)]
        counts[layer.key] = len(more)
        wider.append(
            Layer(
                layer.container,
                layer.index,
                sorted(layer.ops + more, key=position.get),
            )
        )
    if not any(counts.values()):
        return None
    find_parameters(graph, wider)
    return wider


def joined(uses, layers):
    """Returns layers that follow each other as one."""
    first = layers[0]
    whole = Layer(
        first.container,
        first.index,
        [op for layer in layers for op in layer.ops],
        [
            (ParameterPath(at.head, layer.index + at.offset - first.index, at.tail), parameter)
            for layer in layers
            for at, parameter in layer.parameters
        ],
        sum(layer.size for layer in layers),
    )
    describe(uses, whole)
    return whole


def describe(uses, layer):
    """Finds what a layer reads and gives, and a key that is equal for equal layers."""
    mine = {op: position for position, op in enumerate(layer.ops)}
    names = {
        parameter.value: at
        for at, parameter in layer.parameters
        if parameter.value is not None
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
            at,
            parameter.shape,
            parameter.frozen,
            str(parameter.stored),
            parameter.value.type if parameter.value else None,
        )
        for at, parameter in layer.parameters
    )
    layer.key = (tuple(ops), parameters, tuple(value.type for value in inputs))

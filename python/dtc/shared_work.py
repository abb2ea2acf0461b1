"""Takes out of layers what all of them compute alike from what lies outside, such as a mask or
T5's relative positions, which its first layer makes: then the layers are equal.
"""

from dtc.ir import Op, Value
from dtc.layers import layers_of
from dtc.tidy import drop_unused


def take_out(graph, container, ops):
    """Moves the work that layers of a container share in front of them; returns a function that
    undoes that, or None where there is none."""
    before = [(op, list(op.operands), op.path) for op in graph.ops]
    outside, same = shared_ops(graph, layers_of(graph, container, ops))
    if not outside:
        return None
    keep_constants(graph, outside)
    parent = container.rpartition(".")[0]
    for op in outside:
        op.path = parent
    for op in graph.ops:
        op.operands = [same.get(value, value) for value in op.operands]
    drop_unused(graph)

    def undo():
        graph.ops = [op for op, _, _ in before]
        for op, operands, path in before:
            op.operands, op.path = operands, path

    return undo


def shared_ops(graph, layers):
    """Returns the ops that several layers have and what these read, and their values -> the equal
    values of the first layer that has them. Layers keep their constants."""
    owners = {op: layer for layer in layers for op in layer.ops}
    fixed, same, first, groups = set(), {}, {}, {}
    moving = set()  # values that depend on layers
    for op in graph.ops:
        if op not in owners:
            if any(value in moving for value in op.operands):
                moving.update(op.results)
            continue
        random = op.name == "dropout" or op.attributes.get("dropout")
        if random or any(value in moving for value in op.operands):
            moving.update(op.results)
            continue
        fixed.add(op)
        operands = tuple(same.get(value, value) for value in op.operands)
        types = tuple(value.type for value in op.results)
        key = (op.name, operands, repr(sorted(op.attributes.items())), types)
        known = first.setdefault(key, op)
        groups.setdefault(known, set()).add(owners[op].index)
        if known is not op:
            same.update(zip(op.results, known.results))
    shared = [op for op, members in groups.items() if len(members) > 1 and reads_other(op, fixed)]
    chosen = closure(fixed, shared)
    results = {value for op in chosen if op.operands for value in op.results}
    return chosen, {value: known for value, known in same.items() if known in results}


def reads_other(op, fixed):
    """Returns whether an op depends on more than constants."""
    return any(value.op not in fixed or reads_other(value.op, fixed) for value in op.operands)


def closure(fixed, ops):
    """Returns ops with those among `fixed` that they depend on."""
    found, left = set(), list(ops)
    while left:
        op = left.pop()
        if op in fixed and op not in found:
            found.add(op)
            left += [value.op for value in op.operands if value.op is not None]
    return found


def keep_constants(graph, outside):
    """Gives ops outside a constant of their own where a layer goes on reading it."""
    uses = graph.uses()
    for op in [op for op in outside if not op.operands]:
        readers = [user for value in op.results for user in uses.get(value, [])]
        if all(user in outside for user in readers):
            continue
        results = [Value(value.dims, value.kind, total=value.total) for value in op.results]
        copy = Op(op.name, [], results, dict(op.attributes), op.path)
        for value in copy.results:
            value.op = copy
        graph.ops.insert(graph.ops.index(op), copy)
        replaced = dict(zip(op.results, copy.results))
        for user in readers:
            if user in outside:
                user.operands = [replaced.get(value, value) for value in user.operands]
        outside.remove(op)
        outside.add(copy)

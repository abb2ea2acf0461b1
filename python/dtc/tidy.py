"""Makes ops of graph IR as a person would write them: weights that have the dims of heads, slices
taken in one op, nothing unused."""

from dtc.build import scope_of
from dtc.ir import Op, Value, elements

GATES = {"silu", "gelu", "relu"}


def tidy(graph):
    changed = True
    while changed:
        changed = merge_reshapes(graph) | split_linear(graph)
        drop_unused(graph)
    slice_tables(graph)
    split_parameters(graph)
    unstack(graph)
    drop_unused(graph)
    delay_gates(graph)
    order_sums(graph)


def drop_unused(graph):
    live, kept = {graph.loss}, []
    for op in reversed(graph.ops):
        if any(value in live for value in op.results):
            live.update(op.operands)
            kept.append(op)
    graph.ops = kept[::-1]


def delay_gates(graph):
    """Moves the activation of a gated unit behind the product that it gates, directly before their product: so the two
    products stand together, as 'dtc import' writes them."""
    uses = graph.uses()
    for op in list(graph.ops):
        readers = uses.get(op.result, []) if op.name in GATES and len(op.results) == 1 else []
        if len(readers) == 1 and readers[0] is not None and readers[0].name == "multiply":
            graph.ops.remove(op)
            graph.ops.insert(graph.ops.index(readers[0]), op)


def order_sums(graph):
    """Writes the older one of two tensors of a sum first, as in 'residual + layer(x)'."""
    made = {value: at for at, op in enumerate(graph.ops) for value in op.results}
    for op in graph.ops:
        if op.name == "add" and op.operands[0].type == op.operands[1].type:
            op.operands.sort(key=lambda value: made.get(value, -1))


def merge_reshapes(graph):
    """Makes one of two reshapes in a row, and none of one that changes nothing."""
    changed = False
    for op in graph.ops:
        if op.name != "reshape":
            continue
        source = op.operands[0].op
        if source is not None and source.name == "reshape":
            op.operands[0] = source.operands[0]
            changed = True
        if op.operands[0].dims == op.result.dims:
            graph.replace(op.result, op.operands[0])
            changed = True
    return changed


def split_linear(graph):
    """Gives a linear layer the dims that its only readers reshape its result to: the dims of heads
    become those of the weight."""
    changed, uses = False, graph.uses()
    parameters = {
        parameter.value for parameter in graph.parameters.values() if parameter.value is not None
    }
    for op in list(graph.ops):
        if op.name != "linear":
            continue
        readers = uses.get(op.result, [])
        lead = op.result.dims[:-1]
        if not readers or any(
            user is None
            or user.name != "reshape"
            or user.result.dims[: len(lead)] != lead
            or len(user.result.dims) <= len(lead) + 1
            for user in readers
        ):
            continue
        shapes = {user.result.dims for user in readers}
        if len(shapes) != 1 or op.result.dims[-1] != elements(next(iter(shapes))[len(lead) :]):
            continue
        out = next(iter(shapes))[len(lead) :]
        weights = op.operands[1:]
        roots = [
            (
                weight.op.operands[0]
                if weight.op is not None and weight.op.name == "reshape"
                else weight
            )
            for weight in weights
        ]
        if any(root not in parameters or len(uses[root]) != 1 for root in roots):
            continue
        matrix = op.operands[1].dims
        wanted = [out + matrix[1:] if op.attributes.get("transposed") else matrix[:-1] + out, out]
        at = graph.ops.index(op)
        for index, (root, dims) in enumerate(zip(roots, wanted)):
            reshape = Op("reshape", [root], [Value(tuple(dims))], {}, op.path)
            reshape.result.op = reshape
            graph.ops.insert(at, reshape)
            op.operands[1 + index] = reshape.result
            at += 1
        op.result.dims = next(iter(shapes))
        changed = True
    return changed


def slice_tables(graph):
    """Takes the first rows of a parameter, such as those of a table of positions, by one slice of it, where they are
    one of equal parts; those that are added stand first, as 'dtc import' writes them."""
    uses = graph.uses()
    for parameter in graph.parameters.values():
        for reshape in uses.get(parameter.value, []):
            readers = uses.get(reshape.result, []) if reshape is not None and reshape.name == "reshape" else []
            if len(readers) != 1 or readers[0] is None or readers[0].name != "slice":
                continue
            part, at = readers[0], readers[0].attributes["dim"]
            dims = reshape.result.dims
            rows = dims[at + 1] if at + 1 < len(dims) else 1
            joined = (*dims[:at], dims[at] * rows, *dims[at + 2 :])
            if part.attributes.get("squeeze") and joined == parameter.value.dims:
                part.operands = [parameter.value]
                start = part.attributes["start"] * rows
                part.attributes = {"dim": at, "start": start, "size": rows}
    tables, uses = {parameter.value for parameter in graph.parameters.values()}, graph.uses()
    first = [
        op
        for op in graph.ops
        if op.name == "slice"
        and op.operands[0] in tables
        and not op.attributes["dim"]
        and not op.attributes["start"]
        and not scope_of(op.path)
        and all(user is not None and user.name == "add" for user in uses.get(op.result, []))
    ]
    graph.ops = first + [op for op in graph.ops if op not in first]


def grouping(shape, dims):
    """Returns which dims make up each dim of a shape, or None where it is no splitting of dims."""
    groups, at = [], 0
    for size in shape:
        group, product = [], 1
        while product < size and at < len(dims):
            group.append(at)
            product *= dims[at]
            at += 1
        if product != size or not group and (at >= len(dims) or dims[at] != 1):
            return None
        if not group:
            group.append(at)
            at += 1
        groups.append(group)
    while at < len(dims) and dims[at] == 1:
        groups[-1].append(at)
        at += 1
    return groups if at == len(dims) else None


def split_parameters(graph):
    """Declares a parameter with the dims that all its readers reshape it to."""
    uses = graph.uses()
    for parameter in graph.parameters.values():
        readers = uses.get(parameter.value, [])
        if not readers or any(user is None or user.name != "reshape" for user in readers):
            continue
        shapes = {user.result.dims for user in readers}
        if len(shapes) != 1:
            continue
        dims = next(iter(shapes))
        groups = grouping(parameter.shape, dims)
        if groups is None:
            continue
        parameter.value.dims, parameter.stored = dims, groups
        for user in readers:
            graph.replace(user.result, parameter.value)


def unstack(graph):
    """Takes all elements of a dim by one op."""
    uses = graph.uses()
    for value, readers in list(uses.items()):
        slices = [
            op
            for op in readers
            if op is not None and op.name == "slice" and op.attributes.get("squeeze")
        ]
        for dim in {op.attributes["dim"] for op in slices}:
            found = {op.attributes["start"]: op for op in slices if op.attributes["dim"] == dim}
            if (
                len(found) == value.dims[dim]
                and len(found) > 1
                and len({op.path for op in found.values()}) == 1
            ):
                pieces = [found[index] for index in range(len(found))]
                at = min(graph.ops.index(op) for op in pieces)
                op = Op(
                    "unstack",
                    [value],
                    [piece.result for piece in pieces],
                    {"dim": dim},
                    pieces[0].path,
                )
                graph.ops = (
                    [each for each in graph.ops[:at] if each not in pieces]
                    + [op]
                    + [each for each in graph.ops[at:] if each not in pieces]
                )
                for result in op.results:
                    result.op = op

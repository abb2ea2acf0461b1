"""Tidies a graph of torch.export: ops that do nothing go, ops in place become ordinary ones, pieces
of a split become slices."""

import contextlib
import operator

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses.fake_tensor import FakeTensor

from dtc.errors import ExportError, Unsupported, op_name, location_of
from dtc.fold import rows_of
from dtc.ir import Batch

aten = torch.ops.aten
DROPPED = {
    "_assert_tensor_metadata",
    "_assert_scalar",
    "sym_constrain_range",
    "sym_constrain_range_for_size",
}
COPIES = {"contiguous", "clone", "alias", "lift_fresh_copy"}
CASTS = {"to", "_to_copy", "type_as"}
WIDE = {torch.int32, torch.int64}
STOPS = "dtc_stops"  # in the metadata of an op in place: what it writes has no gradient
# Ops whose result may be a view of their operand although their schema does not say so.
MAYBE_VIEWS = {"contiguous", "reshape", "to", "flatten", "chunk", "split", "unbind"}


def name_of(node):
    """Returns the name of an aten op without namespace and overload, '' for anything else."""
    if (
        node.op == "call_function"
        and isinstance(node.target, torch._ops.OpOverload)
        and node.target.namespace == "aten"
    ):
        return node.target._opname
    return ""


def bound(node):
    """Returns the arguments of an aten op by name, defaults filled in."""
    schema, found = node.target._schema, {}
    for position, argument in enumerate(schema.arguments):
        if position < len(node.args):
            found[argument.name] = node.args[position]
        else:
            found[argument.name] = node.kwargs.get(argument.name, argument.default_value)
    return found


def sizes_of(node):
    """Returns the shape of a node's tensor: numbers, and Batch(rows)."""
    return tuple(
        Batch(rows_of(size)) if isinstance(size, torch.SymInt) else int(size)
        for size in node.meta["val"].shape
    )


def insert(before, target, *args, **kwargs):
    """Inserts a node at the place of another, with its shape and its metadata."""
    graph = before.graph
    with graph.inserting_before(before):
        node = graph.call_function(target, args, kwargs)
    node.meta = {key: value for key, value in before.meta.items() if key != "val"}
    node.meta["val"] = shape_of(target, args, kwargs)
    return node


def shape_of(target, args, kwargs):
    """Runs an op on tensors that have shapes only, under the mode that they were made in."""

    def value_of(x):
        return x.meta["val"] if isinstance(x, torch.fx.Node) else x

    args, kwargs = (torch.fx.node.map_aggregate(each, value_of) for each in (args, kwargs))
    flat = torch.utils._pytree.tree_leaves((args, kwargs))
    mode = next((x.fake_mode for x in flat if isinstance(x, FakeTensor)), contextlib.nullcontext())
    with mode, enable_python_dispatcher():
        return target(*args, **kwargs)


def replace(node, new):
    node.replace_all_uses_with(new)
    node.graph.erase_node(node)


def clean(captured, folder):
    """Changes the graph of a captured module in place."""
    graph = captured.graph_module.graph
    without_mutation(graph, captured)
    folder.refresh()
    for node in list(graph.nodes):
        name = name_of(node)
        if name in DROPPED and not node.users:
            graph.erase_node(node)
        elif name and not folder.is_constant(node):
            with contextlib.suppress(Unsupported):  # lowering the node reports a bad shape
                clean_node(node, name)
    drop_dead(graph)


def drop_dead(graph):
    """Removes ops that nothing reads; placeholders stay."""
    for node in reversed(list(graph.nodes)):
        if node.op in ("call_function", "get_attr") and not node.users:
            graph.erase_node(node)


def clean_node(node, name):
    if name in COPIES or name in CASTS and node.args[0].meta["val"].dtype == node.meta["val"].dtype:
        replace(node, node.args[0])
    elif name in CASTS and {each.meta["val"].dtype for each in (node, node.args[0])} == WIDE:
        replace(node, node.args[0])  # both are i32; a cast to fewer bits would change values
    elif name in ("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"):
        arguments = bound(node)
        if arguments["p"] == 0 or not arguments["train"]:
            replace(node, node.args[0])
    elif name == "floor":
        draw_samples(node)
    elif name == "slice":
        arguments = bound(node)
        if (
            arguments["start"] in (None, 0)
            and arguments["step"] == 1
            and sizes_of(node) == sizes_of(node.args[0])
        ):
            replace(node, node.args[0])
    elif name == "cat":
        # Empty tensors of one dim, such as a cache that has nothing yet, add nothing.
        parts = [part for part in node.args[0] if sizes_of(part) != (0,)]
        if len(parts) == 1:
            replace(node, parts[0])
        elif len(parts) < len(node.args[0]):
            node.args = (parts, *node.args[1:])
    elif name == "broadcast_tensors":
        for user in list(node.users):
            source, piece = node.args[0][user.args[1]], user.meta["val"]
            replace(
                user,
                (
                    source
                    if sizes_of(source) == sizes_of(user)
                    else insert(user, aten.expand.default, source, list(piece.shape))
                ),
            )
    elif name in (
        "split",
        "chunk",
        "split_with_sizes",
        "unbind",
        "unsafe_chunk",
        "unsafe_split",
        "tensor_split",
    ):
        take_apart(node, name)


def take_apart(node, name):
    """Makes each piece of a split a slice, of an unbind a select."""
    dim = bound(node)["dim"]
    start = 0
    for index, piece in enumerate(node.meta["val"]):
        users = [
            user for user in node.users if user.target is operator.getitem and user.args[1] == index
        ]
        size = 1 if name == "unbind" else piece.shape[dim]
        for user in users:
            replace(
                user,
                (
                    insert(user, aten.select.int, node.args[0], dim, index)
                    if name == "unbind"
                    else insert(user, aten.slice.Tensor, node.args[0], dim, start, start + size)
                ),
            )
        start += size


def is_view(node):
    name = name_of(node)
    if name in MAYBE_VIEWS or node.target is operator.getitem:
        return True
    if not name:
        return False
    aliases = [value.alias_info for value in node.target._schema.returns]
    return any(alias is not None and not alias.is_write for alias in aliases)


def aliases_of(node):
    """Returns all nodes that may share memory with a node."""
    found, queue = {node}, [node]
    while queue:
        at = queue.pop()
        near = [user for user in at.users if is_view(user)] + (
            list(at.all_input_nodes[:1]) if is_view(at) else []
        )
        for other in near:
            if other not in found:
                found.add(other)
                queue.append(other)
    return found


def draw_samples(node):
    """Makes floor(rand + p), which is 1 with probability p and else 0, the op that draws so."""
    total = node.args[0]
    if name_of(total) != "add" or total.kwargs.get("alpha", 1) != 1:
        return
    for number, chance in (total.args[:2], total.args[1::-1]):
        if getattr(number, "op", "") == "call_function" and name_of(number) == "rand":
            if isinstance(chance, (int, float)) and 0 <= chance <= 1:
                with node.graph.inserting_before(node):
                    shape = node.graph.call_function(
                        torch.ops.aten.empty.memory_format, (number.args[0],)
                    )
                shape.meta = dict(number.meta)
                replace(node, insert(node, torch.ops.aten.bernoulli.p, shape, float(chance)))
            return


def without_mutation(graph, captured):
    """Replaces ops in place by ordinary ones, where nothing else reads the memory that they
    change."""
    problems = []
    for node in list(graph.nodes):
        if isinstance(node.target, torch._ops.HigherOrderOperator):
            problems += [line for line in inner_mutation(node, captured) if line not in problems]
        if not is_mutable(node):
            continue
        try:
            make_ordinary(node, captured)
        except Unsupported as problem:
            line = f"{location_of(node)}: {op_name(node)} {problem}"
            if line not in problems:
                problems.append(line)
    if problems:
        raise ExportError("\n".join(problems))


def is_mutable(node):
    return (
        node.op == "call_function"
        and isinstance(node.target, torch._ops.OpOverload)
        and node.target._schema.is_mutable
    )


def inner_mutation(node, captured):
    """Returns the lines of ops under torch.no_grad() that change what is made outside; the graph
    has no users of them."""
    lines = []
    for body in (each for each in node.all_input_nodes if each.op == "get_attr"):
        inner = getattr(captured.graph_module, body.target)
        for each in inner.graph.nodes if isinstance(inner, torch.fx.GraphModule) else ():
            if is_mutable(each) and any(
                other.op == "placeholder" for other in aliases_of(each.args[0])
            ):
                lines.append(
                    f"{location_of(each)}: {op_name(each)} changes a tensor in place under"
                    " torch.no_grad(), which has to be a buffer, outside of torch.enable_grad();"
                    " compute a new tensor"
                )
    return lines


def make_ordinary(node, captured):
    names = {**captured.parameters, **captured.buffers, **captured.inputs}
    written = node.args[0]
    shared = aliases_of(written)
    for other in shared:
        if other in captured.changed:
            continue
        if other in captured.buffers:
            raise Unsupported(
                f"changes the buffer '{names[other]}', which state_dict() does not have: register it"
                " with persistent=True, so that files keep it"
            )
        if other in names:
            raise Unsupported(f"changes '{names[other]}' in place; compute a new tensor")
        if other in captured.constants:
            raise Unsupported("changes a constant in place; compute a new tensor")
    base = node.target._opname.removesuffix("_")
    packet = getattr(torch.ops.aten, base, None) if node.target.namespace == "aten" else None
    overloads = {"float": "p"} if base == "bernoulli" else {}
    overload = overloads.get(node.target._overloadname, node.target._overloadname)
    overload = getattr(packet, overload, None) if packet is not None else None
    if overload is None or overload._schema.is_mutable:
        raise Unsupported("works in place and has no form that doesn't; compute a new tensor")
    order = {each: position for position, each in enumerate(node.graph.nodes)}
    for other in shared - {written, node}:
        if any(order[user] > order[node] for user in other.users):
            from dtc.writes import through_views  # it uses functions that this module has

            if through_views(node, order, shared):
                return
            raise Unsupported(
                "changes in place what another view reads later; compute a new tensor"
            )
    new = insert(node, overload, *node.args, **node.kwargs)
    if node.meta.get(STOPS) and new.meta["val"].is_floating_point():
        new = insert(node, aten.detach.default, new)
    for user in list(written.users):
        if order.get(user, -1) > order[node]:
            user.replace_input_with(written, new)
    replace(node, new)

"""What stops gradients, detach and torch.no_grad(): where none would flow it is removed, around what depends on
inputs, frozen parameters and buffers alone; elsewhere it is an op that has no gradient."""

import operator

import torch

from dtc.clean import STOPS, aliases_of, aten, insert, is_mutable, name_of, replace
from dtc.ir import NO_GRADIENT
from dtc.lower import lowers
from dtc.ops_points import pointwise
from dtc.views import View


def drop_stops(captured, module):
    """Changes the graph of a captured module in place."""
    trained = {name for name, each in module.named_parameters() if each.requires_grad}
    trained |= {
        name
        for name, each in module.named_parameters(remove_duplicate=False)
        if each.requires_grad
    }
    graph, reached = captured.graph_module.graph, set()
    for node in list(graph.nodes):
        depends = any(each in reached for each in node.all_input_nodes)
        if captured.parameters.get(node) in trained:
            reached.add(node)
        elif name_of(node) == "detach":
            if not depends:
                replace(node, node.args[0])
        elif getattr(node.target, "__name__", "") == "wrap_with_set_grad_enabled":
            body = getattr(captured.graph_module, node.args[1].target)
            if any(is_region(each) for each in body.graph.nodes) or changes_others(
                node, body, captured
            ):
                continue  # regions inside, and changes of what are no buffers, are refused
            enabled = bool(node.args[0])
            results = put_in_place(graph, node, body, stops=depends and not enabled)
            if depends and enabled:
                reached.update(results)
        elif depends:
            reached.add(node)


def changes_others(node, body, captured):
    """Returns whether a region changes in place what is made outside of it, and is no buffer."""
    places = [each for each in body.graph.nodes if each.op == "placeholder"]
    outside = dict(zip(places, node.args[2:]))
    return any(
        outside[other] not in captured.buffers
        for each in body.graph.nodes
        if is_mutable(each)
        for other in aliases_of(each.args[0])
        if other in outside
    )


def is_region(node):
    return isinstance(node.target, torch._ops.HigherOrderOperator)


def put_in_place(graph, node, body, stops):
    """Puts the body of torch.no_grad() in its place, and a detach behind each result if it `stops` gradients; returns
    the nodes of the results."""
    operands, mapping = iter(node.args[2:]), {}
    for each in body.graph.nodes:
        if each.op == "placeholder":
            mapping[each] = next(operands)
        elif each.op == "output":
            results = torch.fx.node.map_aggregate(
                each.args[0], lambda old: mapping[old] if isinstance(old, torch.fx.Node) else old
            )
        else:
            with graph.inserting_before(node):
                mapping[each] = graph.node_copy(each, lambda old: mapping[old])
            if stops and is_mutable(each):
                mapping[each].meta[STOPS] = True
    found = []
    for user in list(node.users):
        assert user.target is operator.getitem
        result = results[user.args[1]]
        if stops and result.meta["val"].is_floating_point():
            result = insert(user, aten.detach.default, result)
        found.append(result)
        replace(user, result)
    graph.erase_node(node)
    return found


@lowers("detach")
def detached(lower, node):
    view = lower.view(node.args[0])
    return pointwise(lower, "detach", view) if isinstance(view, View) and view.kind == "f32" else view


def freeze_unreached(graph):
    """Freezes parameters to which the loss passes no gradient: PyTorch's gradient of them is None, and its optimizers
    leave them as they are, without weight decay."""
    reached, queue = set(), [graph.loss]
    while queue:
        value = queue.pop()
        if value in reached:
            continue
        reached.add(value)
        op = value.op
        if op is None or op.name in NO_GRADIENT:
            continue
        queue.extend(op.operands[:1] if op.name == "observe" else op.operands)
    for parameter in graph.parameters.values():
        if parameter.value not in reached:
            parameter.frozen = True

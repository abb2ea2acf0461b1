"""Removes what stops gradients, detach and torch.no_grad(), where no gradient would flow: around
what depends on inputs, frozen parameters and buffers alone."""

import operator

import torch

from dtc.clean import is_mutable, name_of, replace


def drop_stops(captured, module):
    """Changes the graph of a captured module in place. What stops a gradient stays, and is
    refused."""
    trained = {name for name, each in module.named_parameters() if each.requires_grad}
    trained |= {
        name
        for name, each in module.named_parameters(remove_duplicate=False)
        if each.requires_grad
    }
    graph, reached = captured.graph_module.graph, set()
    for node in list(graph.nodes):
        if captured.parameters.get(node) in trained or any(
            each in reached for each in node.all_input_nodes
        ):
            reached.add(node)
        elif name_of(node) == "detach":
            replace(node, node.args[0])
        elif getattr(node.target, "__name__", "") == "wrap_with_set_grad_enabled":
            body = getattr(captured.graph_module, node.args[1].target)
            if not any(is_mutable(each) for each in body.graph.nodes):  # mutation is refused
                put_in_place(graph, node, body)


def put_in_place(graph, node, body):
    """Puts the body of torch.no_grad() in its place."""
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
    for user in list(node.users):
        assert user.target is operator.getitem
        replace(user, results[user.args[1]])
    graph.erase_node(node)

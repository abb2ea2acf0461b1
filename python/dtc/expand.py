"""Writes ops that graph IR does not have as the simpler ops that PyTorch makes of them, such as a
triplet loss, an LSTM or a pixel shuffle, where all of those are known."""

import operator

import torch
from torch._decomp import decomposition_table
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.proxy_tensor import make_fx

from dtc.clean import COPIES, CASTS, DROPPED, name_of
from dtc.errors import Unsupported
from dtc.lower import OPS, REFUSAL
from dtc.recurrent import RECURRENT

# Ops that clean() removes or rewrites.
CLEANED = COPIES | CASTS | DROPPED | {"split", "chunk", "split_with_sizes", "unbind"}
CLEANED |= {"unsafe_chunk", "unsafe_split", "tensor_split", "broadcast_tensors"}
# Ops of which a message says more than that they are unknown, and those that draw numbers.
KEPT = {"detach", "item", "randn_like", "rand_like", "randn", "rand", "normal", "exponential"}


def expand(captured, folder):
    """Changes the graph in place; returns whether it did."""
    graph, changed = captured.graph_module.graph, False
    for node in list(graph.nodes):
        name = name_of(node)
        if not name or name in OPS or name in CLEANED | KEPT or folder.is_constant(node):
            continue
        body = simpler(node)
        if body is not None:
            put_in_place(graph, node, body)
            changed = True
    return changed


SIZES = (torch.SymInt, int)


def is_known(target):
    """Returns whether graph IR has an op of aten, or clean() rewrites it."""
    name = getattr(target, "_opname", "")
    return name in OPS or name in CLEANED


def changes_in_place(target):
    return isinstance(target, torch._ops.OpOverload) and target._schema.is_mutable


def simpler(node):
    """Returns a graph that computes a node of known ops, with a placeholder for each tensor that
    it reads; None where PyTorch has none."""
    leaves, spec = torch.utils._pytree.tree_flatten((node.args, dict(node.kwargs)))
    values = [each.meta.get("val") if isinstance(each, torch.fx.Node) else each for each in leaves]
    tensors = [at for at, value in enumerate(values) if isinstance(value, FakeTensor)]
    if not tensors:
        return None

    def compute(*given):
        for at, value in zip(tensors, given):
            values[at] = value
        args, kwargs = torch.utils._pytree.tree_unflatten(values, spec)
        return RECURRENT.get(node.target, node.target)(*args, **kwargs)

    given = [values[at] for at in tensors]
    table = {
        op: how
        for op, how in decomposition_table.items()
        if not is_known(op) and not changes_in_place(op)
    }
    try:
        with given[0].fake_mode, enable_python_dispatcher(), torch.no_grad():
            # Layers of steps change nothing in place, and keep linear as it is.
            layers = node.target in RECURRENT
            body = make_fx(compute, decomposition_table=table, pre_dispatch=layers)(*given)
            if any(changes_in_place(each.target) for each in body.graph.nodes):
                # Only ops that are not made of others: releases differ in what of those it reaches.
                without = torch.func.functionalize(body, remove="mutations")
                body = make_fx(without, decomposition_table=table)(*given)
    except Unsupported as problem:  # lowering the node reports it
        node.meta[REFUSAL] = problem
        return None
    except Exception:  # whatever an op of PyTorch raises: the node is reported as it is
        return None
    body.graph.eliminate_dead_code()
    varying = set()  # nodes that depend on a tensor; others are constants, whatever their op
    for each in body.graph.nodes:
        if each.op not in ("placeholder", "output", "call_function"):
            return None
        if each.op == "placeholder" or any(before in varying for before in each.all_input_nodes):
            varying.add(each)
        else:
            continue
        if each.op == "call_function" and each.target is not operator.getitem:
            if not is_known(each.target) and not isinstance(each.meta.get("val"), SIZES):
                return None
    body.sources = [leaves[at] for at in tensors]
    return body


def put_in_place(graph, node, body):
    """Replaces a node by the graph that computes it."""
    mapping, sources = {}, iter(body.sources)
    for each in body.graph.nodes:
        if each.op == "placeholder":
            mapping[each] = next(sources)
        elif each.op == "call_function":
            with graph.inserting_before(node):
                new = graph.node_copy(each, lambda old: mapping[old])
            new.meta = {key: value for key, value in node.meta.items() if key != "val"}
            new.meta["val"] = each.meta.get("val")
            mapping[each] = new
        else:
            results = torch.fx.node.map_aggregate(
                each.args[0], lambda old: mapping[old] if isinstance(old, torch.fx.Node) else old
            )
            if isinstance(results, torch.fx.Node):
                node.replace_all_uses_with(results)
            else:
                for user in list(node.users):
                    user.replace_all_uses_with(results[user.args[1]])
                    graph.erase_node(user)
            graph.erase_node(node)

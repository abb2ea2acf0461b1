"""Computes the nodes of a graph that depend on no input and no parameter: masks, positions, tables
of rotary embedding.

Such a node may depend on the size of the batch, as a mask that is expanded to it does. It is
computed for two batches; where all rows are equal it is one row, and where they aren't no op can
use it.
"""

import torch

from dtc.errors import Unsupported

BATCHES = (2, 3)


class Folder:
    def __init__(self, graph_module, values):
        """`values`: what placeholders that are buffers or constants hold."""
        self.module = graph_module
        self.memo = [{node: value for node, value in values.items()} for _ in BATCHES]
        self.given, self.constant, self.values = set(values), {}, {}
        self.refresh()

    def refresh(self):
        """Looks at all nodes anew, after ops that worked in place have become ordinary ones."""
        self.constant = {}
        for node in self.module.graph.nodes:
            self.constant[node] = self.classify(node)

    def classify(self, node):
        if node.op == "placeholder":
            return node in self.given
        if node.op == "get_attr":
            return True
        if node.op != "call_function":
            return False
        if is_batch_size(node):
            return True
        if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
            return False
        if isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable:
            return False
        return all(self.constant.get(argument, False) for argument in node.all_input_nodes)

    def is_constant(self, node):
        """Returns whether a node depends on no input and no parameter; new nodes are looked at
        first."""
        if node not in self.constant:
            self.constant[node] = self.classify(node)
        return self.constant[node]

    def compute(self, node, which):
        memo = self.memo[which]
        if node not in memo:
            if is_batch_size(node):
                memo[node] = BATCHES[which] * rows_of(node.meta["val"])
            elif node.op == "get_attr":
                memo[node] = getattr(self.module, node.target)
            else:

                def resolved(value):
                    return self.compute(value, which) if isinstance(value, torch.fx.Node) else value

                arguments = torch.fx.node.map_aggregate(node.args, resolved)
                keywords = torch.fx.node.map_aggregate(node.kwargs, resolved)
                with torch.no_grad():
                    memo[node] = node.target(*arguments, **keywords)
        return memo[node]

    def value(self, node):
        """Returns the tensor (or number) of a constant node, with size 1 along the batch."""
        if node not in self.values:
            self.values[node] = self.one_row(node)
        return self.values[node]

    def one_row(self, node):
        both = [self.compute(node, which) for which in range(2)]
        if not isinstance(both[0], torch.Tensor):
            if both[0] != both[1]:
                raise Unsupported(
                    "computes with the number of samples; a step may be cut into micro-batches, so"
                    " that it has no such number"
                )
            return both[0]
        shape = getattr(node.meta.get("val"), "shape", both[0].shape)
        for dim, size in enumerate(shape):
            if isinstance(size, torch.SymInt):
                both = [
                    (
                        tensor.narrow(dim, 0, 1)
                        if tensor.stride(dim) == 0
                        or bool((tensor == tensor.narrow(dim, 0, 1)).all())
                        else tensor
                    )
                    for tensor in both
                ]
        if (
            both[0].shape == both[1].shape
            and not any(isinstance(size, torch.SymInt) for size in shape)
            and not torch.equal(both[0], both[1])
        ):
            raise Unsupported(
                "depends on the number of samples of a batch; a step may be cut into micro-batches,"
                " so that it has none"
            )
        if both[0].shape != both[1].shape or not torch.equal(both[0], both[1]):
            raise Unsupported("is another constant for each sample of a batch")
        return both[0]


def is_batch_size(node):
    return node.op == "call_function" and node.target is torch.ops.aten.sym_size.int


def rows_of(size):
    """Returns k of a size that is k times the batch; refuses sizes that depend on it in another way
    or on values."""
    expression = size.node.expr
    symbols = list(expression.free_symbols)
    if len(symbols) != 1 or not str(symbols[0]).startswith("s"):
        raise Unsupported(
            "has a shape that depends on values; dtc compiles for static shapes, so pad to a fixed"
            " size and mask"
        )
    rows = expression / symbols[0]
    if not rows.is_Integer:
        raise Unsupported(
            f"makes a dim of size {expression}, which is no multiple of the batch; keep the samples"
            " of a batch apart"
        )
    return int(rows)

"""Recognises ops by what is computed: RMS norm, GELU, SiLU, rotary embedding, attention, losses
that are written out.

Each function looks at one node and, where the arithmetic that ends there is that of a larger op,
replaces the node by one.
"""

import contextlib
import math

import torch

from dtc.clean import aten, bound, drop_dead, insert, name_of, replace, sizes_of
from dtc.algebra import is_node, near, number_and_node, product, same_product, terms
from dtc.errors import Unsupported
from dtc.ir import Batch
from dtc.ops_attention import mask_kind
from dtc.rotary import RotaryRules
from dtc.sinks import SinkRules


def weighted_mean(x, weights):
    """Stands for graph.weighted_mean in a graph."""
    return (x * weights).sum() / weights.sum()


def counted(targets, ignored):
    """Stands for graph.counted in a graph."""
    return (targets != ignored).float()


class Recogniser(RotaryRules, SinkRules):
    def __init__(self, graph, folder):
        self.graph, self.folder, self.counts = graph, folder, {}

    def run(self):
        rules = (
            self.rms_norm,
            self.gelu,
            self.silu,
            self.rotary_halves,
            self.rotary_pair,
            self.sunk_attention,
            self.attention,
            self.cross_entropy,
            self.binary_cross_entropy,
            self.weighted,
            self.counted,
            self.shifted,
        )
        for rule in rules:
            for node in list(self.graph.nodes):
                if node.op == "call_function" and node.users and not self.folder.is_constant(node):
                    with contextlib.suppress(Unsupported):  # lowering the node reports it
                        rule(node)
            drop_dead(self.graph)

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def constant(self, node):
        return is_node(node) and self.folder.is_constant(node)

    # x * rsqrt(mean(x^2) + e), or x / sqrt(mean(x^2) + e); then a weight.
    def rms_norm(self, node):
        found = self.rms_core(node)
        if found is None:
            return
        x, epsilon = found
        width = sizes_of(x)[-1]
        if isinstance(width, Batch):
            return
        last, weight = node, None
        users = list(node.users)
        if len(users) == 1 and name_of(users[0]) == "mul":
            other = users[0].args[0] if users[0].args[1] is node else users[0].args[1]
            if (
                is_node(other)
                and not self.folder.is_constant(other)
                and sizes_of(other) == (width,)
            ):
                last, weight = users[0], other
        replace(last, insert(last, aten.rms_norm.default, x, [width], weight, epsilon))
        if last is not node:
            drop = node
            if not drop.users:
                self.graph.erase_node(drop)
        self.count("rms_norm")

    def rms_core(self, node):
        pairs = []
        if name_of(node) == "mul":
            pairs = [(a, b, "rsqrt") for a, b in (node.args[:2], node.args[1::-1])]
        elif (
            name_of(node) == "div"
            and len(node.args) == 2
            and not node.kwargs.get("rounding_mode")
        ):
            pairs = [(node.args[0], node.args[1], "sqrt")]
        for x, root, kind in pairs:
            if not is_node(root) or not is_node(x):
                continue
            if name_of(root) == kind:
                inside = root.args[0]
            elif (
                name_of(root) == "pow"
                and not is_node(root.args[1])
                and near(root.args[1], -0.5 if kind == "rsqrt" else 0.5)
            ):
                inside = root.args[0]
            else:
                continue
            shifted = number_and_node(inside, "add")
            if shifted is None or name_of(shifted[1]) != "mean" or not 0 < shifted[0] < 1:
                continue
            mean = bound(shifted[1])
            dims = mean.get("dim") or []
            if [dim % len(sizes_of(x)) for dim in dims] != [len(sizes_of(x)) - 1] or not mean.get(
                "keepdim"
            ):
                continue
            if product(mean["self"]) == (1.0, [x, x]) or same_product(
                product(mean["self"]), (1.0, product(x)[1] * 2), product(x)[0] ** 2
            ):
                return x, shifted[0]
        return None

    # 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) and 0.5 x (1 + erf(x / sqrt(2)))
    def gelu(self, node):
        if name_of(node) not in ("mul", "div"):
            return
        number, factors = product(node)
        for factor in factors:
            one = number_and_node(factor, "add")
            if one is None or not near(one[0], 1) or name_of(one[1]) not in ("tanh", "erf"):
                continue
            rest = (number, [f for f in factors if f is not factor])
            kind, inside = name_of(one[1]), product(one[1].args[0])
            x = self.gelu_operand(kind, inside)
            if x is not None and same_product(rest, product(x), 0.5):
                replace(
                    node,
                    insert(
                        node, aten.gelu.default, x, approximate="none" if kind == "erf" else "tanh"
                    ),
                )
                self.count("gelu")
                return

    def gelu_operand(self, kind, inside):
        if kind == "erf":
            number, factors = inside
            return self.node_of(number / math.sqrt(0.5), factors)
        if not near(inside[0], math.sqrt(2 / math.pi)):
            return None
        for factor in inside[1]:
            parts = terms(factor)
            if len(parts) != 2 or any(sign != 1 for sign, _ in parts):
                continue
            for (_, a), (_, b) in (parts, parts[::-1]):
                others = [f for f in inside[1] if f is not factor]
                cube = product(b)
                if (
                    is_node(a)
                    and not others
                    and same_product(cube, (product(a)[0] ** 3, product(a)[1] * 3), 0.044715)
                ):
                    return a
                if (
                    not is_node(a)
                    and near(a, 1)
                    and len(others) == 1
                    and same_product(cube, (1.0, others * 2), 0.044715)
                ):
                    return others[0]
        return None

    def node_of(self, number, factors):
        """Returns the node that a product stands for, where it is one."""
        if near(number, 1) and len(factors) == 1:
            return factors[0]
        for user in factors[0].users if factors else ():
            if same_product(product(user), (1.0, factors), number) and len(product(user)[1]) == len(
                factors
            ):
                return user
        return None

    # x sigmoid(x), and x sigmoid(c x) = silu(c x) / c
    def silu(self, node):
        if name_of(node) != "mul":
            return
        for x, gate in (node.args[:2], node.args[1::-1]):
            if not is_node(gate) or name_of(gate) != "sigmoid" or not is_node(x):
                continue
            inside = gate.args[0]
            if inside is x:
                replace(node, insert(node, aten.silu.default, x))
            elif product(inside)[1] == product(x)[1] and product(inside)[0] != 0 and product(x)[1]:
                ratio = product(inside)[0] / product(x)[0]
                new = insert(node, aten.silu.default, inside)
                replace(node, insert(node, aten.mul.Tensor, new, 1 / ratio))
            else:
                continue
            self.count("silu")
            return

    # softmax(q k^T scale + mask) v, and the same with cap tanh(q k^T scale / cap) for scores
    def attention(self, node):
        if name_of(node) not in ("matmul", "bmm") or name_of(node.args[0]) not in (
            "softmax",
            "_softmax",
            "dropout",
        ):
            return
        weights, value, dropout = node.args[0], node.args[1], 0.0
        if name_of(weights) == "dropout":
            dropout, weights = bound(weights)["p"], weights.args[0]
            if name_of(weights) not in ("softmax", "_softmax"):
                return
        rank = len(sizes_of(weights))
        if bound(weights)["dim"] % rank != rank - 1 or rank not in (3, 4):
            return
        scores, mask = self.scores(weights.args[0])
        if scores is None:
            return
        number, factors = product(scores)
        cap = None
        if len(factors) == 1 and name_of(factors[0]) == "tanh" and number > 0:
            cap, inside = number, product(factors[0].args[0])
            number, factors = cap * inside[0], inside[1]
        if len(factors) != 1 or name_of(factors[0]) not in ("matmul", "bmm") or number <= 0:
            return
        if cap and mask is not None and not self.is_mask_known(mask, scores):
            return
        q, k = factors[0].args[:2]
        if len({len(sizes_of(each)) for each in (q, k, value)}) != 1:
            return
        k = insert(node, aten.transpose.int, k, -2, -1)
        new = insert(
            node,
            aten.scaled_dot_product_attention.default,
            q,
            k,
            value,
            mask,
            dropout,
            False,
            scale=number,
        )
        if cap:
            new.meta["soft_cap"] = cap
        replace(node, new)
        self.count("attention")

    def is_mask_known(self, mask, scores):
        """Returns whether graph.attention has a constant mask."""
        if not self.constant(mask):
            return False
        queries, keys = sizes_of(scores)[-2:]
        return mask_kind(self.folder.value(mask), queries, keys, False) is not None

    def scores(self, node):
        """Returns (scores, mask or None) of what a softmax reads: a constant mask, or what is added
        to the scores of [batch, heads, queries, keys]."""
        name = name_of(node)
        if name == "masked_fill" and self.constant(node.args[1]) and self.hides(node.args[2]):
            return node.args[0], insert(node, aten.logical_not.default, node.args[1])
        if name == "where" and self.constant(node.args[0]) and self.hides(node.args[2]):
            return node.args[1], node.args[0]
        if name == "add" and len(node.args) == 2 and node.kwargs.get("alpha", 1) == 1:
            for scores, mask in (node.args, node.args[::-1]):
                if self.constant(mask) and is_node(scores):
                    return scores, mask
            for scores, mask in (node.args, node.args[::-1]):
                if is_node(mask) and self.are_scores(scores):
                    return scores, mask
        if name == "baddbmm" and self.constant(node.args[0]):
            arguments = bound(node)
            if arguments["beta"] == 1 and arguments["alpha"] == 1:
                return insert(node, aten.bmm.default, *node.args[1:3]), node.args[0]
        return node, None

    def are_scores(self, node):
        """Returns whether a node is q k^T times a number, [batch, heads, queries, keys]."""
        if not is_node(node) or len(sizes_of(node)) != 4:
            return False
        number, factors = product(node)
        return len(factors) == 1 and name_of(factors[0]) == "matmul" and number > 0

    def hides(self, value):
        if is_node(value):
            if not self.folder.is_constant(value):
                return False
            value = self.folder.value(value)
            value = float(value.max()) if isinstance(value, torch.Tensor) else value
        return value <= -1e4

    # nll_loss(log_softmax(x)) is cross entropy.
    def cross_entropy(self, node):
        if name_of(node) not in ("nll_loss", "nll_loss_nd", "nll_loss2d"):
            return
        arguments = bound(node)
        rows = arguments["self"]
        if (
            not is_node(rows)
            or name_of(rows) not in ("log_softmax", "_log_softmax")
        ):
            return
        rank = len(sizes_of(rows))
        if bound(rows)["dim"] % rank != min(1, rank - 1):
            return
        replace(
            node,
            insert(
                node,
                aten.cross_entropy_loss.default,
                rows.args[0],
                arguments["target"],
                arguments["weight"],
                arguments["reduction"],
                arguments["ignore_index"],
                0.0,
            ),
        )
        self.count("cross_entropy")

    # binary_cross_entropy(sigmoid(x)) is that of logits.
    def binary_cross_entropy(self, node):
        if name_of(node) != "binary_cross_entropy":
            return
        arguments = bound(node)
        shares = arguments["self"]
        if is_node(shares) and name_of(shares) == "sigmoid":
            new = insert(
                node,
                aten.binary_cross_entropy_with_logits.default,
                shares.args[0],
                arguments["target"],
                arguments["weight"],
                None,
                arguments["reduction"],
            )
            replace(node, new)
            self.count("bce_with_logits")

    # sum(x w) / sum(w)
    def weighted(self, node):
        if (
            name_of(node) != "div"
            or len(node.args) != 2
            or node.kwargs.get("rounding_mode")
            or not all(is_node(a) and name_of(a) == "sum" for a in node.args)
        ):
            return
        above, below = (a.args[0] for a in node.args)
        if any(len(sizes_of(a)) for a in node.args) or name_of(above) != "mul":
            return
        for x, weights in (above.args[:2], above.args[1::-1]):
            if (
                is_node(weights)
                and is_node(x)
                and self.root(weights) is self.root(below)
                and elements_of(weights) == elements_of(below)
                and sizes_of(x) == sizes_of(above)
            ):
                with self.graph.inserting_before(node):
                    new = self.graph.call_function(weighted_mean, (x, weights))
                new.meta = dict(node.meta)
                replace(node, new)
                self.count("weighted_mean")
                return

    def root(self, node):
        """Returns what a node is a reshape of."""
        while name_of(node) in ("view", "reshape", "flatten", "unsqueeze", "squeeze") and is_node(
            node.args[0]
        ):
            node = node.args[0]
        return node

    # (targets != c) as numbers
    def counted(self, node):
        if name_of(node) not in ("to", "_to_copy") or not node.meta["val"].is_floating_point():
            return
        compared = node.args[0]
        if (
            name_of(compared) == "ne"
            and not is_node(compared.args[1])
            and int(compared.args[1]) == compared.args[1]
            and not compared.args[0].meta["val"].is_floating_point()
        ):
            with self.graph.inserting_before(node):
                new = self.graph.call_function(counted, (compared.args[0], int(compared.args[1])))
            new.meta = dict(node.meta)
            replace(node, new)

    # Targets that are shifted by padding them with the ignored index, as transformers does: one
    # position less of both.
    def shifted(self, node):
        if name_of(node) != "cross_entropy_loss":
            return
        arguments = bound(node)
        targets = self.root(arguments["target"])
        logits = self.root(arguments["self"])
        if (
            name_of(targets) != "slice"
            or len(sizes_of(logits)) != 3
            or len(sizes_of(arguments["self"])) != 2
        ):
            return
        taken = bound(targets)
        padded = taken["self"]
        if arguments["reduction"] == 0:
            return
        if name_of(padded) not in ("pad", "constant_pad_nd") or list(padded.args[1]) != [0, 1]:
            return
        fill = bound(padded).get("value") or 0
        length = sizes_of(padded.args[0])[-1]
        rank = len(sizes_of(padded))
        if (
            rank != 2
            or taken["dim"] % 2 != 1
            or taken["start"] != 1
            or sizes_of(targets)[1] != length
            or fill != arguments["ignore_index"]
            or sizes_of(logits)[1] != length
        ):
            return
        kept = insert(node, aten.slice.Tensor, logits, 1, 0, length - 1)
        wanted = insert(node, aten.slice.Tensor, padded.args[0], 1, 1, length)
        kept = insert(node, aten.flatten.using_ints, kept, 0, 1)
        wanted = insert(node, aten.flatten.using_ints, wanted, 0, 1)
        replace(
            node,
            insert(
                node,
                aten.cross_entropy_loss.default,
                kept,
                wanted,
                arguments["weight"],
                arguments["reduction"],
                arguments["ignore_index"],
                arguments["label_smoothing"],
            ),
        )
        self.count("shifted targets")


def elements_of(node):
    count = 1
    for size in sizes_of(node):
        count *= size.rows if isinstance(size, Batch) else size
    return count

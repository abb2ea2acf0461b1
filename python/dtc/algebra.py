"""Takes products and sums of a graph of PyTorch apart, so that order and grouping do not matter."""

import torch

from dtc.clean import name_of


def is_node(value):
    return isinstance(value, torch.fx.Node)


def product(node, depth=0):
    """Returns node as (number, [factors]): products, negations, quotients by numbers and small
    powers taken apart."""
    if not is_node(node):
        return float(node), []
    name = name_of(node)
    if depth < 8:
        if name == "mul":
            a, b = product(node.args[0], depth + 1), product(node.args[1], depth + 1)
            return a[0] * b[0], a[1] + b[1]
        if (
            name == "div"
            and not is_node(node.args[1])
            and node.args[1]
            and not node.kwargs.get("rounding_mode")
        ):
            number, factors = product(node.args[0], depth + 1)
            return number / node.args[1], factors
        if name == "neg":
            number, factors = product(node.args[0], depth + 1)
            return -number, factors
        if name in ("pow", "square") and (name == "square" or node.args[1] in (2, 3)):
            number, factors = product(node.args[0], depth + 1)
            power = 2 if name == "square" else int(node.args[1])
            return number**power, factors * power
    return 1.0, [node]


def terms(node):
    """Returns the terms of a sum as nodes or numbers with signs."""
    name = name_of(node) if is_node(node) else ""
    if name in ("add", "sub") and node.kwargs.get("alpha", 1) == 1 and len(node.args) == 2:
        sign = 1 if name == "add" else -1
        return terms(node.args[0]) + [(sign * s, t) for s, t in terms(node.args[1])]
    return [(1, node)]


def near(a, b):
    return abs(a - b) <= 1e-6 * abs(b)


def same_product(a, b, number):
    """Returns whether product a is `number` times product b."""
    return near(a[0], number * b[0]) and sorted(map(str, a[1])) == sorted(map(str, b[1]))


def number_and_node(node, name):
    """Returns (number, other) of a sum of a number and a node, or None."""
    if (
        not is_node(node)
        or name_of(node) != name
        or len(node.args) != 2
        or node.kwargs.get("alpha", 1) != 1
    ):
        return None
    a, b = node.args
    if not is_node(a):
        return float(a), b
    return (float(b), a) if not is_node(b) else None

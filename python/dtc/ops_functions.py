"""Functions of one number: a table of ops of PyTorch that are rows of graph.point, and what a few
small ops compute."""

import math

from dtc.algebra import is_node
from dtc.clean import bound, sizes_of
from dtc.errors import Unsupported
from dtc.lower import lowers
from dtc.ops_moves import take
from dtc.ops_points import binary, floats, point, pointwise, scaled, uniform

SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805

# op of PyTorch -> function of graph.point, and the names of its parameters among the op's
# arguments, or numbers.
FUNCTIONS = {
    "sigmoid": ("sigmoid",),
    "log_sigmoid": ("log_sigmoid",),
    "softplus": ("softplus", "beta", "threshold"),
    "mish": ("mish",),
    "elu": ("elu", "alpha", "scale", "input_scale"),
    "selu": ("elu", SELU_ALPHA, SELU_SCALE, 1.0),
    "leaky_relu": ("leaky_relu", "negative_slope"),
    "hardtanh": ("hardtanh", "min_val", "max_val"),
    "relu6": ("hardtanh", 0.0, 6.0),
    "hardsigmoid": ("hardsigmoid",),
    "hardswish": ("hardswish",),
    "hardshrink": ("hardshrink", "lambd"),
    "softshrink": ("softshrink", "lambd"),
    "threshold": ("threshold", "threshold", "value"),
    "sin": ("sin",),
    "cos": ("cos",),
    "tan": ("tan",),
    "erf": ("erf",),
    "special_erf": ("erf",),
    "log1p": ("log1p",),
    "expm1": ("expm1",),
    "rsqrt": ("rsqrt",),
    "reciprocal": ("reciprocal",),
    "abs": ("abs",),
    "sign": ("sign",),
    "sgn": ("sign",),
    "floor": ("floor",),
    "ceil": ("ceil",),
    "trunc": ("trunc",),
    "fix": ("trunc",),
}


@lowers(*FUNCTIONS)
def function(lower, node):
    name, *parameters = FUNCTIONS[node.target._opname]
    arguments = bound(node)
    values = [arguments[each] if isinstance(each, str) else each for each in parameters]
    return point(lower, name, floats(lower.view(node.args[0])), *values)


@lowers("round")
def rounded(lower, node):
    if bound(node).get("decimals"):
        raise Unsupported("rounds to decimals; multiply, round and divide instead")
    return point(lower, "round", floats(lower.view(node.args[0])))


@lowers("frac")
def fraction(lower, node):
    view = floats(lower.view(node.args[0]))
    return binary(lower, "subtract", view, point(lower, "trunc", view))


@lowers("celu")
def celu(lower, node):
    alpha = bound(node)["alpha"]
    return point(lower, "elu", floats(lower.view(node.args[0])), alpha, 1.0, 1 / alpha)


# Logarithms and powers of other bases.
LOGARITHMS = {"log2": 1 / math.log(2), "log10": 1 / math.log(10)}


@lowers(*LOGARITHMS)
def logarithm(lower, node):
    natural = pointwise(lower, "log", floats(lower.view(node.args[0])))
    return scaled(lower, natural, LOGARITHMS[node.target._opname])


@lowers("exp2", "special_exp2")
def power_of_two(lower, node):
    view = floats(lower.view(node.args[0]))
    return pointwise(lower, "exp", scaled(lower, view, math.log(2)))


@lowers("pow")
def power(lower, node):
    base, exponent = node.args[0], node.args[1]
    if is_node(exponent) and not is_node(base):
        if not 0 < base < math.inf:
            raise Unsupported(f"has the base {base}; graph IR has powers of bases above 0")
        view = floats(lower.view(exponent))
        return pointwise(lower, "exp", scaled(lower, view, math.log(base)))
    if is_node(exponent):
        raise Unsupported(
            "takes a tensor as exponent of a tensor; graph IR has powers by a number and of one:"
            " write (exponent * base.log()).exp() where bases are above 0"
        )
    view = floats(lower.view(base))
    if exponent == 1:
        return view
    if exponent in (2, 3):
        square = binary(lower, "multiply", view, view)
        return square if exponent == 2 else binary(lower, "multiply", square, view)
    if exponent == 0.5:
        return pointwise(lower, "sqrt", view)
    if exponent in (-0.5, -1):
        return point(lower, "rsqrt" if exponent == -0.5 else "reciprocal", view)
    return point(lower, "pow", view, exponent)


@lowers("square")
def square(lower, node):
    view = floats(lower.view(node.args[0]))
    return binary(lower, "multiply", view, view)


@lowers("clamp", "clamp_min", "clamp_max", "clip")
def clamp(lower, node):
    arguments = bound(node)
    low, high = (clamped_to(lower, arguments.get(side)) for side in ("min", "max"))
    low, high = -math.inf if low is None else low, math.inf if high is None else high
    return point(lower, "clamp", floats(lower.view(node.args[0])), low, high)


def clamped_to(lower, side):
    """Returns a bound of clamp as a number, which a constant without dims is, too."""
    if not is_node(side):
        return side
    number = None if sizes_of(side) else uniform(lower, side)
    if number is None:
        raise Unsupported("clamps to a tensor; use torch.maximum and torch.minimum")
    return number


@lowers("glu")
def gated(lower, node):
    """Writes a sigmoid(b) of the halves of a dim."""
    view, dim = floats(lower.view(node.args[0])), bound(node)["dim"] % len(sizes_of(node))
    half = sizes_of(node)[dim]
    a, b = (take(lower, view, dim, start, half) for start in (0, half))
    return binary(lower, "multiply", a, point(lower, "sigmoid", b))

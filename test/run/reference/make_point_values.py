#!/usr/bin/env python3
"""Writes test/unit/codegen/PointValues.inc: values and slopes of the functions of graph.point, as PyTorch has them.

pip install torch==2.8.0
make_point_values.py > test/unit/codegen/PointValues.inc

The points are numbers of f32; values and slopes are computed in f64, and rounded to f32.
"""
import numpy
import torch
import torch.nn.functional as F

# Infinities, large and small numbers, zeros of both signs, ends of pieces and numbers between them.
X = [-torch.inf, -1e4, -100.0, -20.5, -5.0, -3.5, -3.0, -2.5, -1.5, -1.0, -0.75, -0.5, -1e-3, -0.0, 0.0, 1e-3, 0.5,
     0.75, 1.0, 1.5, 2.5, 3.0, 3.5, 6.0, 20.5, 100.0, 1e4, torch.inf, torch.nan]
# Each entry is a function of graph.point, its parameters, and the same of PyTorch.
FUNCTIONS = [
    ("sigmoid", (), torch.sigmoid), ("log_sigmoid", (), F.logsigmoid), ("softplus", (1.0, 20.0), F.softplus),
    ("softplus", (2.0, 3.0), lambda x: F.softplus(x, 2.0, 3.0)), ("softsign", (), F.softsign), ("mish", (), F.mish),
    ("elu", (1.0, 1.0, 1.0), F.elu), ("elu", (0.5, 1.0, 2.0), lambda x: F.celu(x, 0.5)),
    ("elu", (1.6732632423543772, 1.0507009873554805, 1.0), F.selu),
    ("leaky_relu", (0.01,), F.leaky_relu), ("hardtanh", (-1.0, 1.0), F.hardtanh), ("hardtanh", (0.0, 6.0), F.relu6),
    ("hardsigmoid", (), F.hardsigmoid), ("hardswish", (), F.hardswish), ("hardshrink", (0.5,), F.hardshrink),
    ("softshrink", (0.5,), F.softshrink), ("threshold", (0.5, -2.0), lambda x: F.threshold(x, 0.5, -2.0)),
    ("clamp", (-1.0, 0.5), lambda x: x.clamp(-1.0, 0.5)), ("clamp", (-torch.inf, 0.5), lambda x: x.clamp(max=0.5)),
    ("clamp", (0.5, torch.inf), lambda x: x.clamp(min=0.5)), ("clamp", (3.0, 1.0), lambda x: x.clamp(3.0, 1.0)),
    ("sin", (), torch.sin), ("cos", (), torch.cos), ("tan", (), torch.tan), ("erf", (), torch.erf),
    ("log1p", (), torch.log1p), ("expm1", (), torch.expm1), ("rsqrt", (), torch.rsqrt),
    ("reciprocal", (), torch.reciprocal),
    *(("pow", (e,), lambda x, e=e: x ** e)
      for e in (0.0, 0.5, -0.5, 1.0, 2.0, 3.0, -2.0, 7.0, 1.5, 2.75, -1.25, 0.125, 17.0, 18.0, -17.0)),
    ("abs", (), torch.abs), ("sign", (), torch.sign), ("floor", (), torch.floor), ("ceil", (), torch.ceil),
    ("round", (), torch.round), ("trunc", (), torch.trunc),
]


def text(number):
    """Returns a number of f32 as C++ reads it."""
    rounded = numpy.float32(number)
    if numpy.isnan(rounded):
        return "NAN"
    if numpy.isinf(rounded):
        return "INFINITY" if rounded > 0 else "-INFINITY"
    return "-0.0" if rounded == 0 and numpy.signbit(rounded) else f"{float(f'{rounded:.9g}')!r}"


def listed(numbers):
    """Returns a list in lines of 100 columns."""
    lines, line = [], "   "
    for number in numbers:
        if len(line) + len(text(number)) > 97:
            lines.append(line)
            line = "   "
        line += f" {text(number)},"
    return "\n".join([*lines, line.removesuffix(",")])


def main():
    x = torch.tensor(X, dtype=torch.float32).double()
    print("// x, values and slopes of functions as torch " + torch.__version__.split("+")[0] + " has them.")
    print("// Written by test/run/reference/make_point_values.py.")
    print("// clang-format off")
    print("const std::vector<double> xs = {\n" + listed(x.tolist()) + "};")
    print("const std::vector<PointValues> pointValues = {")
    for name, parameters, function in FUNCTIONS:
        leaf = x.clone().requires_grad_()
        y = function(leaf)
        slope, = torch.autograd.grad(y.sum(), leaf)
        print(f'  {{"{name}", {{{", ".join(map(text, parameters))}}}, {{\n{listed(y.tolist())}}}, {{\n'
              f"{listed(slope.tolist())}}}}},")
    print("};\n// clang-format on")


if __name__ == "__main__":
    with numpy.errstate(over="ignore"):
        main()

"""A module with every function, comparison and choice that dtc.export takes, each with a parameter of its own: the
gradient of that parameter has the op's value and its slope. Needs torch."""
import math

import torch
import torch.nn.functional as F
from torch import nn

WIDTH = 4


def shrunk(x):
    return F.hardshrink(x, 1.5) + F.softshrink(x, 0.5)


def kept_rows(x):
    """Returns x where some of a row is large, -1 where all is small, and 0 elsewhere."""
    large, small = (x > 1.5).any(-1, keepdim=True), (x < 1).all(-1, keepdim=True)
    return x * large - small.float()


# Each entry is a function of numbers from -4 to 4.
ANYWHERE = {
    "sigmoid": torch.sigmoid, "log_sigmoid": F.logsigmoid, "softplus": F.softplus,
    "softplus_steep": lambda x: F.softplus(x, 3.0, 5.0), "softsign": F.softsign, "mish": F.mish, "elu": F.elu,
    "elu_flat": lambda x: F.elu(x, 0.3), "selu": F.selu, "celu": lambda x: F.celu(x, 0.7), "leaky_relu": F.leaky_relu,
    "leaky_relu_steep": lambda x: F.leaky_relu(x, 0.3), "hardtanh": F.hardtanh, "relu6": lambda x: F.relu6(2 * x),
    "hardsigmoid": F.hardsigmoid, "hardswish": F.hardswish, "shrink": shrunk, "tanhshrink": F.tanhshrink,
    "threshold": lambda x: F.threshold(x, 0.6, -0.4), "glu": lambda x: F.glu(torch.cat((x, 0.5 * x), -1)),
    "sin": torch.sin, "cos": torch.cos,
    "tan": lambda x: torch.tan(0.3 * x), "erf": torch.erf, "expm1": torch.expm1, "exp2": torch.exp2, "abs": torch.abs,
    "sign": torch.sign, "floor": torch.floor, "ceil": torch.ceil, "round": torch.round, "trunc": torch.trunc,
    "frac": torch.frac, "square": torch.square, "cube": lambda x: x ** 3, "power": lambda x: (0.4 * x) ** 7,
    "base": lambda x: 1.7 ** x, "clamp": lambda x: x.clamp(-0.5, 0.8), "clamp_min": lambda x: x.clamp(min=-0.3),
    "clamp_max": lambda x: x.clamp_max(0.7), "eq": lambda x: (x.round() == 2).float() + x * (x.round() == x.floor()),
    "ne": lambda x: x * (x.round() != 1), "lt": lambda x: x * (x < 0.5), "le": lambda x: x * (x <= -0.5),
    "gt": lambda x: x * (x > x.mean(-1, keepdim=True)), "ge": lambda x: x * (x >= 1),
    "and": lambda x: x * ((x > -1) & (x < 2)), "or": lambda x: x * ((x < -1) | (x > 2)),
    "xor": lambda x: x * ((x < 1) ^ (x > -2)), "not": lambda x: x * ~(x > 1),
    "logical": lambda x: x * torch.logical_or(torch.logical_and(x > 0, x < 1), torch.logical_not(x > -2)),
    "where": lambda x: torch.where(x > 0.5, x * x, x.mean(-1, keepdim=True)),
    "where_number": lambda x: torch.where(x.abs() < 1, x, 0.25) + torch.where(x > 0, 0.5, x),
    "masked_fill": lambda x: x.masked_fill(x < -1, 0.75),
    "masked_softmax": lambda x: torch.softmax(x.masked_fill(x < 0.9 * x.mean(-1, keepdim=True), -math.inf), -1),
    "is_finite": lambda x: x * torch.isfinite(x) + torch.isinf(x) + torch.isnan(x), "any_all": kept_rows,
}
# Each entry is a function of numbers from 1/4 to 8.
POSITIVE = {
    "log1p": torch.log1p, "log2": torch.log2, "log10": torch.log10, "rsqrt": torch.rsqrt,
    "reciprocal": torch.reciprocal, "root": lambda x: x ** 0.5, "inverse_root": lambda x: x ** -0.5,
    "inverse_power": lambda x: x ** -2.0, "fraction": lambda x: x ** 1.3, "inverse_fraction": lambda x: x ** -2.75,
}


class Points(nn.Module):
    def __init__(self):
        super().__init__()
        self.of = nn.ParameterDict({name: nn.Parameter(torch.rand(WIDTH)) for name in (*ANYWHERE, *POSITIVE)})
        self.slope, self.table = nn.PReLU(3), nn.Embedding(5, WIDTH)

    def forward(self, features, tokens):
        """Takes features from 0 to 1 [batch, 3, WIDTH], and tokens [batch, 3] of which 0 does not count."""
        wide = 8 * features - 4
        total = self.slope(wide).square().mean()
        for name, gain in self.of.items():
            x = wide * (1 + gain) if name in ANYWHERE else (4.25 + wide) * (1 + gain)
            y = ANYWHERE[name](x) if name in ANYWHERE else POSITIVE[name](x)
            total = total + 0.1 * (y * (1 + gain)).mean()
        counts = tokens != 0
        pooled = (self.table(tokens) * counts[..., None]).sum(1) / counts.sum(1, keepdim=True).clamp(min=1)
        return total + (pooled * torch.where(tokens[:, :1] >= 2, 1.0, 0.5)).square().mean()

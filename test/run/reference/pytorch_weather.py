"""A forecast of volumes of weather, with kinds of layers that no other module of the tests has."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import weight_norm


class Along(nn.Module):
    """A gated convolution along the places of a volume, with its weight by length and direction."""

    def __init__(self, width):
        super().__init__()
        self.norm, self.mix = nn.LayerNorm(width), weight_norm(nn.Conv1d(width, 2 * width, 3, padding=1))

    def forward(self, x):
        return F.glu(self.mix(self.norm(x).mT), 1).mT


class Among(nn.Module):
    """Attention among places by the cosine of their directions."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.norm = heads, nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.sharpness = nn.Parameter(torch.ones(heads, 1, 1))

    def forward(self, x):
        q, k, v = (each.unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in self.qkv(self.norm(x)).chunk(3, -1))
        scores = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT * self.sharpness
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class Forecast(nn.Module):
    """Volumes [channels, height above ground, rows, columns] and a month, to volumes of another time. Layers of two
    kinds take turns, with gains that a list beside them has; their sums are in forward.
    """

    def __init__(self, width=8, layers=4):
        super().__init__()
        self.start, self.depthwise = nn.Conv3d(2, width, 3, padding=1), nn.Conv3d(width, width, 3, padding=1,
                                                                                 groups=width)
        self.month = nn.Embedding(12, width)
        self.layers = nn.ModuleList(Among(width, 2) if at % 2 else Along(width) for at in range(layers))
        self.gains = nn.ParameterList(nn.Parameter(torch.ones(width)) for _ in range(layers))
        self.up, self.last = nn.ConvTranspose3d(width, width, 2, stride=2), nn.Conv3d(2 * width, 1, (3, 1, 1), padding=(
            1, 0, 0))

    def forward(self, volumes, months):
        fine = F.gelu(self.depthwise(self.start(volumes)))
        x = F.max_pool3d(fine, 2)
        shape = x.shape[2:]
        x = x.flatten(2).mT + self.month(months)[:, None]
        for layer, gain in zip(self.layers, self.gains):
            x = x + gain * layer(x)
        x = self.up(x.mT.unflatten(2, shape))
        return self.last(torch.cat((F.silu(x), fine), 1)) + volumes[:, :1]

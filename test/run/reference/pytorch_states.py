"""A module whose forward changes buffers in every way that modules of users do: counters, moving means, sums, extremes,
an average of weights, a code book that moves to the mean of what is nearest to it.
"""
import torch
from torch import nn
from torch.nn import functional as F


class Watched(nn.Module):
    """A layer that centres its input by a moving mean, and keeps what it has seen: steps, a sum, both extremes."""

    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, width)
        self.register_buffer("centre", torch.zeros(width))
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))
        self.register_buffer("energy", torch.zeros(()))
        self.register_buffer("high", torch.full((width,), -10.0))
        self.register_buffer("low", torch.full((width,), 10.0))
        self.register_buffer("spread", torch.ones(width))

    def forward(self, x):
        self.steps += 1
        y = torch.tanh(self.layer(x - self.centre))
        with torch.no_grad():
            mean, square = y.mean((0, 1)), (y * y).mean((0, 1))
            self.centre.mul_(0.9).add_(mean, alpha=0.1)
            self.energy += (y ** 2).sum()
            self.high.copy_(torch.maximum(self.high, y.amax((0, 1))))
            self.spread = (square - mean * mean).clamp(min=1e-6).sqrt()
        self.low = torch.minimum(self.low, y.detach().amin((0, 1)))
        return x + y / (1.0 + 0.1 * self.steps)


class Codes(nn.Module):
    """Replaces a vector by the nearest of a code book, which moves to the mean of those that chose it."""

    def __init__(self, count, width):
        super().__init__()
        self.register_buffer("book", torch.cos(torch.arange(count * width).float()).view(count, width))
        self.register_buffer("uses", torch.ones(count))
        self.register_buffer("sums", self.book.clone())

    def forward(self, x):
        distance = (self.book ** 2).sum(1) - 2 * x @ self.book.T
        chosen = distance.argmin(-1)
        near = F.embedding(chosen, self.book)
        with torch.no_grad():
            taken = F.one_hot(chosen, self.book.shape[0]).float()
            self.uses.mul_(0.8).add_(taken.sum((0, 1)), alpha=0.2)
            self.sums.mul_(0.8).add_(torch.einsum("btk,btd->kd", taken, x), alpha=0.2)
            self.book.copy_(self.sums / (self.uses + 1e-3)[:, None])
        return x + (near - x).detach(), ((near.detach() - x) ** 2).mean((1, 2))


class Keeping(nn.Module):
    """Watched layers, a code book, and a slow copy of the head that the loss compares with."""

    def __init__(self, width=8, layers=2):
        super().__init__()
        self.inner = nn.Linear(6, width)
        self.layers = nn.ModuleList(Watched(width) for _ in range(layers))
        self.codes = Codes(5, width)
        self.head = nn.Linear(width, 3)
        self.register_buffer("slow", torch.full((3, width), 0.1))

    def forward(self, series, targets):
        x = self.inner(series)
        for layer in self.layers:
            x = layer(x)
        x, commitment = self.codes(x)
        apart = F.linear(x, self.slow) - self.head(x)
        loss = ((self.head(x) - targets) ** 2).mean() + 0.1 * (apart ** 2).mean() + 0.25 * commitment.mean()
        self.slow = torch.lerp(self.slow, self.head.weight.detach(), 0.05)
        return loss


class Counting(nn.Module):
    """State that steps of several micro-batches change: a counter of steps, a moving mean, an average of weights."""

    def __init__(self):
        super().__init__()
        self.first, self.head = nn.Linear(6, 5), nn.Linear(5, 3)
        self.register_buffer("steps", torch.tensor(3))
        self.register_buffer("mean", torch.zeros(5))
        self.register_buffer("slow", torch.full((3, 5), 0.2))

    def forward(self, features, targets):
        x = torch.tanh(self.first(features))
        self.steps.add_(1)
        self.mean = 0.9 * self.mean + 0.1 * x.detach().mean(0)
        self.slow = torch.lerp(self.slow, self.head.weight.detach(), 0.1)
        return ((self.head(x) / self.steps - targets) ** 2).mean()


class Looking(nn.Module):
    """A moving mean behind which only indices of samples come next, through which no gradient passes."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(7, 6)
        self.register_buffer("mean", torch.zeros(6))

    def forward(self, x, tokens):
        self.mean = 0.9 * self.mean + 0.1 * x.detach().mean((0, 1))
        return ((self.table(tokens) + x) ** 2).mean()


STATES = {
    "counting": (Counting, (("features", [6], None), ("targets", [3], None)), None,
                 ("micro_batch=1", "dp=2,micro_batch=1", "dp=2,tp=1,zero=3,micro_batch=1")),
    "keeping": (Keeping, (("series", [7, 6], None), ("targets", [7, 3], None)), None,
                ("dp=2,tp=2", "pp=2", "dp=2,tp=1,zero=3")),
}

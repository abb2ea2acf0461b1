"""Small modules that read or write at indices, select by size, and resize images, for pytorch_small.py."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn import Parameter

ROWS, IMAGE = (6, 8), (3, 4, 6)


class Small(nn.Module):
    """A function of a module with attributes, and an input."""

    def __init__(self, body, **attributes):
        super().__init__()
        self.body = body
        for name, value in attributes.items():
            if isinstance(value, torch.Tensor) and not isinstance(value, Parameter):
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)

    def forward(self, x):
        return (self.body(self, x) ** 2).mean()


def by_size(m, x):
    """The largest numbers of each row and the places of the smallest, as a router uses them."""
    values, places = x.topk(3, -1)
    weights = values.softmax(-1)
    gates = torch.zeros_like(x).scatter(-1, places, weights)
    return gates * m.w + F.one_hot(x.argmin(-1), 8) * x


def sorted_rows(m, x):
    values, order = x.sort(1, descending=True)
    return values * m.w + torch.gather(x * 2, 1, order) + x.sort()[0] + x.argsort(-1) * 0.1


def of_the_last(m, x):
    """The row of each sample at a place that depends on it."""
    rows = torch.arange(x.shape[0])
    places = [(x[:, :, at] > 0).sum(-1) - 3 for at in range(8)]  # from the end where below 0
    return sum(x[rows, place.clamp(max=2)] * m.w[0] * (at + 1) for at, place in enumerate(places))


def relative(m, x):
    """A bias by distance, as a table looked up by constant indices that a buffer holds."""
    return x[:, :, :6] @ m.table[m.places.view(-1)].view(6, 6, 2).permute(2, 0, 1)[0] + m.table[m.places][:, 0].sum(1)


def positions(m, x):
    """Positions that count what is no padding, as of RoBERTa."""
    mask = x[:, :, 0] > -0.5
    return x + m.table((mask.cumsum(1).type_as(mask.long()) * mask).long() + 1)


def counted(m, x):
    """Arithmetic of integers: rows and columns of places, and what wraps around."""
    place = (x * 9).abs().long().clamp(max=40)
    row, column = place // 7, place % 5
    row = (row + 2 - column * 3).clamp(0, 5)
    thirds = torch.div(place, 3, rounding_mode="trunc") + place / 3
    return x.gather(1, row) * m.w + thirds + torch.maximum(row, column)


def of_dims(m, x):
    largest, smallest = x.max(1), x.min(-1, keepdim=True)
    return largest.values * m.w[0] + largest.indices + (smallest[0] - smallest.indices).sum(1)


def added(m, x):
    places = (x * 2).abs().floor().clamp(max=5).long()
    sums = torch.zeros_like(x).scatter_add(1, places, x)
    return sums * m.w + (x + 0.5).index_add(1, torch.tensor([3, 0, 3]), x[:, 1:4], alpha=2)


def written(m, x):
    """Written at places that differ, of a source with the shape of the places, as gradients of PyTorch need it."""
    rows = (x * 2).scatter(1, x.topk(2, 1)[1], m.w[:2].expand(x.shape[0], 2, 8))
    return rows + x.scatter(2, x.argsort(2)[:, :, :3], 5.0)


def taken(m, x):
    columns = torch.tensor([7, 0, 0, 3, 5])
    picked = x.index_select(2, columns) * x[:, :, torch.tensor([-1, 2, 2, 4, 0])]
    return picked * m.w[:, :5] + x[:, [3, 1, 1]].sum(1, keepdim=True)[..., :5]


def resized(**options):
    def body(m, x):
        return F.interpolate(x, **options) * 1.5
    return Small(body)


def padded(pads, mode, **options):
    def body(m, x):
        y = F.pad(x, pads, mode=mode, **options)
        return y * torch.arange(1.0, y.shape[-1] + 1)
    return Small(body)


DISTANCES = torch.arange(6)[:, None] - torch.arange(6)[None, :] + 5
CASES = {
    "selection by size": (Small(by_size, w=Parameter(torch.randn(6, 8))), ROWS),
    "sorted": (Small(sorted_rows, w=Parameter(torch.randn(6, 8))), ROWS),
    "the last row of each sample": (Small(of_the_last, w=Parameter(torch.randn(6, 8))), ROWS),
    "a table of distances": (Small(relative, table=Parameter(torch.randn(11, 2)), places=DISTANCES), ROWS),
    "a table of far places": (Small(relative, table=Parameter(torch.randn(901, 2)), places=DISTANCES * 90), ROWS),
    "computed positions": (Small(positions, table=nn.Embedding(9, 8, padding_idx=1)), ROWS),
    "integers": (Small(counted, w=Parameter(torch.randn(6, 8))), ROWS),
    "extremes of a dim": (Small(of_dims, w=Parameter(torch.randn(6, 8))), ROWS),
    "written at indices": (Small(written, w=Parameter(torch.randn(6, 8))), ROWS),
    "added at indices": (Small(added, w=Parameter(torch.randn(6, 8))), ROWS),
    "constant indices": (Small(taken, w=Parameter(torch.randn(6, 8))), ROWS),
    "gathered from some rows": (Small(lambda m, x: x.gather(2, (x[:, :4, :3] > 0).long() * 5) * m.w,
                                      w=Parameter(torch.randn(4, 3))), ROWS),
    "every second": (Small(lambda m, x: torch.cat((x[:, 0::2], x[:, 1::2]), -1) * m.w + x[:, ::2, 3::2].sum(
        -1, keepdim=True) + x[:, 1::4, 2::3].sum((1, 2), keepdim=True), w=Parameter(torch.randn(3, 16))), ROWS),
    "the third of four": (Small(lambda m, x: x[:, -2::-1 * -5] * m.w, w=Parameter(torch.randn(1, 8))), ROWS),
    "flipped": (Small(lambda m, x: x.flip(1, 2) * m.w, w=Parameter(torch.randn(6, 8))), ROWS),
    "the largest of two": (Small(lambda m, x: torch.max(x, m.w) + torch.min(x * 2, m.w) * m.w.max(), w=Parameter(
        torch.randn(6, 8))), ROWS),
    "pixels interpolated": (resized(size=(7, 9), mode="bilinear"), IMAGE),
    "pixels interpolated by factors": (resized(scale_factor=(1.5, 0.5), mode="bilinear"), IMAGE),
    "corners aligned": (resized(size=(7, 1), mode="bilinear", align_corners=True), IMAGE),
    "rows interpolated": (resized(size=5, mode="linear"), ROWS),
    "pixels between pixels": (resized(size=(6, 9), mode="nearest"), IMAGE),
    "fewer pixels": (resized(size=(3, 2), mode="nearest"), IMAGE),
    "means of uneven windows": (Small(lambda m, x: F.adaptive_avg_pool2d(x, (3, 4))), IMAGE),
    "means of even windows": (Small(lambda m, x: F.adaptive_avg_pool1d(x, 4)), ROWS),
    "ends mirrored": (padded((2, 3, 1, 0), "reflect"), IMAGE),
    "ends repeated": (padded((2, 7), "replicate"), ROWS),
    "ends joined": (padded((2, 3, 1, 2), "circular"), IMAGE),
    "padded with a number": (padded((2, 3, 0, 1), "constant", value=-2.5), IMAGE),
}


def path(m, x):
    """Drops whole samples, as timm does."""
    kept = x.new_empty((x.shape[0],) + (1,) * (x.ndim - 1)).bernoulli_(0.8)
    return x * m.w + (x * 2) * kept.div_(0.8)


def path_by_floor(m, x):
    """Drops whole samples, as transformers does."""
    kept = 0.75 + torch.rand((x.shape[0],) + (1,) * (x.ndim - 1), dtype=x.dtype, device=x.device)
    kept.floor_()
    return x * m.w + x.div(0.75) * kept


class Dropping(nn.Module):
    """A layer that drops numbers of what all layers read, and scales the rest by what the first layer makes."""

    def __init__(self, is_first):
        super().__init__()
        self.mix, self.drop = nn.Linear(8, 8), nn.Dropout(0.2)
        self.gain = Parameter(torch.randn(8)) if is_first else None

    def forward(self, x, start, gain):
        gain = self.gain.tanh() if gain is None else gain
        return x + self.mix(x.tanh()) * self.drop(start) * torch.exp(gain), gain


def dropped(m, x):
    start, gain = torch.sin(x), None
    for layer in m.layers:
        x, gain = layer(x, start, gain)
    return x


def dropped_nothing(m, x):
    start, gain = torch.sin(x) / 0.8, m.layers[0].gain.tanh()
    for layer in m.layers:
        x = x + layer.mix(x.tanh()) * start * torch.exp(gain)
    return x


# Each entry is a module that draws at random, the same where all is kept, and the shapes of what is drawn for.
KEPT = {
    "a path dropped": (Small(path, w=Parameter(torch.randn(6, 8))), lambda m, x: x * m.w + x * 2 / 0.8, [(1, 1)]),
    "a path dropped by floor": (Small(path_by_floor, w=Parameter(torch.randn(6, 8))),
                                lambda m, x: x * m.w + x / 0.75, [(1, 1)]),
    "channels dropped": (Small(lambda m, x: m.a(x[..., None]) * m.w[..., None], a=nn.Dropout2d(0.2), w=Parameter(
        torch.randn(6, 8))), lambda m, x: x[..., None] / 0.8 * m.w[..., None], [(6, 1, 1)]),
    "layers that drop": (Small(dropped, layers=nn.ModuleList(Dropping(is_first) for is_first in (True, False, False))),
                         dropped_nothing, [(6, 8)] * 3),
    "a coin for each number": (Small(lambda m, x: x + m.w * torch.bernoulli(torch.full_like(x, 0.5)), w=Parameter(
        torch.randn(6, 8))), lambda m, x: x + m.w, [(6, 8)]),
}

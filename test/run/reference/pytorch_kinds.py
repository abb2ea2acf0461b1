"""Small modules of kinds that users build, for pytorch_small.py: parametrizations, recurrent cells, graph networks,
positions, losses of pairs, bags, teachers, and layers that alternate."""
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn import Parameter
from torch.nn.utils import parametrizations

ROWS, IMAGE = (6, 8), (4, 8, 8)


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
        y = self.body(self, x)
        return (y ** 2).mean() if y.dim() else y


def lists(count, make):
    return nn.ModuleList(make() for _ in range(count))


def frozen(module):
    return module.requires_grad_(False)


def noised(m, x):
    """What a diffusion model learns from: images with noise by a time step of each sample, and its embedding."""
    times = (x[:, 0, 0] * 50).abs().long().clamp(max=99)
    kept = m.kept[times][:, None, None]
    angles = times[:, None].float() * torch.exp(-math.log(100) * torch.arange(4) / 4)
    return m.mix(kept.sqrt() * x + (1 - kept).sqrt()) + m.time(torch.cat([angles.sin(), angles.cos()], -1))[:, None]


def attend_near(m, x):
    """A graph attention network: scores of pairs of nodes, of which a mask keeps some."""
    h = m.mix(x)
    scores = F.leaky_relu((h @ m.a[:8])[:, :, None] + (h @ m.a[8:])[:, None, :], 0.2).masked_fill(~m.near, -1e9)
    return F.elu(scores.softmax(-1) @ h)


def turned_in_pairs(m, x):
    """Rotary embedding of pairs side by side, by angles that no buffer holds."""
    angles = torch.arange(6.0)[:, None] / 10000 ** (torch.arange(0, 8, 2).float() / 8)
    a, b = m.mix(x)[..., 0::2], m.mix(x)[..., 1::2]
    turned = [a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()]
    return torch.stack(turned, -1).flatten(-2)


def turned_by_table(m, x):
    a, b = x.chunk(2, -1)
    return m.mix(x) * m.angles.cos() + torch.cat((-b, a), -1) * m.angles.sin()


def biased_by_distance(m, x):
    """Scores with a bias of each distance, looked up at ids that are computed from no input."""
    apart = (torch.arange(6)[None] - torch.arange(6)[:, None]).clamp(-3, 3) + 3
    return (x @ m.mix(x).mT + m.table(apart).permute(2, 0, 1)[0]).softmax(-1) @ x


def cells(m, x):
    h = c = g = torch.zeros(x.shape[0], 6)
    for at in range(x.shape[1]):
        h, c = m.lstm(x[:, at], (h, c))
        g = m.gru(h, g)
    return g


def cells_without_bias(m, x):
    h = c = g = r = torch.ones(x.shape[0], 6)
    for at in range(x.shape[1]):
        h, c = m.lstm(x[:, at], (h, c))
        g, r = m.gru(h, g), m.relu(c, m.tanh(x[:, at], r))
    return g + r


def projected(m, x):
    """An LSTM whose states have a first value that is trained; torch.export 2.8 has a wrong shape of its last one."""
    return m.mix(x, (m.h.expand(-1, x.shape[0], -1), m.c.expand(-1, x.shape[0], -1)))[0]


def pairs(m, x):
    """Products of all pairs of rows, of which those below the diagonal are kept."""
    products = m.mix(x) @ x.mT
    return products[:, m.at[0], m.at[1]]


def against_means(m, x):
    """Each series without its mean and scale, which the gradient does not see: they depend on the input alone."""
    mean, scale = x.mean(1, keepdim=True).detach(), x.var(1, keepdim=True).sqrt().detach()
    return m.mix((x - mean) / scale * m.gain) * scale + mean


def taught(m, x):
    with torch.no_grad():
        wanted = m.teacher(x)
    return F.kl_div(m.mix(x).log_softmax(-1), wanted.softmax(-1), reduction="batchmean")


def quantised(m, x):
    """What a VQ-VAE learns from: the nearest of its codes, through which the gradient goes straight."""
    h = m.mix(x)
    nearest = (h[:, :, None] - m.codes).square().sum(-1).argmin(-1)
    code = m.codes[nearest]
    passed = h + (code - h).detach()
    return F.mse_loss(m.out(passed), x) + F.mse_loss(code, h.detach()) + 0.25 * F.mse_loss(h, code.detach())


def alike(m, x):
    """What SimSiam learns from: each view of a sample predicts the other, which learns nothing from it."""
    a, b = m.mix(x[:, 0]), m.mix(x[:, 1])
    return 1 - (F.cosine_similarity(m.out(a), b.detach()) + F.cosine_similarity(m.out(b), a.detach())).mean() / 2


def self_weighted(m, x):
    """A loss whose weights are numbers of the model that stand still; a head that nothing trains."""
    y = m.mix(x)
    with torch.no_grad():
        weights = 1 + (m.out(y) - y).abs().sigmoid()
    return (weights * y ** 2).mean() + (y * (m.still > 0)).mean()


def of_bags(m, x):
    ids = (x * 9).abs().long().clamp(max=9)[:, :, 0]
    return m.largest(ids) + m.means(ids) + m.sums(ids, per_sample_weights=x[:, :, 1])


def by_vectors(m, x):
    return (m.w @ x.mT @ m.v[:6] * (x @ m.v).sum(1)[:, None]) + (m.v @ m.v) * x[:, 0] @ m.w


def rendered(m, x):
    """Transmittance along rays, as of NeRF."""
    opacity = 1 - torch.exp(-F.softplus(m.mix(x)))
    seen = torch.cumprod(torch.cat([torch.ones_like(opacity[:, :1]), 1 - opacity], 1), 1)[:, :-1]
    return opacity * seen


def norms(m, x):
    y = m.mix(x)
    return F.normalize(y, dim=-1) + y.norm(dim=1, keepdim=True) + torch.linalg.vector_norm(
        y, 1, 2, keepdim=True) + F.normalize(y, math.inf, 2)


def beside(m, x):
    """A residual stream whose sums are outside of the layers, which two lists and a list of gains hold."""
    for mix, inner, gain in zip(m.first, m.second, m.gains):
        x = x + gain * torch.tanh(mix(x))
        x = x + inner(x)
    return m.mix(x)


def every_third(m, x):
    """Layers of which every third one reads the input, too."""
    start, x = x, m.mix(x)
    for at, layer in enumerate(m.layers):
        x = x + torch.tanh(layer(x if at % 3 < 2 else torch.cat((x, start), -1)))
    return m.mix(x)


def lowered(m, x):
    """Adapters of low rank beside frozen layers."""
    for base, a, b in zip(m.bases, m.a, m.b):
        x = torch.tanh(base(x) + 2.0 * (x @ a.T @ b.T))
    return m.mix(x)


class Sequences(nn.Module):
    """The stacks of torch.nn that put the sequence first."""

    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0)
        self.encoder = nn.TransformerEncoder(layer, 3, norm=nn.LayerNorm(8))
        self.mix = nn.MultiheadAttention(8, 2, add_bias_kv=True)

    def forward(self, x):
        x = x.transpose(0, 1)
        y = self.encoder(x, mask=nn.Transformer.generate_square_subsequent_mask(6))
        return (self.mix(x, y, y, need_weights=False)[0] ** 2).mean()


class SharedBias(nn.Module):
    """A layer that adds a bias to its scores, which the first of several makes, and a mask that each computes anew."""

    def __init__(self, is_first):
        super().__init__()
        self.mix = mix()
        self.table = Parameter(torch.randn(4, 6)) if is_first else None

    def forward(self, x, start, bias):
        if bias is None:
            bias = self.table.tanh()[(torch.arange(6)[None] - torch.arange(6)[:, None]).clamp(0, 3), 2]
        seen = (start[..., 0] > 0.5).float()[:, None]
        y = self.mix(x.tanh())
        y = torch.where(y > 0.5, y * 0.3, y)
        return x + (y @ x.mT * seen + bias).softmax(-1) @ x, bias


def biased_by_the_first(m, x):
    bias, start = None, torch.sin(x)
    for layer in m.layers:
        x, bias = layer(x, start, bias)
    return x


def backwards(m, x):
    """What reads a sequence whose dim is before the batch from its end, and picks of it."""
    y = m.lstm(m.mix(x).transpose(0, 1))[0]
    largest, places = y.topk(2, 0)
    return (y.flip(0, -1) + y.sort(0)[0]).transpose(0, 1) + largest.sum(0)[:, None] + y.gather(0, places).mean(0)[
        :, None] + torch.zeros_like(y).scatter_add(0, places, largest).transpose(0, 1) + y.transpose(1, 2).sort(1)[
            0].permute(2, 0, 1)


def mixture(m, x):
    """The log-likelihood under a mixture, by torch.distributions."""
    means, shares = m.mix(x)[..., :4], m.mix(x)[..., 4:]
    parts = torch.distributions.Normal(means.transpose(1, 2), F.softplus(shares.transpose(1, 2)) + 0.1)
    mixed = torch.distributions.MixtureSameFamily(torch.distributions.Categorical(logits=shares.transpose(1, 2)), parts)
    return -mixed.log_prob(x[..., 0, None, 0].expand(-1, 4)).mean()


def mix(inside=8, outside=8):
    return nn.Linear(inside, outside)


def convolved(m, x):
    return m.norm(F.gelu(m.mix(x.transpose(1, 2))).transpose(1, 2))


# Each entry is: the module, and the shape of its input beside the batch.
CASES = {
    "weight norm": (Small(convolved, mix=parametrizations.weight_norm(nn.Conv1d(8, 8, 4, padding=2, groups=2), dim=2),
                          norm=nn.LayerNorm(8)), ROWS),
    "spectral norm in eval mode": (Small(lambda m, x: m.mix(x), mix=parametrizations.spectral_norm(mix()).eval()),
                                   ROWS),
    "noise by time steps": (Small(noised, mix=mix(), time=mix(), kept=torch.linspace(0.99, 0.1, 100)), ROWS),
    "a graph by its matrix": (Small(lambda m, x: F.relu(m.near @ m.mix(x)), mix=mix(), near=torch.rand(6, 6)), ROWS),
    "a graph by attention": (Small(attend_near, mix=mix(), a=Parameter(torch.randn(16)), near=(
        torch.arange(6)[:, None] * torch.arange(6) % 4 < 2) | torch.eye(6).bool()), ROWS),
    "pairs that turn": (Small(turned_in_pairs, mix=mix()), ROWS),
    "angles of a table": (Small(turned_by_table, mix=mix(), angles=torch.rand(6, 8)), ROWS),
    "a bias by distance": (Small(biased_by_distance, mix=mix(), table=nn.Embedding(7, 2)), ROWS),
    "recurrent cells": (Small(cells, lstm=nn.LSTMCell(8, 6), gru=nn.GRUCell(6, 6)), (3, 8)),
    "an LSTM": (Small(lambda m, x: m.mix(x)[0][:, -1], mix=nn.LSTM(8, 5, batch_first=True)), (3, 8)),
    "recurrent cells without bias": (Small(
        cells_without_bias, lstm=nn.LSTMCell(8, 6, bias=False), gru=nn.GRUCell(6, 6, bias=False), tanh=nn.RNNCell(8, 6),
        relu=nn.RNNCell(6, 6, bias=False, nonlinearity="relu")), (3, 8)),
    "an LSTM with projections": (Small(
        projected, mix=nn.LSTM(8, 5, 2, batch_first=True, bidirectional=True, proj_size=3),
        h=Parameter(torch.randn(4, 1, 3)), c=Parameter(torch.randn(4, 1, 5))), (3, 8)),
    "GRUs both ways": (Small(lambda m, x: m.mix(x)[0] + m.mix(x)[1].sum(0).repeat(1, 2)[:, None], mix=nn.GRU(
        8, 5, 2, batch_first=True, bidirectional=True, dropout=0.5).eval()), (3, 8)),
    "recurrent layers without gates": (Small(lambda m, x: m.relu(m.tanh(x)[0])[0], tanh=nn.RNN(
        8, 5, 2, batch_first=True), relu=nn.RNN(5, 4, batch_first=True, bias=False, nonlinearity="relu")), (3, 8)),
    "pairs of rows": (Small(pairs, mix=mix(), at=torch.tril_indices(6, 6, -1)), ROWS),
    "series by their scale": (Small(against_means, mix=mix(), gain=Parameter(torch.rand(8))), ROWS),
    "a teacher": (Small(taught, mix=mix(), teacher=frozen(mix())), (8,)),
    "codes": (Small(quantised, mix=mix(), out=mix(), codes=Parameter(torch.randn(5, 8))), ROWS),
    "views that predict each other": (Small(alike, mix=mix(), out=mix()), ROWS),
    "weights that stand still": (Small(self_weighted, mix=mix(), out=mix(), still=Parameter(torch.randn(8))), ROWS),
    "the sequence first, backwards and sorted": (Small(backwards, mix=mix(), lstm=nn.LSTM(8, 4, bidirectional=True)),
                                                 ROWS),
    "a mixture of normal distributions": (Small(mixture, mix=mix()), ROWS),
    "the first of several": (Small(lambda m, x: F.cross_entropy(m.mix(x)[:, 0], torch.zeros(
        x.shape[0], dtype=torch.long)) + F.cross_entropy(m.mix(x), torch.arange(6)[:, None].new_zeros(
            x.shape[0], 8) + 2), mix=mix()), ROWS),
    "computed classes": (Small(lambda m, x: F.cross_entropy(m.mix(x)[:, 0], (x[:, 1, 0] > 0).long()) + F.nll_loss(
        m.mix(x)[:, 1].log_softmax(-1), (x[:, 2].argmax(-1) + 1) % 8), mix=mix()), ROWS),
    "bags": (Small(of_bags, largest=nn.EmbeddingBag(10, 5, mode="max"), means=nn.EmbeddingBag(10, 5, padding_idx=3),
                   sums=nn.EmbeddingBag(10, 5, mode="sum")), ROWS),
    "vectors": (Small(by_vectors, w=Parameter(torch.randn(8, 8)), v=Parameter(torch.randn(8))), ROWS),
    "rays": (Small(rendered, mix=mix(8, 4)), ROWS),
    "products": (Small(lambda m, x: m.mix(x).prod(1) + m.mix(x)[:, :5].prod(-1, keepdim=True).mean(1), mix=mix()),
                 ROWS),
    "norms": (Small(norms, mix=mix()), ROWS),
    "a norm of zeros": (Small(lambda m, x: F.normalize(m.mix(x) * (x[..., :1] > 0), dim=-1), mix=mix()), ROWS),
    "a bilinear layer": (Small(lambda m, x: m.mix(x[:, 0], x[:, 1, :5]), mix=nn.Bilinear(8, 5, 3)), ROWS),
    "triplets": (Small(lambda m, x: F.triplet_margin_loss(m.mix(x[:, 0]), m.mix(x[:, 1]), m.mix(x[:, 2])), mix=mix()),
                 ROWS),
    "cosines": (Small(lambda m, x: F.cosine_similarity(m.mix(x[:, :3]), x[:, 3:], dim=-1), mix=mix()), ROWS),
    "margins": (Small(lambda m, x: F.multi_margin_loss(m.mix(x), (x[:, 0] * 9).abs().long().clamp(max=7))
                      + F.hinge_embedding_loss(m.mix(x)[:, 0], x[:, 1].sign()), mix=mix()), (8,)),
    "counts": (Small(lambda m, x: F.poisson_nll_loss(m.mix(x), x.abs()), mix=mix()), (8,)),
    "likelihoods": (Small(lambda m, x: F.gaussian_nll_loss(m.mix(x), x, F.softplus(m.mix(x)), full=True), mix=mix()),
                    (8,)),
    "pixels shuffled": (Small(lambda m, x: F.pixel_shuffle(m.mix(x), 2) + F.pixel_unshuffle(x, 2).mean(
        (1, 2, 3), keepdim=True), mix=nn.Conv2d(4, 8, 1)), IMAGE),
    "patches": (Small(lambda m, x: m.mix(F.unfold(x, 2, stride=2).mT) + m.mix(
        F.unfold(x, 2, padding=(1, 0)).mT)[:, :16], mix=mix(16, 5)), IMAGE),
    "windows of a series": (Small(lambda m, x: m.mix(x.unfold(1, 4, 2)), mix=mix(4, 5)), ROWS),
    "means of pixels inside": (Small(lambda m, x: F.avg_pool2d(m.mix(x), 3, 2, 1, count_include_pad=False),
                                     mix=nn.Conv2d(4, 3, 1)), IMAGE),
    "pools that round up": (Small(lambda m, x: F.max_pool2d(m.mix(x), 3, 2, ceil_mode=True), mix=nn.Conv2d(4, 3, 1)),
                            IMAGE),
    "pools of rows": (Small(lambda m, x: F.max_pool1d(m.mix(x), 2) + F.avg_pool1d(m.mix(x), 3, 2, 1)
                            + F.adaptive_max_pool1d(x, 1), mix=nn.Conv1d(6, 6, 1)), ROWS),
    "largest pixels": (Small(lambda m, x: F.adaptive_max_pool2d(m.mix(x), (2, 4)), mix=nn.Conv2d(4, 3, 1)), IMAGE),
    "the sequence first": (Sequences(), ROWS),
    "layers beside each other": (Small(beside, first=lists(3, mix), second=lists(3, mix), gains=nn.ParameterList(
        Parameter(torch.rand(8)) for _ in range(3)), mix=mix()), ROWS),
    "layers of which every third is wide": (Small(every_third, layers=nn.ModuleList(
        mix(16 if at % 3 == 2 else 8) for at in range(8)), mix=mix()), ROWS),
    "layers that share what the first makes": (Small(biased_by_the_first, layers=nn.ModuleList(
        SharedBias(is_first) for is_first in (True, False, False))), ROWS),
    "layers and activations in turn": (Small(lambda m, x: m.layers(x), layers=nn.Sequential(*(
        nn.LeakyReLU() if at % 2 else mix() for at in range(12)))), ROWS),
    "layers with adapters": (Small(lowered, bases=frozen(lists(3, mix)), a=nn.ParameterList(
        Parameter(torch.randn(2, 8)) for _ in range(3)), b=nn.ParameterList(
            Parameter(torch.randn(8, 2)) for _ in range(3)), mix=mix()), ROWS),
}
# Blocks that the modules above have: name -> how many layers of the module each execution has, and executions.
BLOCKS = {"layers beside each other": [(1, 3)], "layers that share what the first makes": [(1, 3)],
          "layers of which every third is wide": [(3, 2), (1, 2)],
          "layers and activations in turn": [(2, 6)], "layers with adapters": [(1, 3)], "the sequence first": [(1, 3)]}
# No gradient of the input is compared.
DETACHED = {"series by their scale", "a teacher", "codes", "views that predict each other", "weights that stand still"}

"""Modules of kinds that people train, small, each with its inputs, loss and plans as in pytorch_models.py. Needs
torch."""
import math

import torch
import torch.nn.functional as F
from torch import nn

WORDS = 31


class Segmenter(nn.Module):
    """A U-Net of three levels: batch norm, joined skips, interpolation to the size of the skip, logits of pixels."""

    def __init__(self, width=4, classes=3):
        super().__init__()
        sizes = [width, 2 * width, 4 * width]
        self.down = nn.ModuleList(self.pair(a, b) for a, b in zip([2, *sizes], sizes))
        self.up = nn.ModuleList(self.pair(a + b, b) for a, b in zip(sizes[:0:-1], sizes[-2::-1]))
        self.head = nn.Conv2d(width, classes, 1)

    def pair(self, before, after):
        return nn.Sequential(nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(True),
                             nn.Conv2d(after, after, 3, padding=1), nn.ReLU(True))

    def forward(self, images):
        x, skips = images, []
        for at, level in enumerate(self.down):
            x = level(F.max_pool2d(x, 2) if at else x)
            skips.append(x)
        for level, skip in zip(self.up, skips[-2::-1]):
            x = F.interpolate(x, size=skip.shape[-2:], mode="bilinear", align_corners=False)
            x = level(torch.cat([skip, x], 1))
        return self.head(x)


def of_pixels(logits, labels):
    """Cross entropy of pixels and a Dice loss of each sample."""
    shares = logits.softmax(1)
    wanted = F.one_hot(labels, logits.shape[1]).permute(0, 3, 1, 2).float()
    overlap, both = (shares * wanted).sum((2, 3)), shares.sum((2, 3)) + wanted.sum((2, 3))
    return F.cross_entropy(logits, labels) + 1 - ((2 * overlap + 1) / (both + 1)).mean()


class Towers(nn.Module):
    """Two towers, of words and of features, by their cosines with hard negatives that each sample brings."""

    def __init__(self, width=12, depth=2):
        super().__init__()
        self.words = nn.Embedding(WORDS, width, padding_idx=0)
        self.left, self.right = (nn.Sequential(*(self.layer(width) for _ in range(depth))) for _ in range(2))
        self.features = nn.Linear(5, width)
        self.temperature = nn.Parameter(torch.tensor(2.0))

    def layer(self, width):
        return nn.Sequential(nn.Linear(width, width), nn.LayerNorm(width), nn.GELU())

    def forward(self, query, candidates):
        kept = (query != 0).unsqueeze(-1)
        q = (self.words(query) * kept).sum(1) / kept.sum(1).clamp(min=1)
        q, c = F.normalize(self.left(q), dim=-1), F.normalize(self.right(self.features(candidates)), dim=-1)
        scores = torch.einsum("bd,bnd->bn", q, c) * self.temperature.exp()
        return F.cross_entropy(scores, torch.zeros(scores.shape[0], dtype=torch.long))


class Recurrent(nn.Module):
    """A language model of an LSTM of two layers and a GRU that reads both ways, with tied words."""

    def __init__(self, width=8):
        super().__init__()
        self.words = nn.Embedding(WORDS, width)
        self.lstm = nn.LSTM(width, width, 2, batch_first=True)
        self.gru = nn.GRU(width, width // 2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(width, WORDS)
        self.head.weight = self.words.weight

    def forward(self, tokens):
        x, _ = self.lstm(self.words(tokens))
        y, last = self.gru(x)
        return self.head(torch.tanh(x + y + last.permute(1, 0, 2).flatten(1).unsqueeze(1)))


class Residual(nn.Module):
    """A block of a diffusion U-Net: group norm, SiLU, a shift and a scale by time, attention over pixels."""

    def __init__(self, before, after, time):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(2, before), nn.Conv2d(before, after, 3, padding=1)
        self.time, self.norm2 = nn.Linear(time, 2 * after), nn.GroupNorm(2, after)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1)
        self.attention = nn.MultiheadAttention(after, 2, batch_first=True)
        self.skip = nn.Conv2d(before, after, 1) if before != after else nn.Identity()

    def forward(self, x, time):
        h = self.conv1(F.silu(self.norm1(x)))
        scale, shift = self.time(F.silu(time))[:, :, None, None].chunk(2, dim=1)
        h = self.skip(x) + self.conv2(F.silu(self.norm2(h) * (1 + scale) + shift))
        y = h.flatten(2).transpose(1, 2)
        return h + self.attention(y, y, y, need_weights=False)[0].transpose(1, 2).reshape(h.shape)


class Denoiser(nn.Module):
    """Predicts the noise of images by the step of each sample; the schedule is a buffer, the noise an input."""

    def __init__(self, width=8, time=12):
        super().__init__()
        self.register_buffer("kept", torch.cumprod(1 - torch.linspace(1e-2, 0.2, 20), 0))
        self.time = nn.Sequential(nn.Linear(8, time), nn.SiLU(), nn.Linear(time, time))
        self.start, self.first = nn.Conv2d(2, width, 3, padding=1), Residual(width, width, time)
        self.down, self.middle = nn.Conv2d(width, width, 3, 2, 1), Residual(width, 2 * width, time)
        self.up, self.last = nn.ConvTranspose2d(2 * width, width, 4, 2, 1), Residual(2 * width, width, time)
        self.out = nn.Conv2d(width, 2, 3, padding=1)

    def forward(self, images, noise, steps):
        kept = self.kept[steps].view(-1, 1, 1, 1)
        x = kept.sqrt() * images + (1 - kept).sqrt() * noise
        angles = steps[:, None].float() * torch.exp(torch.arange(4) * (-math.log(1e4) / 3))[None]
        time = self.time(torch.cat((angles.sin(), angles.cos()), dim=1))
        first = self.first(self.start(x), time)
        x = self.up(self.middle(self.down(first), time))
        x = self.out(self.last(torch.cat((x, first), 1), time))
        return F.mse_loss(x, noise)


class Tabular(nn.Module):
    """Columns of classes by tables, columns of numbers by batch norm, products of all pairs of columns (DLRM)."""

    def __init__(self, sizes=(5, 7, 11), numbers=4, width=6):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(size, width) for size in sizes)
        self.norm, self.bottom = nn.BatchNorm1d(numbers), nn.Sequential(nn.Linear(numbers, width), nn.ReLU())
        self.register_buffer("pairs", torch.triu_indices(len(sizes) + 1, len(sizes) + 1, 1), persistent=False)
        self.top = nn.Sequential(nn.Linear(6 + width, 16), nn.ReLU(), nn.Dropout(0.0), nn.Linear(16, 1))

    def forward(self, classes, numbers):
        columns = [table(classes[:, at]) for at, table in enumerate(self.tables)]
        dense = self.bottom(self.norm(numbers))
        x = torch.stack([dense, *columns], 1)
        products = torch.bmm(x, x.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat([dense, products], 1)).squeeze(1)


class Audio(nn.Module):
    """Frames of waves by strided convolutions, dilated gated layers with skips (WaveNet), pooling by attention."""

    def __init__(self, width=8, classes=4):
        super().__init__()
        self.frames = nn.Sequential(nn.Conv1d(1, width, 8, 4, bias=False), nn.GroupNorm(width, width), nn.GELU(),
                                    nn.Conv1d(width, width, 3, 2), nn.GELU())
        self.mixed = nn.ModuleList(nn.Conv1d(width, 2 * width, 2, dilation=2 ** at) for at in range(3))
        self.through = nn.ModuleList(nn.Conv1d(width, 2 * width, 1) for _ in range(3))
        self.scores, self.head = nn.Linear(width, 1), nn.Linear(2 * width, classes)

    def forward(self, waves):
        x, skips = self.frames(waves.unsqueeze(1)), 0
        for mixed, through in zip(self.mixed, self.through):
            a, b = mixed(F.pad(x, (mixed.dilation[0], 0))).chunk(2, 1)
            onward, skip = through(torch.tanh(a) * torch.sigmoid(b)).chunk(2, 1)
            x, skips = x + onward, skips + skip
        x = skips.transpose(1, 2)
        weights = self.scores(torch.tanh(x)).softmax(1)
        mean = (weights * x).sum(1)
        spread = ((weights * x ** 2).sum(1) - mean ** 2).clamp(min=1e-5).sqrt()
        return self.head(torch.cat([mean, spread], -1))


class Mixture(nn.Module):
    """A mixture of normal distributions, by the log-likelihood of the targets."""

    def __init__(self, parts=3, width=10, targets=2):
        super().__init__()
        self.parts, self.targets = parts, targets
        self.body = nn.Sequential(nn.Linear(4, width), nn.Tanh())
        self.shares, self.means = nn.Linear(width, parts), nn.Linear(width, parts * targets)
        self.spreads = nn.Linear(width, parts * targets)

    def forward(self, features, targets):
        h = self.body(features)
        means = self.means(h).view(-1, self.parts, self.targets)
        spreads = F.softplus(self.spreads(h)).view_as(means) + 1e-3
        normal = torch.distributions.Independent(torch.distributions.Normal(means, spreads), 1)
        mixture = torch.distributions.Categorical(logits=self.shares(h))
        return -torch.distributions.MixtureSameFamily(mixture, normal).log_prob(targets).mean()


class Siamese(nn.Module):
    """One tower for an anchor, a likeness and a stranger, with drops of nothing and a margin."""

    def __init__(self, width=8):
        super().__init__()
        self.tower = nn.Sequential(nn.Conv2d(1, width, 3), nn.PReLU(width), nn.AdaptiveAvgPool2d((2, 2)), nn.Flatten(),
                                   nn.Linear(4 * width, width))

    def forward(self, anchors, likes, others):
        a, b, c = (F.normalize(self.tower(x)) for x in (anchors, likes, others))
        return F.relu((a - b).norm(dim=1) - (a - c).norm(dim=1) + 0.5).mean()


class Projector(nn.Module):
    """A frozen image encoder whose patches a trained projector puts before the words of a frozen decoder."""

    def __init__(self, width=12, length=5):
        super().__init__()
        layer = nn.TransformerEncoderLayer(width, 2, 2 * width, 0.0, "gelu", batch_first=True, norm_first=True)
        self.patches = nn.Conv2d(3, width, 4, 4)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.projector = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.words = nn.Embedding(WORDS, width)
        self.decoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head, self.length = nn.Linear(width, WORDS, bias=False), length
        for part in (self.patches, self.encoder, self.words, self.decoder, self.head):
            part.requires_grad_(False)

    def forward(self, images, tokens):
        with torch.no_grad():
            seen = self.encoder(self.patches(images).flatten(2).transpose(1, 2))
        x = torch.cat([self.projector(seen), self.words(tokens)], 1)
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        x = self.decoder(x, mask=mask, is_causal=True)
        return self.head(x[:, seen.shape[1]:])


class Autoencoder(nn.Module):
    """A variational autoencoder whose noise is an input, with a transposed decoder."""

    def __init__(self, width=6, hidden=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, width, 4, 2, 1), nn.LeakyReLU(0.2), nn.Flatten(),
                                     nn.Linear(16 * width, 2 * hidden))
        self.decoder = nn.Sequential(nn.Linear(hidden, 16 * width), nn.Unflatten(1, (width, 4, 4)), nn.ELU(),
                                     nn.Upsample(scale_factor=2), nn.Conv2d(width, 1, 3, padding=1))

    def forward(self, images, noise):
        mean, logarithm = self.encoder(images).chunk(2, -1)
        drawn = mean + noise * torch.exp(0.5 * logarithm)
        wrong = F.binary_cross_entropy_with_logits(self.decoder(drawn), images.sigmoid(), reduction="none")
        apart = -0.5 * (1 + logarithm - mean.pow(2) - logarithm.exp())
        return wrong.flatten(1).sum(1).mean() + apart.sum(1).mean()


class Selective(nn.Module):
    """A state space model: a scan over time that gates choose (Mamba), with a short causal convolution."""

    def __init__(self, width=6, states=3):
        super().__init__()
        self.words, self.enter = nn.Embedding(WORDS, width), nn.Linear(width, 2 * width)
        self.conv = nn.Conv1d(width, width, 3, padding=2, groups=width)
        self.chosen, self.rate = nn.Linear(width, 2 * states), nn.Linear(width, width)
        self.decay, self.through = nn.Parameter(torch.randn(width, states)), nn.Parameter(torch.ones(width))
        self.leave, self.head = nn.Linear(width, width), nn.Linear(width, WORDS)

    def forward(self, tokens):
        x, gate = self.enter(self.words(tokens)).chunk(2, -1)
        x = F.silu(self.conv(x.transpose(1, 2))[..., :x.shape[1]].transpose(1, 2))
        b, c = self.chosen(x).chunk(2, -1)
        rate = F.softplus(self.rate(x))
        kept = torch.exp(rate.unsqueeze(-1) * -torch.exp(self.decay))
        added = (rate * x).unsqueeze(-1) * b.unsqueeze(2)
        state, found = torch.zeros_like(added[:, 0]), []
        for at in range(x.shape[1]):
            state = kept[:, at] * state + added[:, at]
            found.append((state * c[:, at].unsqueeze(1)).sum(-1))
        y = torch.stack(found, 1) + self.through * x
        return self.head(self.leave(y * F.silu(gate)))


class Quantised(nn.Module):
    """A VQ-VAE: the nearest of its codes, through which the gradient goes straight, and a head that only watches."""

    def __init__(self, width=6, codes=5):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, width, 4, 2, 1), nn.ReLU(), nn.Conv2d(width, width, 1))
        self.codes = nn.Parameter(torch.randn(codes, width))
        self.decoder = nn.ConvTranspose2d(width, 1, 4, 2, 1)
        self.watch = nn.Linear(width, width)

    def forward(self, images):
        h = self.encoder(images).permute(0, 2, 3, 1)
        apart = h.square().sum(-1, keepdim=True) - 2 * h @ self.codes.T + self.codes.square().sum(1)
        code = self.codes[apart.argmin(-1)]
        with torch.no_grad():
            sure = 1 + 0.1 * self.watch(code).sigmoid()
        passed = (h + (code - h).detach()) * sure
        return F.mse_loss(self.decoder(passed.permute(0, 3, 1, 2)), images) + F.mse_loss(
            code, h.detach()) + 0.25 * F.mse_loss(h, code.detach())


# Entries are those of pytorch_models.CASES.
MESH, SPLIT = ("dp=2,tp=2",), ("dp=2,tp=1,zero=3",)
CASES = {
    "segmenter": (Segmenter, (("images", [2, 9, 12], None), ("labels", [9, 12], 3)), of_pixels, MESH),
    "towers": (Towers, (("query", [6], WORDS), ("candidates", [4, 5], None)), None, SPLIT),
    "recurrent": (Recurrent, (("tokens", [5], WORDS), ("targets", [5], WORDS)), "cross_entropy", SPLIT),
    "denoiser": (Denoiser, (("images", [2, 8, 8], None), ("noise", [2, 8, 8], None), ("steps", [], 20)), None, MESH),
    "tabular": (Tabular, (("classes", [3], 5), ("numbers", [4], None), ("targets", [], None)), "bce_with_logits", MESH),
    "audio": (Audio, (("waves", [96], None), ("targets", [], 4)), "cross_entropy", SPLIT),
    "mixture": (Mixture, (("features", [4], None), ("targets", [2], None)), None, MESH),
    "siamese": (Siamese, (("anchors", [1, 6, 7], None), ("likes", [1, 6, 7], None), ("others", [1, 6, 7], None)), None,
                MESH),
    "projector": (Projector, (("images", [3, 8, 8], None), ("tokens", [5], WORDS), ("targets", [5], WORDS)),
                  "cross_entropy", ("pp=2",)),
    "autoencoder": (Autoencoder, (("images", [1, 8, 8], None), ("noise", [4], None)), None, SPLIT),
    "selective": (Selective, (("tokens", [6], WORDS), ("targets", [6], WORDS)), "cross_entropy", MESH),
    "quantised": (Quantised, (("images", [1, 8, 8], None),), None, (*MESH, *SPLIT)),
}

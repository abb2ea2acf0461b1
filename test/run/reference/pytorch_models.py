"""Modules that dtc.export is tested with: three of transformers, and others that users write. Needs torch."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from pytorch_masks import MASKS
from pytorch_states import STATES
from pytorch_points import WIDTH, Points
from pytorch_resnets import Averages, resnet18, resnet50
from pytorch_users import CASES as USERS
from pytorch_weather import Forecast

VOCABULARY, LENGTH = 61, 16


def transformers_model(kind, **config):
    """Returns a language model of transformers with its own config, as dtc-export makes it of a folder."""
    from dtc.huggingface import CausalLanguageModel
    from transformers import AutoConfig, AutoModelForCausalLM
    config = AutoConfig.for_model(kind, vocab_size=VOCABULARY, **config)
    return CausalLanguageModel(AutoModelForCausalLM.from_config(config, attn_implementation="sdpa").train())


def gpt2(layers=2):
    return transformers_model("gpt2", n_embd=24, n_head=3, n_layer=layers, n_positions=2 * LENGTH, attn_pdrop=0.0,
                              embd_pdrop=0.0, bos_token_id=0, eos_token_id=0, resid_pdrop=0.0)


def llama(layers=2):
    return transformers_model("llama", hidden_size=24, intermediate_size=40, num_hidden_layers=layers,
                              num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=32)


def qwen2(layers=2):
    return transformers_model("qwen2", hidden_size=24, intermediate_size=40, num_hidden_layers=layers,
                              num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=32,
                              tie_word_embeddings=True)


def llama_with_labels():
    """Returns the class of transformers itself, which shifts labels and returns its loss among other things."""
    from transformers import LlamaConfig, LlamaForCausalLM
    return LlamaForCausalLM(LlamaConfig(vocab_size=VOCABULARY, hidden_size=24, intermediate_size=40,
                                        num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4,
                                        max_position_embeddings=32))


class Root(nn.Module):
    """RMS norm as people write it."""

    def __init__(self, width):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.gain


class ParallelLayer(nn.Module):
    """Attention and a gated unit beside each other; attention, its mask, rotary embedding and GELU are written out."""

    def __init__(self, width, heads, length):
        super().__init__()
        self.heads, self.norm = heads, Root(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.gate, self.down = (nn.Linear(width, 2 * width), nn.Linear(width, 2 * width),
                                         nn.Linear(2 * width, width))
        self.register_buffer("mask", torch.tril(torch.ones(1, 1, length, length)))

    def turn(self, x, cos, sin):
        a, b = x.chunk(2, dim=-1)
        return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)

    def forward(self, x, cos, sin):
        batch, length, width = x.shape
        h = self.norm(x)
        q, k, v = (part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
                   for part in self.qkv(h).split(width, dim=2))
        q, k = self.turn(q, cos, sin), self.turn(k, cos, sin)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        scores = scores.masked_fill(self.mask[:, :, :length, :length] == 0, float("-inf"))
        y = (F.softmax(scores, dim=-1) @ v).transpose(1, 2).contiguous().view(batch, length, width)
        g = self.gate(h)
        g = 0.5 * g * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (g + 0.044715 * g ** 3)))
        return x + self.out(y) + self.down(g * self.up(h))


class ParallelGpt(nn.Module):
    """A language model that returns its loss; the embedding is the head as well."""

    def __init__(self, width=32, heads=4, layers=3):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, width)
        self.layers = nn.ModuleList(ParallelLayer(width, heads, LENGTH) for _ in range(layers))
        self.norm, self.head = Root(width), nn.Linear(width, VOCABULARY, bias=False)
        self.head.weight = self.embed.weight
        frequencies = 1.0 / 500.0 ** (torch.arange(0, width // heads, 2) / (width // heads))
        self.register_buffer("frequencies", frequencies, persistent=False)

    def forward(self, tokens, targets):
        angles = torch.outer(torch.arange(tokens.shape[1]), self.frequencies)
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, angles.cos(), angles.sin())
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))


class Vit(nn.Module):
    """Patches by a convolution, a class token, learnt positions, the encoder layers of PyTorch."""

    def __init__(self, width=24, heads=4, layers=2, classes=5):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, stride=4)
        self.token, self.positions = nn.Parameter(torch.zeros(1, 1, width)), nn.Parameter(torch.zeros(1, 5, width))
        self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(width, heads, 2 * width, 0.0, "gelu", batch_first=True,
                                                               norm_first=True)
                                    for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, images):
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat((self.token.expand(x.shape[0], -1, -1), x), dim=1) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


class MixerLayer(nn.Module):
    def __init__(self, patches, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.tokens = nn.Sequential(nn.Linear(patches, 2 * patches), nn.GELU(), nn.Linear(2 * patches, patches))
        self.channels = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.norm2(x))


class Mixer(nn.Module):
    def __init__(self, patches=8, width=16, layers=3, classes=5):
        super().__init__()
        self.stem = nn.Linear(12, width)
        self.layers = nn.ModuleList(MixerLayer(patches, width) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, patches):
        x = self.stem(patches)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x).mean(dim=1))


class ConvLayer(nn.Module):
    """A ConvNeXt block with a gate by channel."""

    def __init__(self, width):
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, 3, padding=1, groups=width)
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.scale, self.gate, self.groups = nn.Parameter(torch.ones(width)), nn.Linear(width, width), nn.GroupNorm(2,
            width)

    def forward(self, x):
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        y = (self.scale * self.down(F.gelu(self.up(y)))).permute(0, 3, 1, 2)
        y = self.groups(y)
        gate = torch.sigmoid(self.gate(F.adaptive_avg_pool2d(y, 1).flatten(1)))
        return x + y * gate[:, :, None, None]


class ConvNet(nn.Module):
    def __init__(self, width=8, classes=4):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(2, width, 3, padding="same"), nn.ReLU(inplace=True), nn.MaxPool2d(2))
        self.blocks = nn.Sequential(ConvLayer(width), ConvLayer(width))
        self.head = nn.Linear(width * 4, classes)

    def forward(self, images):
        return self.head(F.avg_pool2d(self.blocks(self.stem(images)), 2).flatten(1))


class Translator(nn.Module):
    """An encoder and a decoder with cross attention, the layers of PyTorch; the third input is shifted targets."""

    def __init__(self, width=16, heads=2):
        super().__init__()
        self.source, self.target = nn.Embedding(VOCABULARY, width), nn.Embedding(VOCABULARY, width)
        self.encoder = nn.TransformerEncoderLayer(width, heads, 2 * width, 0.0, batch_first=True)
        self.decoder = nn.TransformerDecoderLayer(width, heads, 2 * width, 0.0, batch_first=True)
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, source, target):
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        memory = self.encoder(self.source(source))
        return self.head(self.decoder(self.target(target), memory, tgt_mask=mask, tgt_is_causal=True))


class MaskedLayer(nn.Module):
    """Attention that leaves out padding, with a bias of scores by distance, and a gated unit."""

    def __init__(self, width, heads, length):
        super().__init__()
        self.heads, self.norm = heads, nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.bias, self.up = nn.Parameter(torch.zeros(heads, length, length)), nn.Linear(width, 4 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x, seen):
        batch, length, width = x.shape
        q, k, v = (each.view(batch, length, self.heads, -1).transpose(1, 2)
                   for each in self.qkv(self.norm(x)).chunk(3, -1))
        mask = self.bias.masked_fill(~seen, -torch.inf)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).reshape(batch, length, width)
        return x + self.down(F.glu(self.up(x + self.out(y))))


class Masked(nn.Module):
    """A classifier of texts of several lengths, with token 0 as padding at any place, and the mean of the others."""

    def __init__(self, width=16, heads=2, layers=2, length=6, classes=5):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, width)
        self.layers = nn.ModuleList(MaskedLayer(width, heads, length) for _ in range(layers))
        self.head = nn.Linear(width, classes)

    def forward(self, tokens, lengths):
        places = torch.arange(tokens.shape[1])
        kept = (tokens > 9) & (places < lengths[:, None])
        seen = kept[:, None, None, :] & (places[:, None] - places < 4)
        x = self.embed(tokens) + 0.01 * places[:, None]
        for layer in self.layers:
            x = layer(x, seen)
        return self.head((x * kept[:, :, None]).sum(1) / kept.sum(1, keepdim=True).clamp(min=1))


class Regressor(nn.Module):
    """Clamps, powers and quotients; a table of rows as a buffer, and one layer frozen."""

    def __init__(self, width=12):
        super().__init__()
        self.first, self.second, self.last = nn.Linear(6, width), nn.Linear(width, width), nn.Linear(width, 3)
        self.second.weight.requires_grad = False
        self.register_buffer("table", torch.zeros(4, width))

    def forward(self, features):
        x = torch.tanh(self.first(features))
        x = x + self.table[1:2] - self.table[2]
        y = self.second(x).abs().clamp(0.1, 0.9)
        y = y / (x.square().sum(-1, keepdim=True) + 1.0).sqrt()
        return self.last(y * F.silu(x) - 0.25) / 2


class Series(nn.Module):
    """A series over time: running sums and means of its channels beside a convolution that looks back."""

    def __init__(self, width=12, steps=10):
        super().__init__()
        self.start, self.look = nn.Linear(4, width), nn.Conv1d(width, width, 3)
        self.mix, self.last = nn.Linear(2 * width, width), nn.Linear(width, 3)
        self.register_buffer("counts", torch.arange(1.0, steps + 1))

    def forward(self, series):
        x = torch.tanh(self.start(series))
        means = x.cumsum(1) / self.counts[:, None]
        near = self.look(F.pad(x.transpose(1, 2), (2, 0))).transpose(1, 2)
        x = x + F.gelu(self.mix(torch.cat((means, near), -1)))
        trend = torch.cumsum(x.transpose(1, 2), dim=-1)[..., -1]
        return self.last(x[:, -1] + 0.1 * trend)


class WindowLayer(nn.Module):
    """Attention within windows of an image, which a shift moves, with a bias by distance, as of Swin."""

    def __init__(self, width, heads, window, shift):
        super().__init__()
        self.heads, self.window, self.shift = heads, window, shift
        self.norm, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.table = nn.Parameter(torch.zeros((2 * window - 1) ** 2, heads))
        at = torch.stack(torch.meshgrid(torch.arange(window), torch.arange(window), indexing="ij")).flatten(1)
        apart = (at[:, :, None] - at[:, None, :]) + window - 1
        self.register_buffer("places", apart[0] * (2 * window - 1) + apart[1])

    def forward(self, x):
        batch, height, width, channels = x.shape
        size = self.window
        y = torch.roll(self.norm(x), (-self.shift, -self.shift), (1, 2))
        y = y.view(batch, height // size, size, width // size, size, channels).transpose(2, 3).flatten(3, 4)
        q, k, v = (each.unflatten(-1, (self.heads, -1)).transpose(3, 4) for each in self.qkv(y).chunk(3, -1))
        bias = self.table[self.places.view(-1)].view(size * size, size * size, -1).permute(2, 0, 1)
        y = ((q @ k.mT) * q.shape[-1] ** -0.5 + bias).softmax(-1) @ v
        y = y.transpose(3, 4).flatten(4).unflatten(3, (size, size)).transpose(2, 3).reshape(x.shape)
        return x + self.out(torch.roll(y, (self.shift, self.shift), (1, 2)))


class Swin(nn.Module):
    """Layers of windows, of which every second one is shifted, and the merging of four pixels into one."""

    def __init__(self, width=8, classes=5, layers=4):
        super().__init__()
        self.start = nn.Conv2d(3, width, 2, stride=2)
        self.layers = nn.ModuleList(WindowLayer(width, 2, 2, at % 2) for at in range(layers))
        self.merge, self.head = nn.Linear(4 * width, 2 * width, bias=False), nn.Linear(2 * width, classes)

    def forward(self, images):
        x = self.start(images).permute(0, 2, 3, 1)
        for layer in self.layers:
            x = layer(x)
        x = torch.cat((x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]), -1)
        return self.head(self.merge(x).mean((1, 2)))


class Unet(nn.Module):
    """An image to an image, over half of the pixels: ends mirrored, pixels interpolated, what was before joined."""

    def __init__(self, width=6):
        super().__init__()
        self.down, self.low = nn.Conv2d(2, width, 3, padding=1, padding_mode="reflect"), nn.Conv2d(width, width, 3)
        self.up, self.last = nn.Conv2d(2 * width, width, 3, padding=1), nn.Conv2d(width, 1, 1)

    def forward(self, images):
        x = F.silu(self.down(images))
        y = F.silu(self.low(F.pad(F.max_pool2d(x, 2), (1, 1, 1, 1), mode="replicate")))
        y = F.interpolate(y, scale_factor=2, mode="bilinear", align_corners=False)
        return self.last(F.silu(self.up(torch.cat((x, y), 1))))


class Routed(nn.Module):
    """Two of four experts for each token by their scores, all computed; the loss is of the last token of each text."""

    def __init__(self, width=12, experts=4, classes=5):
        super().__init__()
        self.embed, self.router = nn.Embedding(VOCABULARY, width), nn.Linear(width, experts, bias=False)
        self.experts = nn.Parameter(torch.zeros(experts, width, width))
        self.head = nn.Linear(width, classes)

    def forward(self, tokens, lengths):
        x = self.embed(tokens)
        scores, chosen = self.router(x).softmax(-1).topk(2, -1)
        gates = torch.zeros_like(self.router(x)).scatter(-1, chosen, scores / scores.sum(-1, keepdim=True))
        x = x + torch.einsum("btc,eco,bte->bto", x, self.experts, gates).tanh()
        largest = x.sort(1, descending=True)[0][:, 0]
        return self.head(x[torch.arange(x.shape[0]), lengths - 1] + 0.1 * largest)


def weighted_loss(logits, targets, weights):
    rows = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none").view(targets.shape)
    return (rows * weights).sum() / weights.sum()


def penalised_loss(output, targets):
    return F.huber_loss(output, targets, delta=0.3) + 0.1 * (output ** 2).mean()


def by_classes(logits, targets):
    return F.cross_entropy(logits, targets, torch.tensor([0.5, 2.0, 1.0, 1.5, 0.75]))


def smoothed(logits, targets):
    return F.cross_entropy(logits, targets, label_smoothing=0.2)


# Each entry is: name -> module, inputs as (name, shape of a sample, integers below or None), loss, plans beside one
# process.
CASES = {
    "gpt2": (gpt2, (("tokens", [LENGTH], VOCABULARY), ("targets", [LENGTH], VOCABULARY)), "cross_entropy",
             ("tp=3", "pp=2", "dp=2,tp=1,zero=3")),
    "llama": (llama, (("tokens", [LENGTH], VOCABULARY), ("targets", [LENGTH], VOCABULARY)), "cross_entropy",
              ("dp=2,tp=2,sp=0", "pp=2", "dp=2,tp=1,zero=3")),
    "qwen2": (qwen2, (("tokens", [LENGTH], VOCABULARY), ("targets", [LENGTH], VOCABULARY)), "cross_entropy",
              ("dp=2,tp=2,sp=0", "pp=2", "dp=2,tp=1,zero=3")),
    "labels": (llama_with_labels, (("input_ids", [LENGTH], VOCABULARY), ("labels", [LENGTH], -VOCABULARY)), None,
               ("dp=2,tp=2,sp=0",)),
    "parallel": (ParallelGpt, (("tokens", [LENGTH], VOCABULARY), ("targets", [LENGTH], -VOCABULARY)), None,
                 ("dp=2,tp=2,sp=0", "pp=3", "dp=2,tp=1,zero=3")),
    "vit": (Vit, (("images", [3, 8, 8], None), ("targets", [], 5)), "cross_entropy",
            ("dp=2,tp=2", "pp=2", "dp=2,tp=1,zero=3")),
    "mixer": (Mixer, (("patches", [8, 12], None), ("targets", [], 5)), "cross_entropy_sum",
              ("dp=2,tp=2", "pp=3", "dp=2,tp=1,zero=3")),
    "convnet": (ConvNet, (("images", [2, 8, 8], None), ("targets", [4], None)), "bce_with_logits",
                ("dp=2,tp=2", "dp=2,tp=1,zero=3")),
    "translator": (Translator, (("source", [6], VOCABULARY), ("target", [9], VOCABULARY), ("targets", [9], VOCABULARY),
                                ("weights", [9], None)),
                   weighted_loss, ("dp=2,tp=2", "dp=2,tp=1,zero=3")),
    "huber": (Regressor, (("features", [6], None), ("targets", [3], None)), penalised_loss, ("dp=2,tp=1,zero=3",)),
    "series": (Series, (("series", [10, 4], None), ("targets", [3], None)), "huber",
               ("dp=2,tp=2", "dp=2,tp=1,zero=3")),
    "swin": (Swin, (("images", [3, 8, 8], None), ("targets", [], 5)), "cross_entropy",
             ("dp=2,tp=2", "pp=2", "dp=2,tp=1,zero=3")),
    "unet": (Unet, (("images", [2, 6, 8], None), ("targets", [1, 6, 8], None)), "mse",
             ("dp=2,tp=2", "dp=2,tp=1,zero=3")),
    "routed": (Routed, (("tokens", [6], VOCABULARY), ("lengths", [], 7), ("targets", [], 5)), "cross_entropy",
               ("dp=2,tp=2", "dp=2,tp=1,zero=3")),
    "mse": (Regressor, (("features", [6], None), ("targets", [3], None)), "mse", ()),
    "l1_sum": (Regressor, (("features", [6], None), ("targets", [3], None)), "l1_sum", ()),
    "masked": (Masked, (("tokens", [6], VOCABULARY), ("lengths", [], 7), ("targets", [], 5)), by_classes,
               ("dp=2,tp=2", "pp=2", "dp=2,tp=1,zero=3")),
    "smoothed": (Regressor, (("features", [6], None), ("targets", [], -3)), smoothed, ("dp=2,tp=1,zero=3",)),
    "points": (Points, (("features", [3, WIDTH], None), ("tokens", [3], 5)), None, ("dp=2,tp=2", "dp=2,tp=1,zero=3")),
    "resnet18": (resnet18, (("images", [3, 64, 64], None), ("targets", [], 5)), "cross_entropy",
                 ("dp=2,tp=2", "pp=2", "dp=2,tp=1,zero=3")),
    "resnet50": (resnet50, (("images", [3, 64, 64], None), ("targets", [], 5)), "cross_entropy",
                 ("dp=2,tp=2", "pp=2", "dp=2,tp=1,zero=3")),
    "averages": (Averages, (("features", [6], None), ("targets", [3], None)), "mse",
                 ("dp=2,tp=2", "dp=2,tp=1,zero=3")),
    "forecast": (Forecast, (("volumes", [2, 4, 4, 6], None), ("months", [], 12), ("targets", [1, 4, 4, 6], None)),
                 "huber", ("dp=2,tp=2", "pp=2", "dp=2,tp=1,zero=3")),
    "smooth_l1": (Regressor, (("features", [6], None), ("targets", [3], None)), "smooth_l1", ()),
    **USERS,
    **MASKS,
    **STATES,
}

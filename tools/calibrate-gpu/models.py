"""GPT-2 and Llama 3 in plain PyTorch, with the shapes that train_speed.py measures."""
import torch
from torch import nn
from torch.nn import functional

from shapes import SHAPES, expected_loss, model_flops  # noqa: F401


class Norm(nn.Module):
    """LayerNorm with bias, or RMSNorm."""

    def __init__(self, shape):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(shape.width))
        self.bias = nn.Parameter(torch.zeros(shape.width)) if shape.family == "gpt2" else None

    def forward(self, x):
        if self.bias is None:
            return functional.rms_norm(x, self.weight.shape, self.weight, 1e-5)
        return functional.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)


def rotate(x, cos, sin):
    """Returns the rotary embedding of [batch, heads, sequence, dim], by halves as in Llama's checkpoints."""
    low, high = x.chunk(2, dim=-1)
    return torch.cat((low * cos - high * sin, high * cos + low * sin), dim=-1)


class Attention(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.dim = shape.width // shape.heads
        bias = shape.family == "gpt2"
        rows = (shape.heads + 2 * shape.kv_heads) * self.dim
        self.qkv = nn.Linear(shape.width, rows, bias=bias)
        self.out = nn.Linear(shape.width, shape.width, bias=bias)

    def forward(self, x, rotary):
        batch, length, width = x.shape
        heads, kv_heads = self.shape.heads, self.shape.kv_heads
        parts = self.qkv(x).split([n * self.dim for n in (heads, kv_heads, kv_heads)], dim=-1)
        q, k, v = (part.view(batch, length, -1, self.dim).transpose(1, 2) for part in parts)
        if rotary:
            q, k = (rotate(part, *rotary).to(v.dtype) for part in (q, k))
        result = functional.scaled_dot_product_attention(q, k, v, is_causal=True,
                                                         enable_gqa=kv_heads != heads)
        return self.out(result.transpose(1, 2).reshape(batch, length, width))


class Mlp(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.gated = shape.family == "llama"
        self.up = nn.Linear(shape.width, (2 if self.gated else 1) * shape.inner,
                            bias=not self.gated)
        self.down = nn.Linear(shape.inner, shape.width, bias=not self.gated)

    def forward(self, x):
        if not self.gated:
            return self.down(functional.gelu(self.up(x), approximate="tanh"))
        gate, up = self.up(x).chunk(2, dim=-1)
        return self.down(functional.silu(gate) * up)


class Block(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.norm1, self.attention = Norm(shape), Attention(shape)
        self.norm2, self.mlp = Norm(shape), Mlp(shape)

    def forward(self, x, rotary):
        x = x + self.attention(self.norm1(x), rotary)
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    """Computes the mean cross entropy of tokens and targets. The head is the table of tokens."""

    def __init__(self, shape):
        super().__init__()
        self.tokens = nn.Embedding(shape.vocabulary, shape.width)
        self.positions = (nn.Embedding(shape.sequence, shape.width)
                          if shape.family == "gpt2" else None)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = Norm(shape)
        dim = shape.width // shape.heads
        angles = torch.outer(torch.arange(shape.sequence).float(),
                             500000.0 ** (-torch.arange(0, dim, 2).float() / dim))
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)

    def forward(self, tokens, targets):
        x = self.tokens(tokens)
        rotary = None
        if self.positions is not None:
            x = x + self.positions.weight
        else:
            rotary = (self.cos, self.sin)
        for block in self.blocks:
            x = block(x, rotary)
        logits = functional.linear(self.norm(x), self.tokens.weight)
        return functional.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())

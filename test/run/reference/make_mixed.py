#!/usr/bin/env python3
"""Makes the stored results that training in bf16 and f16 is compared with: PyTorch on the CPU, its own kernels of
these types.

Reads the files of make_reference.py (configurations, initial parameters in f32, tokens, the plan of ten steps).
Parameters are f32 copies, of which the model reads the rounding; AdamW is that of training.py. Writes, for each model
and type,
    <model>.<type>.json              losses and gradient norms, and how far rounding moves each of them
    <model>.<type>.grad.safetensors  gradients of the first step: the mean of the trainings below, as PyTorch sums and
                                     stores gradients of parameters in the narrow type, and dtc in f32
Needs torch and numpy; the tests need only the files that it writes.

Monte Carlo arithmetic finds how far rounding moves a result (Parker, Pierce and Eggert 2000, "Monte Carlo arithmetic:
how to gamble with floating point and win", Computing in Science and Engineering 2(4)): the same training in f64, in
which every tensor that dtc stores, and its gradient, is rounded up or down at random such that the mean is the
unrounded value. `sigma` is the standard deviation over DRAWS such trainings. Rounding to nearest, as PyTorch and dtc
do, has half of that variance (an error is uniform over one step of the last bit, which gives step^2 / 12, and random
rounding has step^2 / 6 on average), so that the difference of two implementations that round to nearest has at most
the variance of one draw, and so has the difference of one from the mean of the draws. mixed.py derives the bound from
this.
Usage: make_mixed.py DATA_DIR
"""
import json
import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from sampler import samples_of
from training import train, write_safetensors

DRAWS = 32
# The values are the bits of the significand, and the exponent of the last bit of a denormal number.
TYPES = {"bf16": (torch.bfloat16, 8, -133), "f16": (torch.float16, 11, -24)}
LOSS_SCALE = 1024.0  # a power of two: it rounds nothing, and keeps gradients in f16's range


class RandomRounding(torch.autograd.Function):
    """Rounds to a neighbour with `bits` of significand, up or down so that the mean is the input; the gradient
    likewise.
    """

    @staticmethod
    def forward(ctx, x, bits, least, generator):
        ctx.kind = bits, least, generator
        return RandomRounding.round(x, bits, least, generator)

    @staticmethod
    def backward(ctx, gradient):
        return RandomRounding.round(gradient, *ctx.kind), None, None, None

    @staticmethod
    def round(x, bits, least, generator):
        exponent = torch.frexp(x).exponent
        step = torch.ldexp(torch.ones_like(x), torch.clamp(exponent - bits, min=least))
        return torch.floor(x / step + torch.rand(x.shape, generator=generator, dtype=x.dtype)) * step


def gpt2_loss(p, c, tokens, targets, keep):
    width, heads = c["n_embd"], c["n_head"]

    def norm(x, name):
        return keep(F.layer_norm(x, (width,), p[name + ".weight"], p[name + ".bias"], c["layer_norm_epsilon"]))

    def conv(x, name):
        return keep(keep(x @ p[name + ".weight"]) + p[name + ".bias"])

    batch, length = tokens.shape
    x = keep(keep(p["transformer.wte.weight"][tokens]) + p["transformer.wpe.weight"][:length])
    for layer in range(c["n_layer"]):
        h = f"transformer.h.{layer}."
        parts = conv(norm(x, h + "ln_1"), h + "attn.c_attn").split(width, dim=-1)
        q, k, v = (part.reshape(batch, length, heads, -1).transpose(1, 2) for part in parts)
        out = keep(F.scaled_dot_product_attention(q, k, v, is_causal=True)).transpose(1, 2).reshape(batch, length,
            width)
        x = keep(x + conv(out, h + "attn.c_proj"))
        inner = keep(F.gelu(conv(norm(x, h + "ln_2"), h + "mlp.c_fc"), approximate="tanh"))
        x = keep(x + conv(inner, h + "mlp.c_proj"))
    logits = keep(norm(x, "transformer.ln_f") @ p["transformer.wte.weight"].T)
    return F.cross_entropy(widened(logits), targets.flatten())


def llama_loss(p, c, tokens, targets, keep):
    width, heads, kv = c["hidden_size"], c["num_attention_heads"], c["num_key_value_heads"]
    batch, length = tokens.shape
    half = width // heads // 2
    angle = np.arange(length)[:, None] * c["rope_theta"] ** (-np.arange(half) / half)[None, :]

    def norm(x, name):
        wide = x if x.dtype == torch.float64 else x.float()
        normal = wide / torch.sqrt((wide * wide).mean(-1, keepdim=True) + c["rms_norm_eps"])
        return keep((normal * p[name + ".weight"].to(wide.dtype)).to(x.dtype))

    def linear(x, name):
        return keep(x @ p[name + ".weight"].T)

    def rotate(x):
        wide = x if x.dtype == torch.float64 else x.float()
        cos, sin = (torch.from_numpy(f(angle)).to(wide.dtype)[None, :, None, :] for f in (np.cos, np.sin))
        a, b = wide[..., :half], wide[..., half:]
        return keep(torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1).to(x.dtype))

    x = keep(p["model.embed_tokens.weight"][tokens])
    for layer in range(c["num_hidden_layers"]):
        h = f"model.layers.{layer}."
        n = norm(x, h + "input_layernorm")
        q, k, v = (linear(n, h + f"self_attn.{w}_proj").reshape(batch, length, -1, 2 * half) for w in "qkv")
        q, k, v = rotate(q), rotate(k).repeat_interleave(heads // kv, dim=2), v.repeat_interleave(heads // kv, dim=2)
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        out = keep(F.scaled_dot_product_attention(q, k, v, is_causal=True)).transpose(1, 2).reshape(batch, length,
            width)
        x = keep(x + linear(out, h + "self_attn.o_proj"))
        n = norm(x, h + "post_attention_layernorm")
        gated = keep(keep(F.silu(linear(n, h + "mlp.gate_proj"))) * linear(n, h + "mlp.up_proj"))
        x = keep(x + linear(gated, h + "mlp.down_proj"))
    logits = keep(norm(x, "model.norm") @ p["lm_head.weight"].T)
    return F.cross_entropy(widened(logits), targets.flatten())


def widened(logits):
    return (logits if logits.dtype == torch.float64 else logits.float()).flatten(0, 1)


def read_safetensors(path):
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8: 8 + size])
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        tensors[name] = np.frombuffer(data[begin:end], "<f4").reshape(entry["shape"]).copy()
    return tensors


def value_and_grad(loss, config, dtype, compute, keep):
    """Returns the loss and the gradient of parameters in f32, which the model reads rounded to `dtype`, in tensors of
    `compute`.
    """

    def run(p, tokens, targets):
        leaves = {n: torch.from_numpy(v).to(dtype).to(compute).requires_grad_() for n, v in p.items()}
        value = loss(leaves, config, torch.from_numpy(tokens).long(), torch.from_numpy(targets).long(), keep)
        (value * LOSS_SCALE).backward()
        return value.item(), {n: (leaf.grad.to(torch.float64) / LOSS_SCALE).numpy() for n, leaf in leaves.items()}

    return run


def deviation(values):
    return np.std(np.asarray(values, np.float64), axis=0, ddof=1)


def main():
    data = Path(sys.argv[1])
    torch.set_num_threads(1)
    tokens = np.frombuffer((data / "tokens.bin").read_bytes(), "<u2", offset=1024).astype(np.int32)
    for model, loss in (("gpt2", gpt2_loss), ("llama", llama_loss)):
        config, plan = (json.loads((data / f"{model}{end}.json").read_text()) for end in ("", ".curve"))
        length = plan["sequence"]
        windows = np.stack([tokens[i: i + length + 1] for i in range(0, len(tokens) - length, length)])
        orders = [samples_of(step, plan["batch"], len(windows), plan["seed"])
                  for step in range(1, len(plan["loss"]) + 1)]
        batches = [(windows[order, :-1], windows[order, 1:]) for order in orders]
        initial = read_safetensors(data / f"{model}.init.safetensors")
        for name, (dtype, bits, least) in TYPES.items():
            def run(compute, keep):
                parameters = {n: v.copy() for n, v in initial.items()}
                return train(value_and_grad(loss, config, dtype, compute, keep), parameters, batches, plan["adamw"],
                             plan["lr"])

            losses, norms, _ = run(dtype, lambda x: x)
            draws = []
            for seed in range(DRAWS):
                generator = torch.Generator().manual_seed(seed)
                draws.append(run(torch.float64, lambda x: RandomRounding.apply(x, bits, least, generator)))
            gradient = {n: np.mean([d[2][n] for d in draws], axis=0) for n in initial}
            result = {"torch": torch.__version__, "draws": DRAWS, "loss": losses, "grad_norm": norms,
                      "loss_sigma": list(deviation([d[0] for d in draws])),
                      "grad_norm_sigma": list(deviation([d[1] for d in draws])),
                      # A tensor has the deviation of the element that rounding moves most.
                      "gradient_sigma": {n: float(deviation([d[2][n] for d in draws]).max()) for n in gradient}}
            (data / f"{model}.{name}.json").write_text(json.dumps(result, indent=2) + "\n")
            write_safetensors(data / f"{model}.{name}.grad.safetensors",
                              {n: g.astype(np.float32) for n, g in gradient.items()})
            print(model, name, losses, result["loss_sigma"])


if __name__ == "__main__":
    main()

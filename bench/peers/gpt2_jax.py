#!/usr/bin/env python3
"""GPT-2 124M in plain JAX: one jit of forward, backward, clipping and AdamW, buffers donated."""

import peer

args = peer.arguments(__doc__).parse_args()
peer.fix_threads(args.threads)

import adamw_jax
import jax
import jax.numpy as jnp
import numpy as np
from peer import HEADS, LAYERS, WIDTH


def initial_parameters():
    generator = np.random.default_rng(1)

    def normal(*shape):
        return jnp.asarray(generator.normal(0, 0.02, shape).astype(np.float32))

    def norm():
        return {"scale": jnp.ones(WIDTH), "bias": jnp.zeros(WIDTH)}

    def linear(inputs, outputs):
        return {"weight": normal(inputs, outputs), "bias": jnp.zeros(outputs)}

    blocks = [{"ln_1": norm(), "qkv": linear(WIDTH, 3 * WIDTH), "projection": linear(WIDTH, WIDTH),
               "ln_2": norm(), "up": linear(WIDTH, 4 * WIDTH), "down": linear(4 * WIDTH, WIDTH)}
              for _ in range(LAYERS)]
    return {"tokens": normal(peer.VOCABULARY, WIDTH), "positions": normal(peer.CONTEXT, WIDTH),
            "blocks": blocks, "ln_f": norm()}


def linear(p, x):
    return x @ p["weight"] + p["bias"]


def layer_norm(p, x):
    mean = x.mean(-1, keepdims=True)
    variance = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p["scale"] + p["bias"]


def attention(p, x):
    batch, sequence, _ = x.shape
    qkv = linear(p["qkv"], x).reshape(batch, sequence, 3, HEADS, WIDTH // HEADS)
    q, k, v = (qkv[:, :, i].transpose(0, 2, 1, 3) for i in range(3))
    scores = q @ k.transpose(0, 1, 3, 2) * (WIDTH // HEADS) ** -0.5
    causal = jnp.tril(jnp.ones((sequence, sequence), bool))
    weights = jax.nn.softmax(jnp.where(causal, scores, -jnp.inf), axis=-1)
    mixed = (weights @ v).transpose(0, 2, 1, 3).reshape(batch, sequence, WIDTH)
    return linear(p["projection"], mixed)


def loss_of(p, tokens, targets):
    x = p["tokens"][tokens] + p["positions"][: tokens.shape[1]]
    for block in p["blocks"]:
        x = x + attention(block, layer_norm(block["ln_1"], x))
        hidden = jax.nn.gelu(linear(block["up"], layer_norm(block["ln_2"], x)), approximate=True)
        x = x + linear(block["down"], hidden)
    logits = layer_norm(p["ln_f"], x) @ p["tokens"].T
    chosen = jnp.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
    return (jax.nn.logsumexp(logits, axis=-1) - chosen).mean()


def main():
    state, compiled = adamw_jax.training(initial_parameters(), loss_of)
    data = peer.batches(args.batch, args.sequence)

    def step():
        nonlocal state
        state, loss = compiled(state, *next(data))
        jax.block_until_ready(state)
        return float(loss)

    peer.serve(args, step, {"version": "JAX " + jax.__version__})


main()

#!/usr/bin/env python3
"""Makes the stored results that models/digits is compared with: JAX, float32, the samples in dtrun's order for a seed.

Needs jax and numpy. Usage: make_digits.py OUTPUT_DIR; it writes digits.init.safetensors (initial parameters) and
digits.curve.json (loss and gradient norm of each step of AdamW, and what they were made with).
"""
import json
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from make_reference import write_safetensors

jax.config.update("jax_default_matmul_precision", "highest")

BATCH, STEPS, SEED, IGNORING = 96, 40, 7, 9
ADAMW = dict(lr=1e-2, beta1=0.9, beta2=0.95, epsilon=1e-5, weight_decay=0.1, clip=1.0)
DIGITS = Path(__file__).resolve().parents[3] / "models" / "digits"
WORD = (1 << 64) - 1


def mix(x):
    """The finaliser of MurmurHash3, as runtime/data/Sampler.cpp has it."""
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCD & WORD
    x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53 & WORD
    return x ^ x >> 33


def permute(index, size, key0, key1):
    """A Feistel network of six rounds, walked until it is below `size` (Sampler.h)."""
    bits = 0
    while bits < 32 and (size - 1) >> 2 * bits:
        bits += 1
    mask = (1 << bits) - 1
    while True:
        left, right = index >> bits, index & mask
        for turn in range(6):
            drawn = mix(mix(right ^ key0) + key1 + (turn << 56) & WORD)
            left, right = right, left ^ drawn & mask
        index = left << bits | right
        if index < size:
            return index


def samples_of(step, size):
    return [permute(g % size, size, mix(SEED), g // size) for g in range((step - 1) * BATCH, step * BATCH)]


def loss(p, images, labels, ignoring):
    """The mean over the rows that count; all of them where nothing is ignored."""
    hidden = jax.nn.gelu(images / 16 @ p["hidden.weight"].T + p["hidden.bias"], approximate=False)
    scores = hidden @ p["scores.weight"].T + p["scores.bias"]
    rows = -jnp.take_along_axis(jax.nn.log_softmax(scores, axis=-1), labels[:, None], axis=-1)[:, 0]
    counted = labels != ignoring
    return jnp.where(counted, rows, 0).sum() / counted.sum()


def train(p, images, labels, ignoring):
    a, value_and_grad = ADAMW, jax.jit(jax.value_and_grad(lambda p, x, y: loss(p, x, y, ignoring)))
    first = {n: np.zeros_like(v) for n, v in p.items()}
    second = {n: np.zeros_like(v) for n, v in p.items()}
    losses, norms = [], []
    for step in range(1, STEPS + 1):
        batch = samples_of(step, len(images))
        value, gradient = value_and_grad(p, images[batch], labels[batch])
        gradient = {n: np.asarray(g) for n, g in gradient.items()}
        norm = np.sqrt(sum(float((g.astype(np.float64) ** 2).sum()) for g in gradient.values()))
        losses.append(float(value))
        norms.append(float(norm))
        clip = min(1.0, a["clip"] / (norm + 1e-6))
        for n, g in gradient.items():
            g = g * np.float32(clip)
            first[n] = a["beta1"] * first[n] + (1 - a["beta1"]) * g
            second[n] = a["beta2"] * second[n] + (1 - a["beta2"]) * g * g
            update = first[n] / (1 - a["beta1"] ** step) / (np.sqrt(second[n] / (1 - a["beta2"] ** step)) + a["epsilon"])
            decay = a["weight_decay"] if g.ndim >= 2 else 0.0
            p[n] = (p[n] - a["lr"] * (update + decay * p[n])).astype(np.float32)
    return {"loss": losses, "grad_norm": norms}


def main():
    out, rng = Path(sys.argv[1]), np.random.default_rng(20240607)
    images, labels = np.load(DIGITS / "images.npy").astype(np.float32), np.load(DIGITS / "labels.npy").astype(np.int32)
    shapes = {"hidden.weight": (48, 64), "hidden.bias": (48,), "scores.weight": (10, 48), "scores.bias": (10,)}
    parameters = {n: rng.normal(0, 0.1, s).astype(np.float32) for n, s in shapes.items()}
    write_safetensors(out / "digits.init.safetensors", parameters)
    curve = {"jax": jax.__version__, "batch": BATCH, "seed": SEED, "adamw": ADAMW, "ignoring": IGNORING,
             "all": train(dict(parameters), images, labels, -1),
             "counted": train(dict(parameters), images, labels, IGNORING)}
    (out / "digits.curve.json").write_text(json.dumps(curve, indent=2) + "\n")
    print(curve["all"]["loss"][-1], curve["counted"]["loss"][-1])


if __name__ == "__main__":
    main()

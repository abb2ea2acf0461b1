#!/usr/bin/env python3
"""Makes the stored results that models/digits is compared with: JAX, float32, the samples in dtrun's order for a
seed.

Needs jax and numpy. Usage: make_digits.py OUTPUT_DIR; it writes digits.init.safetensors (initial parameters) and
digits.curve.json (loss and gradient norm of each step of AdamW, and the settings of the run).
"""
import json
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from sampler import samples_of
from training import train, write_safetensors

jax.config.update("jax_default_matmul_precision", "highest")

BATCH, STEPS, SEED, IGNORING = 96, 40, 7, 9
ADAMW = dict(lr=1e-2, beta1=0.9, beta2=0.95, epsilon=1e-5, weight_decay=0.1, clip=1.0)
DIGITS = Path(__file__).resolve().parents[3] / "models" / "digits"


def loss(p, images, labels, ignoring):
    """Returns the mean over the rows that count; all rows count if nothing is ignored."""
    hidden = jax.nn.gelu(images / 16 @ p["hidden.weight"].T + p["hidden.bias"], approximate=False)
    scores = hidden @ p["scores.weight"].T + p["scores.bias"]
    rows = -jnp.take_along_axis(jax.nn.log_softmax(scores, axis=-1), labels[:, None], axis=-1)[:, 0]
    counted = labels != ignoring
    return jnp.where(counted, rows, 0).sum() / counted.sum()


def curve_of(p, images, labels, ignoring):
    value_and_grad = jax.jit(jax.value_and_grad(lambda p, x, y: loss(p, x, y, ignoring)))
    orders = [np.array(samples_of(step, BATCH, len(images), SEED)) for step in range(1, STEPS + 1)]
    losses, norms, _ = train(value_and_grad, p, ((images[order], labels[order]) for order in orders), ADAMW,
                             [ADAMW["lr"]] * STEPS)
    return {"loss": losses, "grad_norm": norms}


def main():
    out, rng = Path(sys.argv[1]), np.random.default_rng(20240607)
    images, labels = np.load(DIGITS / "images.npy").astype(np.float32), np.load(DIGITS / "labels.npy").astype(np.int32)
    shapes = {"hidden.weight": (48, 64), "hidden.bias": (48,), "scores.weight": (10, 48), "scores.bias": (10,)}
    parameters = {n: rng.normal(0, 0.1, s).astype(np.float32) for n, s in shapes.items()}
    write_safetensors(out / "digits.init.safetensors", parameters)
    curve = {"jax": jax.__version__, "batch": BATCH, "seed": SEED, "adamw": ADAMW, "ignoring": IGNORING,
             "all": curve_of(dict(parameters), images, labels, -1),
             "counted": curve_of(dict(parameters), images, labels, IGNORING)}
    (out / "digits.curve.json").write_text(json.dumps(curve, indent=2) + "\n")
    print(curve["all"]["loss"][-1], curve["counted"]["loss"][-1])


if __name__ == "__main__":
    main()

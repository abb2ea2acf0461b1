#!/usr/bin/env python3
"""Makes the stored results of dtc's optimizers other than AdamW: JAX's gradients, updates written from the papers.

Trains the tiny models of make_reference.py, from the same parameters on the same samples at the same shape of rates,
and writes <model>.optimizers.json: for each optimizer its hyperparameters, the loss of every step, and how far each
tensor has moved by the end (the norm of the difference). Needs jax and numpy.
Usage: make_optimizers.py DATA_DIR      (the output folder of make_reference.py)
"""
import json
import struct
import sys
from pathlib import Path

import jax
import numpy as np
from make_reference import ADAMW, BATCH, GPT2, LLAMA, SEED, SEQUENCE, STEPS, WINDOWS, gpt2_loss, llama_loss, rate_of
from sampler import samples_of

def norm(x):
    return float(np.sqrt((x.astype(np.float64) ** 2).sum()))


def sgd(p, g, state, a, rate, step, decays):
    """Updates by Sutskever et al. 2013, section 2, as torch.optim.SGD; weight decay is beside the momentum, as in
    AdamW.
    """
    state["v"] = a["beta1"] * state.get("v", 0) + g
    return p - rate * (state["v"] + (a["weight_decay"] * p if decays else 0))


def sgd_coupled(p, g, state, a, rate, step, decays):
    """Updates like sgd, with the decay in the gradient, which the momentum averages, too:
    torch.optim.SGD(weight_decay=...).
    """
    state["v"] = a["beta1"] * state.get("v", 0) + g + (a["weight_decay"] * p if decays else 0)
    return p - rate * state["v"]


def lamb(p, g, state, a, rate, step, decays):
    """Updates by You et al. 2020, arXiv:1904.00962, algorithm 2, with phi the identity.

    Tensors without weight decay (biases, weights of norms) have a ratio of 1, as in the authors' code for BERT
    (exclude_from_layer_adaptation) and in NVIDIA's FusedLAMB.
    """
    state["m"] = a["beta1"] * state.get("m", 0) + (1 - a["beta1"]) * g
    state["v"] = a["beta2"] * state.get("v", 0) + (1 - a["beta2"]) * g * g
    direction = state["m"] / (1 - a["beta1"] ** step) / (np.sqrt(state["v"] / (1 - a["beta2"] ** step)) + a["epsilon"])
    if not decays:
        return p - rate * direction
    direction = direction + a["weight_decay"] * p
    ratio = norm(p) / norm(direction) if norm(p) > 0 and norm(direction) > 0 else 1
    return p - rate * ratio * direction


def lars(p, g, state, a, rate, step, decays):
    """Updates by You et al. 2017, arXiv:1708.03888, algorithm 1; tensors without weight decay as for LAMB."""
    ratio, decay = 1, 0
    if decays:
        decay = a["weight_decay"]
        if norm(p) > 0 and norm(g) > 0:
            ratio = a["coefficient"] * norm(p) / (norm(g) + decay * norm(p))
    state["v"] = a["beta1"] * state.get("v", 0) + rate * ratio * (g + decay * p)
    return p - state["v"]


# LAMB alone uses beta2 and epsilon; "beta1" is the momentum of the other two.
OPTIMIZERS = {
    "sgd": (sgd, dict(lr=0.1, beta1=0.9, weight_decay=0.1, clip=1.0)),
    "sgd_coupled": (sgd_coupled, dict(lr=0.1, beta1=0.9, weight_decay=0.1, clip=1.0, flags=["--coupled-decay"])),
    "lamb": (lamb, dict(lr=1e-2, beta1=0.9, beta2=0.999, epsilon=1e-6, weight_decay=0.01, clip=1.0)),
    "lars": (lars, dict(lr=10.0, beta1=0.9, weight_decay=0.01, clip=1.0, coefficient=0.001)),
}


def train(update, value_and_grad, p, batches, a, rates):
    state, losses = {n: {} for n in p}, []
    for step, (batch, rate) in enumerate(zip(batches, rates, strict=True), 1):
        value, gradient = value_and_grad(p, *batch)
        gradient = {n: np.asarray(g) for n, g in gradient.items()}
        losses.append(float(value))
        clip = np.float32(min(1.0, a["clip"] / (np.sqrt(sum(norm(g) ** 2 for g in gradient.values())) + 1e-6)))
        p = {n: update(p[n], g * clip, state[n], a, rate, step, g.ndim >= 2).astype(np.float32)
             for n, g in gradient.items()}
    return losses, p


def read_safetensors(path):
    data = Path(path).read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header, body = json.loads(data[8: 8 + size]), data[8 + size:]
    return {name: np.frombuffer(body[entry["data_offsets"][0]: entry["data_offsets"][1]], "<f4").reshape(entry["shape"])
            for name, entry in header.items()}


def main():
    data = Path(sys.argv[1])
    tokens = np.frombuffer((data / "tokens.bin").read_bytes()[1024:], "<u2").astype(np.int32)
    windows = np.stack([tokens[i * SEQUENCE: (i + 1) * SEQUENCE + 1] for i in range(WINDOWS)])
    orders = [samples_of(step, BATCH, WINDOWS, SEED) for step in range(1, STEPS + 1)]
    batches = [(windows[order, :-1], windows[order, 1:]) for order in orders]
    for name, config, loss in (("gpt2", GPT2, gpt2_loss), ("llama", LLAMA, llama_loss)):
        before = read_safetensors(data / f"{name}.init.safetensors")
        value_and_grad = jax.jit(jax.value_and_grad(lambda p, x, y, c=config, loss=loss: loss(p, c, x, y)))
        found = {"jax": jax.__version__}
        for optimizer, (update, a) in OPTIMIZERS.items():
            rates = [a["lr"] * rate_of(step) / ADAMW["lr"] for step in range(1, STEPS + 1)]
            losses, after = train(update, value_and_grad, dict(before), batches, a, rates)
            found[optimizer] = {**a, "loss": losses, "moved": {n: norm(after[n] - before[n]) for n in sorted(before)}}
            print(name, optimizer, losses[0], losses[-1])
        (data / f"{name}.optimizers.json").write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()

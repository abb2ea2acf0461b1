"""Code that the stored results share: AdamW with clipping as dtc's update has it, and safetensors."""
import json
import struct

import numpy as np


def write_safetensors(path, tensors):
    header, offset = {}, 0
    for name, value in sorted(tensors.items()):
        size = value.size * 4
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, value in sorted(tensors.items()):
            file.write(np.asarray(value, "<f4").tobytes())


def train(value_and_grad, p, batches, a, rates):
    """Runs a step of AdamW for each batch and rate, with weight decay on matrices only.

    Returns losses, norms, and the first step's gradients. `value_and_grad(p, *batch)` is the model; its parameters
    `p` are changed.
    """
    first = {n: np.zeros_like(v) for n, v in p.items()}
    second = {n: np.zeros_like(v) for n, v in p.items()}
    losses, norms, gradient0 = [], [], None
    for step, (batch, rate) in enumerate(zip(batches, rates, strict=True), 1):
        value, gradient = value_and_grad(p, *batch)
        gradient = {n: np.asarray(g) for n, g in gradient.items()}
        gradient0 = gradient0 or gradient
        norm = np.sqrt(sum(float((g.astype(np.float64) ** 2).sum()) for g in gradient.values()))
        losses.append(float(value))
        norms.append(float(norm))
        clip = min(1.0, a["clip"] / (norm + 1e-6))
        for n, g in gradient.items():
            g = g * np.float32(clip)
            first[n] = a["beta1"] * first[n] + (1 - a["beta1"]) * g
            second[n] = a["beta2"] * second[n] + (1 - a["beta2"]) * g * g
            update = first[n] / (1 - a["beta1"] ** step) / (np.sqrt(second[n] / (1 - a["beta2"] ** step))
                                                            + a["epsilon"])
            decay = a["weight_decay"] if g.ndim >= 2 else 0.0
            p[n] = (p[n] - rate * (update + decay * p[n])).astype(np.float32)
    return losses, norms, gradient0

#!/usr/bin/env python3
"""Writes the loss and the gradients that ../attention_masks.py expects: its model in PyTorch, with explicit masks.

pip install torch==2.8.0
"""
import json
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from attention_masks import DATA, LENGTHS, PREFIX, SEQUENCE, tokens_of  # noqa: E402
from weights import direction_of, weights_of  # noqa: E402

SHAPES = {"words.weight": [64, 32], "head.weight": [64, 32]}
for layer in range(2):
    SHAPES.update({f"layers.{layer}.{name}": shape for name, shape in (
        ("q_proj.weight", [4, 8, 32]), ("k_proj.weight", [2, 8, 32]), ("v_proj.weight", [2, 6, 32]),
        ("o_proj.weight", [32, 4, 6]), ("bias", [1, 4, SEQUENCE, SEQUENCE]))})


def attend(x, weights, under):
    """Computes attention with its scores as one matrix per head; queries without keys give zeros."""
    q, k, v = (torch.einsum("btc,hdc->bhtd", x, weights[f"{under}{name}_proj.weight"]) for name in "qkv")
    k, v = k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)
    at = torch.arange(SEQUENCE)
    distance = at[:, None] - at[None, :]
    slopes = torch.exp(-0.7 * torch.arange(4, dtype=torch.float64)).view(1, 4, 1, 1)
    scores = q @ k.mT * 8 ** -0.5 + weights[under + "bias"] - slopes * distance.abs()
    seen = (distance >= 0) | (at[None, :] < PREFIX)
    seen = seen & (at < torch.tensor(LENGTHS)[:, None])[:, None, None, :]
    kept = torch.softmax(scores.masked_fill(~seen, -1e30), -1) * seen
    return torch.einsum("bhtd,chd->btc", kept @ v, weights[under + "o_proj.weight"])


def main():
    weights = {name: torch.tensor(weights_of(name, torch.Size(shape).numel()), dtype=torch.float32).double()
               .reshape(shape).requires_grad_() for name, shape in SHAPES.items()}
    numbers = torch.tensor(tokens_of())
    tokens, targets = numbers[:-1].reshape(-1, SEQUENCE), numbers[1:].reshape(-1, SEQUENCE)
    assert (tokens != 0).sum(1).tolist() == list(LENGTHS)
    x = weights["words.weight"][tokens]
    for layer in range(2):
        x = x + attend(x, weights, f"layers.{layer}.")
    logits = x @ weights["head.weight"].T
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
    loss.backward()
    gradients = {}
    for name, value in weights.items():
        grad = value.grad.flatten()
        direction = torch.tensor(direction_of(name, grad.numel()), dtype=torch.float64)
        gradients[name] = [SHAPES[name], *(float(f"{number:.7g}") for number in (grad.norm().item(),
                                                                                 grad.dot(direction).item()))]
    (DATA / "attention_masks.json").write_text(
        json.dumps({"loss": float(f"{loss.item():.8g}"), "gradients": gradients}) + "\n")


if __name__ == "__main__":
    main()

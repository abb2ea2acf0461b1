#!/usr/bin/env python3
"""Writes the loss and the gradients that ../attention_masks.py expects: its models in PyTorch, with explicit masks.

pip install torch==2.8.0
"""
import json
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from attention_masks import DATA, LENGTHS, PLANS, PREFIX, SEQUENCE, tokens_of  # noqa: E402
from weights import direction_of, weights_of  # noqa: E402



def shapes_of(model):
    """Returns the shapes of a model's parameters."""
    has_masks = model == "attention_masks"
    values = 6 if has_masks else 8
    shapes = {"words.weight": [64, 32], "head.weight": [64, 32]}
    for layer in range(2):
        shapes.update({f"layers.{layer}.{name}": shape for name, shape in (
            ("q_proj.weight", [4, 8, 32]), ("k_proj.weight", [2, 8, 32]), ("v_proj.weight", [2, values, 32]),
            ("o_proj.weight", [32, 4, values]), *([("bias", [1, 4, SEQUENCE, SEQUENCE])] if has_masks else []))})
    return shapes


def weigh(scores, seen):
    """Returns weights of scores; queries without keys have zeros."""
    return torch.softmax(scores.masked_fill(~seen, -1e30), -1) * seen


def attend_from(x, weights, under):
    """Computes the attentions of attention_starts.mlir, with the positions of queries and keys written out."""
    q, k, v = (torch.einsum("btc,hdc->bhtd", x, weights[f"{under}{name}_proj.weight"]) for name in "qkv")
    k, v = k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)
    slopes = torch.exp(-0.7 * torch.arange(4, dtype=torch.float64)).view(1, 4, 1, 1)
    heads = torch.zeros_like(q)
    for name, of_queries, of_keys, first_query, first_key in (("late", slice(8, 16), slice(0, 12), 8, 0),
                                                              ("early", slice(0, 16), slice(4, 16), 0, 4),
                                                              ("far", slice(0, 16), slice(0, 16), 20, 0)):
        queries, keys, values = q[:, :, of_queries], k[:, :, of_keys], v[:, :, of_keys]
        of_query = first_query + torch.arange(queries.shape[2])[:, None]
        of_key = first_key + torch.arange(keys.shape[2])[None]
        apart = of_query - of_key
        scores = queries @ keys.mT * 8 ** -0.5
        if name == "late":
            scores, seen = scores - slopes * apart.abs(), (apart >= 0) & (apart < 6)
        elif name == "early":
            seen = (apart >= 0) | (of_key < 7)
        else:
            seen = apart.abs() < 12
        heads[:, :, of_queries] = heads[:, :, of_queries] + weigh(scores, seen) @ values
    return torch.einsum("bhtd,chd->btc", heads, weights[under + "o_proj.weight"])


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
    return torch.einsum("bhtd,chd->btc", weigh(scores, seen) @ v, weights[under + "o_proj.weight"])


def results_of(model):
    """Returns the loss and the gradients of a model."""
    shapes = shapes_of(model)
    weights = {name: torch.tensor(weights_of(name, torch.Size(shape).numel()), dtype=torch.float32).double()
               .reshape(shape).requires_grad_() for name, shape in shapes.items()}
    numbers = torch.tensor(tokens_of())
    tokens, targets = numbers[:-1].reshape(-1, SEQUENCE), numbers[1:].reshape(-1, SEQUENCE)
    assert (tokens != 0).sum(1).tolist() == list(LENGTHS)
    x = weights["words.weight"][tokens]
    for layer in range(2):
        x = x + (attend if model == "attention_masks" else attend_from)(x, weights, f"layers.{layer}.")
    logits = x @ weights["head.weight"].T
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
    loss.backward()
    gradients = {}
    for name, value in weights.items():
        grad = value.grad.flatten()
        direction = torch.tensor(direction_of(name, grad.numel()), dtype=torch.float64)
        gradients[name] = [shapes[name], *(float(f"{number:.7g}") for number in (grad.norm().item(),
                                                                                 grad.dot(direction).item()))]
    return {"loss": float(f"{loss.item():.8g}"), "gradients": gradients}


def main():
    for model in PLANS:
        (DATA / f"{model}.json").write_text(json.dumps(results_of(model)) + "\n")


if __name__ == "__main__":
    main()

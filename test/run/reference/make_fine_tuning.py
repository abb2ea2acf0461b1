#!/usr/bin/env python3
"""Makes data/fine_tuning.json, which fine_tuning.py compares dtc with: three steps of PyTorch.

pip install torch==2.8.0 transformers==5.24.0
make_fine_tuning.py [--out data/fine_tuning.json]

Models of config.json are transformers' classes, graphs are written out here. Frozen parameters have
requires_grad=False. The file has losses and gradient norms of the steps and, for each trained parameter, the norm of
its first gradient and of its last value, and their products with a fixed vector. Weights and vectors are those of
weights.py. A step in which no target counts has no mean in PyTorch (0 / 0), and 0 here, as docs/inputs.md says.
"""
import argparse
import json
import math
from pathlib import Path

import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM

from fine_tuning import BATCH, CASES, IGNORED, LAYERS, RATE, SEED, STEPS, Z_SHARE, parameters_of, samples_of, start_of
from sampler import samples_of as order_of
from weights import direction_of

DATA = Path(__file__).resolve().parent / "data"
BETA1, BETA2, EPSILON, DECAY, CLIP = 0.9, 0.95, 1e-3, 0.1, 1.0


def graph_loss(graph, p, tokens, targets):
    x = p["table"][tokens]
    for layer in range(LAYERS):
        x = x + torch.tanh(x @ p[f"h.{layer}.weight"] + p[f"h.{layer}.bias"])
    logits = x @ p["head" if graph.get("untied") else "table"].T
    loss, counts = cross_entropy(logits, targets), targets != IGNORED
    if graph["loss"] == "ignored":
        return loss
    squares = torch.logsumexp(logits, -1) ** 2
    if graph["loss"] == "z":
        return loss + Z_SHARE * squares.mean()
    return loss + (Z_SHARE * squares[counts].mean() if counts.any() else 0)


def cross_entropy(logits, targets):
    if not (targets != IGNORED).any():
        return 0 * logits.sum()
    return torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1),
                                             ignore_index=IGNORED)


def model_of(case):
    """Returns the parameters by name, and the loss of tokens and targets."""
    if "graph" in case:
        p = {name: torch.nn.Parameter(torch.empty(shape)) for name, shape in parameters_of(case).items()}
        return p, lambda tokens, targets: graph_loss(case["graph"], p, tokens, targets)
    config = dict(case["config"])
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(config.pop("model_type"), **config),
                                             attn_implementation="eager")
    p = dict(model.float().train().named_parameters())
    assert {name: list(value.shape) for name, value in p.items()} == parameters_of(case)
    return p, lambda tokens, targets: cross_entropy(model(tokens).logits, targets)


def rounded(number):
    return float(f"{number:.9g}")


def summary(name, value):
    flat = value.detach().double().flatten()
    return [rounded(flat.norm().item()),
            rounded(flat.dot(torch.tensor(direction_of(name, flat.numel()), dtype=torch.float64)).item())]


def run(case):
    p, loss_of = model_of(case)
    for name, value in p.items():
        value.data = torch.tensor(start_of(name, value.numel()), dtype=torch.float32).reshape(value.shape)
        value.requires_grad = name not in case.get("frozen", ())
    trained = {name: value for name, value in p.items() if value.requires_grad}
    decays = [value for value in trained.values() if value.dim() > 1]
    others = [value for value in trained.values() if value.dim() == 1]
    optimizer = torch.optim.AdamW([{"params": decays, "weight_decay": DECAY}, {"params": others, "weight_decay": 0.0}],
                                  lr=RATE, betas=(BETA1, BETA2), eps=EPSILON)
    samples = {name: torch.tensor(values) for name, values in samples_of(case).items()}
    stored = {"loss": [], "grad_norm": []}
    for step in range(1, STEPS + 1):
        chosen = order_of(step, BATCH, BATCH * STEPS, SEED)
        optimizer.zero_grad()
        loss = loss_of(samples["tokens"][chosen], samples["targets"][chosen])
        loss.backward()
        norm = math.sqrt(sum(float((value.grad.double() ** 2).sum()) for value in trained.values()))
        stored["loss"].append(rounded(loss.item()))
        stored["grad_norm"].append(rounded(norm))
        if step == 1:
            stored["gradients"] = {name: summary(name, value.grad) for name, value in trained.items()}
        torch.nn.utils.clip_grad_norm_(list(trained.values()), CLIP)
        optimizer.step()
    return stored | {"parameters": {name: summary(name, value) for name, value in trained.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=DATA / "fine_tuning.json")
    out = parser.parse_args().out
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    lines = ",\n".join(f"{json.dumps(case['name'])}: {json.dumps(run(case), separators=(',', ':'))}" for case in CASES)
    out.write_text(f'{{"torch": "{torch.__version__}", "transformers": "{transformers.__version__}", "cases": '
                   f'{{\n{lines}\n}}}}\n')
    print(f"{len(CASES)} cases, {out.stat().st_size} bytes")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Makes the stored results of Muon: gradients of JAX, updates of torch.optim.Muon, and of torch.optim.AdamW for all
that is no hidden matrix. Muon's products are in f32: its code rounds to bf16 at one place, Tensor.bfloat16.

Trains the tiny models of make_reference.py at a constant rate and writes muon.json: for each model the settings, the
loss of every step, and how far each tensor has moved by the end (the norm of the difference). The matrices of GPT-2
are handed to Muon as [outputs, inputs], as torch.nn.Linear has them. Needs jax, numpy and torch 2.9.
Usage: make_muon.py DATA_DIR      (the output folder of make_reference.py)
"""
import json
import sys
from pathlib import Path

import jax
import numpy as np
import torch
from make_optimizers import norm, read_safetensors
from make_reference import BATCH, GPT2, LLAMA, SEED, SEQUENCE, WINDOWS, gpt2_loss, llama_loss
from sampler import samples_of

STEPS = 20
OTHERS = ("wte", "wpe", "embed_tokens", "lm_head")
SETTINGS = dict(lr=1e-2, beta1=0.9, beta2=0.95, epsilon=1e-5, weight_decay=0.1, clip=1.0)
MODELS = [("gpt2", GPT2, gpt2_loss, dict(rate="original", momentum=0.95)),
          ("llama", LLAMA, llama_loss, dict(rate="match-rms-adamw", momentum=0.9))]


def is_hidden(name, tensor):
    return tensor.ndim == 2 and not any(other in name for other in OTHERS)


def train(model, before, value_and_grad, batches, matrices):
    """Returns the losses and the parameters at the end, as numpy arrays in their own layout."""
    turned = {name for name, tensor in before.items() if model == "gpt2" and is_hidden(name, tensor)}
    p = {name: torch.nn.Parameter(torch.tensor(tensor.T.copy() if name in turned else tensor.copy()))
         for name, tensor in before.items()}
    hidden = [p[name] for name, tensor in before.items() if is_hidden(name, tensor)]
    decaying = [p[name] for name, tensor in before.items() if tensor.ndim == 2 and not is_hidden(name, tensor)]
    plain = [p[name] for name, tensor in before.items() if tensor.ndim < 2]
    s = SETTINGS
    muon = torch.optim.Muon(hidden, lr=s["lr"], weight_decay=s["weight_decay"], momentum=matrices["momentum"],
                            adjust_lr_fn=matrices["rate"].replace("-", "_"))
    adamw = torch.optim.AdamW([{"params": decaying, "weight_decay": s["weight_decay"]},
                               {"params": plain, "weight_decay": 0.0}], lr=s["lr"], betas=(s["beta1"], s["beta2"]),
                              eps=s["epsilon"])

    def now():
        return {name: tensor.detach().numpy().T.copy() if name in turned else tensor.detach().numpy().copy()
                for name, tensor in p.items()}

    losses = []
    for batch in batches:
        value, gradient = value_and_grad(now(), *batch)
        losses.append(float(value))
        for name, tensor in p.items():
            g = np.asarray(gradient[name])
            tensor.grad = torch.tensor(g.T.copy() if name in turned else g.copy())
        torch.nn.utils.clip_grad_norm_(p.values(), s["clip"])
        muon.step()
        adamw.step()
    return losses, now()


def main():
    torch.Tensor.bfloat16 = torch.Tensor.clone
    data = Path(sys.argv[1])
    tokens = np.frombuffer((data / "tokens.bin").read_bytes()[1024:], "<u2").astype(np.int32)
    windows = np.stack([tokens[i * SEQUENCE: (i + 1) * SEQUENCE + 1] for i in range(WINDOWS)])
    orders = [samples_of(step, BATCH, WINDOWS, SEED) for step in range(1, STEPS + 1)]
    batches = [(windows[order, :-1], windows[order, 1:]) for order in orders]
    found = {"jax": jax.__version__, "torch": torch.__version__, "batch": BATCH, "sequence": SEQUENCE, "seed": SEED}
    for name, config, loss, matrices in MODELS:
        before = read_safetensors(data / f"{name}.init.safetensors")
        value_and_grad = jax.jit(jax.value_and_grad(lambda p, x, y, c=config, loss=loss: loss(p, c, x, y)))
        losses, after = train(name, before, value_and_grad, batches, matrices)
        found[name] = {**SETTINGS, **matrices, "loss": losses,
                       "moved": {n: norm(after[n] - before[n]) for n in sorted(before)}}
        print(name, losses)
    (data / "muon.json").write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()

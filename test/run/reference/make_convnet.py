#!/usr/bin/env python3
"""Makes the stored results that models/digits/convnet.mlir is compared with.

They come from PyTorch, float32, on a CPU, with the samples in dtrun's order for a seed. Needs torch and numpy.
Usage: make_convnet.py OUTPUT_DIR; it writes convnet.init.safetensors (initial parameters), convnet.grad.safetensors
(gradients of the first step) and convnet.curve.json (loss and gradient norm of each step of AdamW, and the settings
of the run).
"""
import json
import sys
from pathlib import Path

import numpy as np
import torch
from sampler import samples_of
from torch import nn
from training import write_safetensors

BATCH, STEPS, SEED = 96, 40, 7
ADAMW = dict(lr=1e-2, beta1=0.9, beta2=0.95, epsilon=1e-5, weight_decay=0.1, clip=1.0)
DIGITS = Path(__file__).resolve().parents[3] / "models" / "digits"


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                                      nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2))
        self.classifier = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))

    def forward(self, images):
        return self.classifier(self.features(images.reshape(-1, 1, 8, 8) / 16))


def arrays(tensors):
    return {name: tensor.detach().numpy() for name, tensor in tensors}


def main():
    out = Path(sys.argv[1])
    torch.manual_seed(20240607)
    torch.use_deterministic_algorithms(True)
    model, a = ConvNet(), ADAMW
    images = torch.from_numpy(np.load(DIGITS / "images.npy").astype(np.float32))
    labels = torch.from_numpy(np.load(DIGITS / "labels.npy").astype(np.int64))
    write_safetensors(out / "convnet.init.safetensors", arrays(model.named_parameters()))
    parameters = list(model.parameters())
    groups = [{"params": [p for p in parameters if p.ndim >= 2], "weight_decay": a["weight_decay"]},
              {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=a["lr"], betas=(a["beta1"], a["beta2"]), eps=a["epsilon"])
    losses, norms = [], []
    for step in range(1, STEPS + 1):
        batch = samples_of(step, BATCH, len(images), SEED)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
        loss.backward()
        if step == 1:
            write_safetensors(out / "convnet.grad.safetensors",
                              arrays((n, p.grad) for n, p in model.named_parameters()))
        losses.append(loss.item())
        norms.append(nn.utils.clip_grad_norm_(parameters, a["clip"]).item())
        optimizer.step()
    curve = {"torch": torch.__version__, "batch": BATCH, "seed": SEED, "adamw": ADAMW, "loss": losses,
             "grad_norm": norms}
    (out / "convnet.curve.json").write_text(json.dumps(curve, indent=2) + "\n")
    print(losses[0], losses[-1])


if __name__ == "__main__":
    main()

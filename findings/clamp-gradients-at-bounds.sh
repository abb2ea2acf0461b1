#!/usr/bin/env bash
# The same function, a clamp to [-1, 1], has three gradients at its bounds, by library and name.
#
# Guess: a clamp passes the gradient inside and at both bounds, in PyTorch and JAX and under any of its names. Seen with
# torch 2.8.0 and jax 0.4.38 at x = 1 and x = -1: torch.clamp passes all of it, torch's hardtanh none, jnp.clip half, as
# torch.maximum and jnp.maximum do for equal operands, and jax.nn.hard_tanh all. relu6 of both passes none at 0 and at
# 6. An input that sits at a bound is usual where values have been clamped before or are integers. graph.point of dtc
# has a row for each (clamp, hardtanh), with the gradients of torch.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install --quiet --target "$folder/torch" torch==2.8.0
python3 -m pip install --quiet --target "$folder/jax" jax==0.4.38 jaxlib==0.4.38
cat >"$folder/with_torch.py" <<'PYTHON'
import json

import torch
import torch.nn.functional as F


def gradient(function, x):
    x = torch.tensor(x, requires_grad=True)
    function(x).backward()
    return x.grad.item()


functions = {"clamp": lambda x: x.clamp(-1.0, 1.0), "hardtanh": F.hardtanh, "relu6": F.relu6,
             "maximum": lambda x: torch.maximum(x, torch.tensor(1.0))}
points = {"relu6": (0.0, 6.0), "maximum": (1.0,)}
print(json.dumps({name: [gradient(f, x) for x in points.get(name, (-1.0, 1.0))] for name, f in functions.items()}))
PYTHON
cat >"$folder/with_jax.py" <<'PYTHON'
import json

import jax
import jax.numpy as jnp

functions = {"clip": lambda x: jnp.clip(x, -1.0, 1.0), "hard_tanh": jax.nn.hard_tanh, "relu6": jax.nn.relu6,
             "maximum": lambda x: jnp.maximum(x, 1.0)}
points = {"relu6": (0.0, 6.0), "maximum": (1.0,)}
print(json.dumps({name: [float(jax.grad(f)(x)) for x in points.get(name, (-1.0, 1.0))]
                  for name, f in functions.items()}))
PYTHON
torch=$(PYTHONPATH=$folder/torch python3 "$folder/with_torch.py")
jax=$(PYTHONPATH=$folder/jax JAX_PLATFORMS=cpu python3 "$folder/with_jax.py")
echo "torch 2.8.0: $torch"
echo "jax 0.4.38:  $jax"
python3 - "$torch" "$jax" <<'PYTHON'
import json
import sys

torch, jax = map(json.loads, sys.argv[1:])
assert torch == {"clamp": [1, 1], "hardtanh": [0, 0], "relu6": [0, 0], "maximum": [0.5]}, torch
assert jax == {"clip": [0.5, 0.5], "hard_tanh": [1, 1], "relu6": [0, 0], "maximum": [0.5]}, jax
PYTHON

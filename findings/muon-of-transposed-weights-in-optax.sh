#!/usr/bin/env bash
# optax's Muon takes a matrix as [in, out]: the same weight as PyTorch keeps it, [out, in], gets another step.
#
# Guess: an orthogonal update has no side, so that a matrix and its transpose take the same step, and a weight of a
# PyTorch model that is carried over as it lies trains alike. Seen with optax 0.2.8: the update is multiplied by
# sqrt(max(1, fan_out / fan_in)) with dim 0 as fan_in, so that of a gradient of 8 x 2 it is as it is, and of its
# transpose twice as large: sqrt(8 / 2). torch.optim.Muon has the factor sqrt(max(1, rows / columns)), of [out, in], and
# so a step twice as large for the 8 x 2. Weights of [out, in] need
# muon_weight_dimension_numbers; dtc has the factor of [out, in].
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install --quiet --no-compile --target "$folder/packages" optax==0.2.8 jax==0.10.2 numpy==2.4.6
cat >"$folder/muon.py" <<'PYTHON'
import jax.numpy as jnp
import numpy as np
import optax

gradient = np.random.default_rng(0).normal(size=(8, 2)).astype(np.float32)


def step(gradient):
    optimizer = optax.contrib.muon(1.0)
    weights = {"w": jnp.zeros(gradient.shape)}
    update, _ = optimizer.update({"w": jnp.asarray(gradient)}, optimizer.init(weights), weights)
    return np.asarray(update["w"])


tall, wide = step(gradient), step(gradient.T)
ratio = np.linalg.norm(wide) / np.linalg.norm(tall)
print(f"the step of the transpose is {ratio:.4f} times as large")
assert abs(ratio - 2) < 1e-2, ratio
assert np.allclose(wide.T, 2 * tall, atol=2e-2), (wide, tall)
PYTHON
JAX_PLATFORMS=cpu PYTHONPATH=$folder/packages python3 "$folder/muon.py"

#!/usr/bin/env bash
# Top-k among equal scores, by torch.topk and jax.lax.top_k: a router of experts meets them when its weights
# start as zeros, when two experts start alike, and in 16 bits.
#
# Expected from "the first ones", as torch.argmax and a stable sort have it, and from a selection being the start of a
# longer one. torch.topk on a CPU does neither: of 8 equal scores it selects expert 6, then 6 and 5; of 64 it selects 0
# for k = 1, but 42 and 43 for k = 2, so that the best expert is none of the best two. argmax gives 0 throughout, and
# jax.lax.top_k the first k. So a model of zero routers sends all tokens to other experts under each of them, and to
# others again where a kernel of its own replaces topk. graph.top_k of dtc takes the first ones.
#
# Measured with torch 2.8.0 and JAX 0.8.0 on a CPU. The script fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q torch==2.8.0 numpy jax==0.8.0
"$folder/venv/bin/python" - <<'PY'
import jax, jax.numpy as jnp, torch

torch.set_num_threads(1)
WANTED = {8: ([6], [6, 5]), 16: ([10], [10, 11]), 64: ([0], [42, 43]), 128: ([0], [0, 1])}
for experts, wanted in WANTED.items():
    scores = torch.zeros(2, experts)
    found = tuple(torch.topk(scores, k)[1][0].tolist() for k in (1, 2))
    jaxed = tuple(jax.lax.top_k(jnp.zeros((2, experts)), k)[1][0].tolist() for k in (1, 2))
    best = torch.argmax(scores, -1)[0].item()
    print(f"{experts} equal scores: torch.topk {found[0]}, {found[1]}; torch.argmax {best}; jax.lax.top_k {jaxed[1]}")
    assert found == wanted and best == 0 and jaxed == ([0], [0, 1]), (found, best, jaxed)
print("torch.topk selects neither the first of equal scores nor the start of its own longer selections")
PY

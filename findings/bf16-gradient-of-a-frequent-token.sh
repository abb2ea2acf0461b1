#!/usr/bin/env bash
# On CPUs the gradient of an embedding in bf16 counts a token 256 times at most, in PyTorch and in JAX.
#
# Guess: the gradients of one token are summed in f32, as in products and sums of bf16 in both libraries. Seen with
# torch 2.15.0 and jax 0.10.2, and a token that stands at 4,000 places of a batch, each with a gradient of 1: the
# gradient of its row is 256 by F.embedding, weight[tokens] and embedding_bag of PyTorch, and by weight[tokens],
# .at[tokens].add and segment_sum of JAX, compiled or not, since 256 + 1 is 256 in bf16. It is 4,000 by index_select,
# gather and a product with one-hot rows in PyTorch, and by the latter in JAX, which compute the same. Separators,
# padding and the commonest words come that often in any batch. In float16 the gradient stops at 2,048. A table of f32
# has all 4,000. dtc sums the gradient of a table of bf16 in f32 (kernels/cpu/Embedding.cpp).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install --quiet --no-compile --target "$folder/torch" torch==2.15.0 numpy==2.2.6
python3 -m pip install --quiet --no-compile --target "$folder/jax" jax==0.10.2 numpy==2.2.6
cat >"$folder/with_torch.py" <<'PYTHON'
import json

import torch
from torch.nn import functional as F

PLACES = 4000
tokens = torch.zeros(PLACES, dtype=torch.long)
LOOKUPS = {
    "embedding": lambda w: F.embedding(tokens, w),
    "w[tokens]": lambda w: w[tokens],
    "embedding_bag": lambda w: F.embedding_bag(tokens[None], w, mode="sum"),
    "index_select": lambda w: w.index_select(0, tokens),
    "gather": lambda w: w.gather(0, tokens[:, None].expand(PLACES, 8)),
    "one-hot": lambda w: F.one_hot(tokens, 4).to(w.dtype) @ w,
}


def gradient(lookup, dtype):
    weight = torch.zeros(4, 8, dtype=dtype, requires_grad=True)
    lookup(weight).sum().backward()
    return weight.grad[0, 0].item()


print(json.dumps({name: {lookup: gradient(of, getattr(torch, name)) for lookup, of in LOOKUPS.items()}
                  for name in ("bfloat16", "float16", "float32")}))
PYTHON
cat >"$folder/with_jax.py" <<'PYTHON'
import json

import jax
import jax.numpy as jnp

PLACES = 4000
tokens = jnp.zeros(PLACES, jnp.int32)
GRADIENTS = {
    "w[tokens]": jax.grad(lambda w: w[tokens].sum()),
    "w[tokens], compiled": jax.jit(jax.grad(lambda w: w[tokens].sum())),
    "at.add": lambda w: w.at[tokens].add(1),
    "segment_sum": lambda w: jax.ops.segment_sum(jnp.ones((PLACES, 8), w.dtype), tokens, 4),
    "one-hot": jax.grad(lambda w: (jax.nn.one_hot(tokens, 4, dtype=w.dtype) @ w).sum()),
}
print(json.dumps({name: {way: float(of(jnp.zeros((4, 8), name))[0, 0]) for way, of in GRADIENTS.items()}
                  for name in ("bfloat16", "float16", "float32")}))
PYTHON
torch=$(PYTHONPATH=$folder/torch python3 -W ignore "$folder/with_torch.py" 2>/dev/null)
jax=$(JAX_PLATFORMS=cpu PYTHONPATH=$folder/jax python3 "$folder/with_jax.py" 2>/dev/null)
echo "gradient of a token at 4,000 places, torch 2.15.0: $torch"
echo "gradient of a token at 4,000 places, jax 0.10.2:   $jax"
python3 - "$torch" "$jax" <<'PYTHON'
import json
import sys

for found, right in zip(map(json.loads, sys.argv[1:]), ({"index_select", "gather", "one-hot"}, {"one-hot"})):
    for dtype, most in (("bfloat16", 256), ("float16", 2048), ("float32", 4000)):
        for way, value in found[dtype].items():
            assert value == (4000 if way in right else most), (dtype, way, found)
PYTHON

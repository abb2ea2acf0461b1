#!/usr/bin/env bash
# The label -100, which data for PyTorch has where a token is to be ignored, is a word of the vocabulary in optax.
#
# Guess: softmax_cross_entropy_with_integer_labels ignores -100 as torch's cross_entropy does, or gives NaN or no loss,
# so that the first step shows it. Seen with optax 0.2.8 and jax 0.10.2: negative labels count from the end. With 256
# words the loss is finite, and its gradient teaches word 156; only a vocabulary of fewer than 100 words gives NaN. The
# loss looks healthy and falls, as every masked token (prompts, padding) is one and the same word, which is easy to
# learn. Label 256 of 256 words gives NaN. The mask must be made before: where=(labels >= 0).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q jax==0.10.2 optax==0.2.8
JAX_PLATFORMS=cpu "$folder/venv/bin/python" - <<'PY'
import jax
import jax.numpy as jnp
import optax


def loss(logits, label):
    return optax.softmax_cross_entropy_with_integer_labels(logits, jnp.array([label])).sum()


found = {}
for words, label in ((256, -100), (256, 256), (50, -100)):
    logits = jnp.zeros((1, words))
    value, gradient = jax.value_and_grad(loss)(logits, label)
    taught = int(jnp.argmin(gradient)) if jnp.isfinite(value) else None
    found[words, label] = (round(float(value), 4), taught)
    print(f"{words} words, label {label}: loss {float(value):.4f}, the word whose probability rises: {taught}")
assert found[256, -100] == (5.5452, 156), found
assert found[256, 256][1] is None and found[50, -100][1] is None, found
PY

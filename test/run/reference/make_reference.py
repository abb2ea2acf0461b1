#!/usr/bin/env python3
"""Makes the stored results that dtc's training is compared with: JAX, float32, written from the papers' formulas.

Needs jax and numpy (pip install "jax[cpu]" numpy); the tests themselves need only the files that this writes:
<model>.json               Hugging Face config of the tiny model
<model>.init.safetensors   initial parameters
<model>.grad.safetensors   gradient of every parameter at the first step
<model>.curve.json         loss, gradient norm and rate of each of ten AdamW steps
tokens.bin                 llm.c token file of a few batches, which do not divide it: the ten steps read it
                           four times, each time in another order, dtrun's for the seed
Usage: make_reference.py OUTPUT_DIR
"""
import json
import math
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from sampler import samples_of
from training import train, write_safetensors

jax.config.update("jax_default_matmul_precision", "highest")

SEQUENCE, BATCH, STEPS, WORDS, WINDOWS, SEED = 16, 4, 10, 61, 11, 7
WARMUP, LAST_RATE = 3, 0.1
ADAMW = dict(lr=1e-2, beta1=0.9, beta2=0.95, epsilon=1e-5, weight_decay=0.1, clip=1.0)

GPT2 = {
    "model_type": "gpt2", "vocab_size": WORDS, "n_positions": 24, "n_embd": 24, "n_layer": 2, "n_head": 3,
    "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5, "initializer_range": 0.08,
    "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0,
}
LLAMA = {
    "model_type": "llama", "vocab_size": WORDS, "max_position_embeddings": 32, "hidden_size": 32,
    "intermediate_size": 56, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "initializer_range": 0.08,
    "tie_word_embeddings": False,
}


def normal(rng, shape, scale):
    return rng.normal(0, scale, shape).astype(np.float32)


def gpt2_parameters(rng, c):
    width, inner, scale = c["n_embd"], 4 * c["n_embd"], c["initializer_range"]
    p = {"transformer.wte.weight": normal(rng, (c["vocab_size"], width), scale),
         "transformer.wpe.weight": normal(rng, (c["n_positions"], width), scale)}
    for layer in range(c["n_layer"]):
        h = f"transformer.h.{layer}."
        for norm in ("ln_1", "ln_2"):
            p[h + norm + ".weight"] = 1 + normal(rng, (width,), scale)
            p[h + norm + ".bias"] = normal(rng, (width,), scale)
        for name, shape in (("attn.c_attn", (width, 3 * width)), ("attn.c_proj", (width, width)),
                            ("mlp.c_fc", (width, inner)), ("mlp.c_proj", (inner, width))):
            p[h + name + ".weight"] = normal(rng, shape, scale)
            p[h + name + ".bias"] = normal(rng, shape[1:], scale)
    p["transformer.ln_f.weight"] = 1 + normal(rng, (width,), scale)
    p["transformer.ln_f.bias"] = normal(rng, (width,), scale)
    return p


def llama_parameters(rng, c):
    width, inner, scale = c["hidden_size"], c["intermediate_size"], c["initializer_range"]
    head = width // c["num_attention_heads"]
    kv = head * c["num_key_value_heads"]
    p = {"model.embed_tokens.weight": normal(rng, (c["vocab_size"], width), scale),
         "lm_head.weight": normal(rng, (c["vocab_size"], width), scale),
         "model.norm.weight": 1 + normal(rng, (width,), scale)}
    for layer in range(c["num_hidden_layers"]):
        h = f"model.layers.{layer}."
        for name, shape in (("self_attn.q_proj", (width, width)), ("self_attn.k_proj", (kv, width)),
                            ("self_attn.v_proj", (kv, width)), ("self_attn.o_proj", (width, width)),
                            ("mlp.gate_proj", (inner, width)), ("mlp.up_proj", (inner, width)),
                            ("mlp.down_proj", (width, inner))):
            p[h + name + ".weight"] = normal(rng, shape, scale)
        for norm in ("input_layernorm", "post_attention_layernorm"):
            p[h + norm + ".weight"] = 1 + normal(rng, (width,), scale)
    return p


def attention(q, k, v):
    """Computes causal attention of q [b,t,h,d], k and v [b,t,g,d]."""
    groups = q.shape[2] // k.shape[2]
    k, v = jnp.repeat(k, groups, axis=2), jnp.repeat(v, groups, axis=2)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(q.shape[-1])
    mask = np.tril(np.ones(scores.shape[-2:], bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), axis=-1)
    return jnp.einsum("bhqk,bkhd->bqhd", weights, v)


def cross_entropy(logits, targets):
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits, axis=-1), targets[..., None], axis=-1)
    return -picked.mean()


def gpt2_loss(p, c, tokens, targets):
    def norm(x, name):
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) / jnp.sqrt(variance + c["layer_norm_epsilon"]) * p[name + ".weight"] + p[name + ".bias"]

    def conv(x, name):
        return x @ p[name + ".weight"] + p[name + ".bias"]

    batch, length = tokens.shape
    heads, head = c["n_head"], c["n_embd"] // c["n_head"]
    x = p["transformer.wte.weight"][tokens] + p["transformer.wpe.weight"][:length]
    for layer in range(c["n_layer"]):
        h = f"transformer.h.{layer}."
        q, k, v = jnp.split(conv(norm(x, h + "ln_1"), h + "attn.c_attn"), 3, axis=-1)
        q, k, v = (t.reshape(batch, length, heads, head) for t in (q, k, v))
        x = x + conv(attention(q, k, v).reshape(batch, length, -1), h + "attn.c_proj")
        x = x + conv(jax.nn.gelu(conv(norm(x, h + "ln_2"), h + "mlp.c_fc"), approximate=True), h + "mlp.c_proj")
    return cross_entropy(norm(x, "transformer.ln_f") @ p["transformer.wte.weight"].T, targets)


def llama_loss(p, c, tokens, targets):
    def norm(x, name):
        return x / jnp.sqrt((x * x).mean(-1, keepdims=True) + c["rms_norm_eps"]) * p[name + ".weight"]

    def rotate(x):
        half = x.shape[-1] // 2
        frequency = c["rope_theta"] ** (-2.0 * np.arange(half) / x.shape[-1])
        angle = np.arange(x.shape[1])[:, None] * frequency[None, :]
        cos, sin = (np.float32(f(angle))[None, :, None, :] for f in (np.cos, np.sin))
        a, b = x[..., :half], x[..., half:]
        return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)

    batch, length = tokens.shape
    head = c["hidden_size"] // c["num_attention_heads"]
    x = p["model.embed_tokens.weight"][tokens]
    for layer in range(c["num_hidden_layers"]):
        h = f"model.layers.{layer}."
        n = norm(x, h + "input_layernorm")
        q, k, v = ((n @ p[h + f"self_attn.{w}_proj.weight"].T).reshape(batch, length, -1, head) for w in "qkv")
        out = attention(rotate(q), rotate(k), v).reshape(batch, length, -1)
        x = x + out @ p[h + "self_attn.o_proj.weight"].T
        n = norm(x, h + "post_attention_layernorm")
        gated = jax.nn.silu(n @ p[h + "mlp.gate_proj.weight"].T) * (n @ p[h + "mlp.up_proj.weight"].T)
        x = x + gated @ p[h + "mlp.down_proj.weight"].T
    return cross_entropy(norm(x, "model.norm") @ p["lm_head.weight"].T, targets)


def rate_of(step):
    """Returns a rate that rises to the base rate over the first steps, then follows half a cosine down to its last
    share.
    """
    if step <= WARMUP:
        return ADAMW["lr"] * step / WARMUP
    progress = (step - WARMUP) / (STEPS - WARMUP)
    return ADAMW["lr"] * (LAST_RATE + (1 - LAST_RATE) * (1 + math.cos(math.pi * progress)) / 2)


def write_tokens(path, tokens):
    header = np.zeros(256, "<i4")
    header[:3] = 20240520, 1, len(tokens)
    with open(path, "wb") as file:
        file.write(header.tobytes() + np.asarray(tokens, "<u2").tobytes())


def main():
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(20240607)
    # Windows of a token stream overlap by one token: a window's targets end at the first token of the next one.
    tokens = rng.integers(0, WORDS, WINDOWS * SEQUENCE + 1).astype(np.int32)
    write_tokens(out / "tokens.bin", tokens)
    windows = np.stack([tokens[i * SEQUENCE: (i + 1) * SEQUENCE + 1] for i in range(WINDOWS)])
    orders = [samples_of(step, BATCH, WINDOWS, SEED) for step in range(1, STEPS + 1)]
    batches = [(windows[order, :-1], windows[order, 1:]) for order in orders]
    rates = [rate_of(step) for step in range(1, STEPS + 1)]
    for name, config, make, loss in (("gpt2", GPT2, gpt2_parameters, gpt2_loss),
                                     ("llama", LLAMA, llama_parameters, llama_loss)):
        parameters = make(rng, config)
        (out / f"{name}.json").write_text(json.dumps(config, indent=2) + "\n")
        write_safetensors(out / f"{name}.init.safetensors", parameters)
        value_and_grad = jax.jit(jax.value_and_grad(lambda p, x, y, c=config, loss=loss: loss(p, c, x, y)))
        losses, norms, gradient = train(value_and_grad, dict(parameters), batches, ADAMW, rates)
        write_safetensors(out / f"{name}.grad.safetensors", gradient)
        curve = {"jax": jax.__version__, "batch": BATCH, "sequence": SEQUENCE, "seed": SEED, "adamw": ADAMW,
                 "warmup": WARMUP, "last_rate": LAST_RATE, "loss": losses, "grad_norm": norms, "lr": rates}
        (out / f"{name}.curve.json").write_text(json.dumps(curve, indent=2) + "\n")
        print(name, losses)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Bytes of activations that a rank sends in a micro-batch under tensor parallelism, beside Megatron-LM's.

Usage: bytes_table.py [--models NAME,...] [--tp N,...] [--sp 0,1] [--check]
--check exits 1 if a plan sends more than Megatron-LM's placements do.

Megatron's bytes are from Shoeybi et al. 2019, arXiv:1909.08053, section 3, and Korthikanti et al. 2022,
arXiv:2205.05198, section 4.2. With A = one activation [batch, sequence, hidden] in f32 on n ranks, a
bandwidth-optimal algorithm sends 2(n-1)/n A for an all-reduce, and (n-1)/n A for an all-gather or reduce-scatter.

sp = 0: attention and MLP each end in a row-parallel matmul, whose sums are finished by an all-reduce in forward (f),
and each begin with column-parallel matmuls, whose input gradient is finished by one in backward (g): 4 a layer. The
embedding table is split by vocabulary: one all-reduce of the embedding in forward, one of the gradient that enters
the last layer in backward (the output projection is column-parallel). Together these are (4 layers + 2) all-reduces.
Cross entropy over a split vocabulary: the maximum, the sum of exponentials and the target's logit, one number a token
each, are finished by an all-reduce: 3 [batch, sequence].
sp = 1: each all-reduce is a reduce-scatter and an all-gather, which together send the same. The reduce-scatter behind
the row-parallel matmul in forward has its all-gather in front of the next column-parallel one, and their gradients
have the opposite order. So far this is (4 layers + 2) (gather + scatter): the embedding table scatters in forward and
gathers the gradient in backward, the output projection gathers in forward and scatters the gradient in backward,
which makes up 2 of each.
Ranks keep the input of column-parallel matmuls split, and their weight gradient, x^T dy over all tokens, needs it
whole. So backward gathers it a second time, once for attention and once for the MLP: 2 layers + 1 (the output
projection).
Gradients of the norms' weights, which are sums over split tokens, are no activations.
Both plans are without recomputation, whatever memory the machine has: it would repeat collectives.
"""
import argparse
import json
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

from dtc_tools import dtc


def llama(vocabulary, hidden, ffn, layers, heads, kv_heads, kind="llama"):
    return {"model_type": kind, "vocab_size": vocabulary, "hidden_size": hidden, "intermediate_size": ffn,
            "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": kv_heads,
            "max_position_embeddings": 8192, "rms_norm_eps": 1e-5, "tie_word_embeddings": False, "hidden_act": "silu"}


# Each case is: name, configuration, batch, sequence, layers of the published model if fewer are compiled. The bytes
# of a layer do not depend on the number of layers: two depths give the rest by difference.
CASES = {
    "gpt2-124m": ({"model_type": "gpt2", "vocab_size": 50257, "n_positions": 1024, "n_embd": 768, "n_layer": 12,
                   "n_head": 12, "activation_function": "gelu_new", "resid_pdrop": 0.0, "embd_pdrop": 0.0,
                   "attn_pdrop": 0.0, "tie_word_embeddings": True}, 4, 1024, 12),
    "llama-1024": (llama(32000, 1024, 2816, 4, 16, 4), 4, 512, 4),
    "llama3-8b": (llama(128256, 4096, 14336, 32, 32, 8), 1, 2048, 32),
    "qwen2-7b": (llama(152064, 3584, 18944, 28, 28, 4, "qwen2"), 1, 2048, 28),
}
COMPILED_LAYERS = (1, 2)


def layers_key(config):
    return "n_layer" if "n_layer" in config else "num_hidden_layers"


def megatron(config, batch, sequence, layers, tp, sp):
    hidden = config.get("n_embd") or config["hidden_size"]
    activation, tokens = 4 * batch * sequence * hidden, 4 * batch * sequence
    share = Fraction(tp - 1, tp)
    loss = 3 * 2 * share * tokens
    if not sp:
        return (4 * layers + 2) * 2 * share * activation + loss
    return ((4 * layers + 2) * 2 + 2 * layers + 1) * share * activation + loss


def compiled(folder, config, batch, sequence, layers, tp, sp):
    """Returns the activation bytes of a rank and micro-batch of the model with `layers` layers."""
    path, dte = folder / "config.json", folder / "model.dte"
    path.write_text(json.dumps({**config, layers_key(config): layers}))
    dtc("compile", path, "--seq-len", sequence, "--topology", "cpu", "--devices", tp, "--global-batch", batch,
        "--max-memory", "none", "--fix", f"dp=1,tp={tp},sp={sp},zero=0,micro_batch={batch},recompute=none", "-o", dte)
    (program,) = json.loads(dtc("inspect", dte, "--format", "json"))["programs"]
    return sum(each["bytes"] for each in program["communication"] if each["role"] == "activation")


def measured(folder, config, batch, sequence, layers, tp, sp):
    few, more = (compiled(folder, config, batch, sequence, depth, tp, sp) for depth in COMPILED_LAYERS)
    return few + (layers - COMPILED_LAYERS[0]) * (more - few)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=",".join(CASES))
    parser.add_argument("--tp", default="2,4,8")
    parser.add_argument("--sp", default="0,1")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    unknown = set(options.models.split(",")) - set(CASES)
    if unknown:
        sys.exit(f"no model {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    above = 0
    print(f"{'model':12} {'tp':>2} {'sp':>2} {'MB sent':>10} {'Megatron':>10} {'ratio':>6}")
    with tempfile.TemporaryDirectory() as name:
        for model in options.models.split(","):
            config, batch, sequence, layers = CASES[model]
            for tp in map(int, options.tp.split(",")):
                for sp in map(int, options.sp.split(",")):
                    found = measured(Path(name), config, batch, sequence, layers, tp, sp)
                    wanted = megatron(config, batch, sequence, layers, tp, sp)
                    above += found > wanted
                    print(f"{model:12} {tp:2} {sp:2} {found / 1e6:10.1f} {float(wanted) / 1e6:10.1f} "
                          f"{float(found / wanted):6.3f}"
                          f"{'  above' if found > wanted else ''}", flush=True)
    if above:
        print(f"{above} above Megatron")
    return 1 if options.check and above else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Writes compiler/describe/frontend/HfTable.inc: the keys that transformers' config classes know,
and the effect of each.

pip install torch==2.8.0 transformers==5.24.0
tools/hf-config-table.py [--check]      # --check fails if the file in the tree differs

Nothing is copied from documentation. The defaults are those of the classes, null is allowed if a tiny model can be
built and trained with it, and the effect of a key is found by changing it: Model if the parameters, the loss or the
gradients of a tiny model change (in training mode, with all weights given), Start if only the initial weights do,
else Nothing.
"""
import argparse
import json
import re
import sys
from dataclasses import fields
from pathlib import Path

import torch
import transformers
from transformers import (AutoModelForCausalLM, AutoModelForImageClassification, AutoModelForMaskedLM,
                          AutoModelForSeq2SeqLM, AutoModelForSequenceClassification)
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.modeling_rope_utils import RotaryEmbeddingConfigMixin

VERSION = "5.24.0"
FRONTEND = Path(__file__).resolve().parents[1] / "compiler" / "describe" / "frontend"
OUT = FRONTEND / "HfTable.inc"
ROTARY = ("default", "dynamic", "linear", "llama3", "longrope", "proportional", "yarn")  # the types that dtc builds
LLAMA = dict(vocab_size=32, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2,
             num_key_value_heads=1, max_position_embeddings=64, attention_dropout=0.1)
# Latent attention with experts behind one layer without.
LATENT = dict(num_key_value_heads=2, kv_lora_rank=8, qk_nope_head_dim=4, qk_rope_head_dim=4, v_head_dim=6,
              n_routed_experts=8, num_experts_per_tok=2, moe_intermediate_size=8, n_shared_experts=2,
              first_k_dense_replace=1, routed_scaling_factor=2.0, pad_token_id=5)
# These values turn on features of a type's tiny model, so that its keys matter, or fit its default to a small one. The
# others are those of LLAMA that the class has.
TINY = {
    "distilbert": dict(vocab_size=32, dim=16, n_layers=2, n_heads=2, hidden_dim=24, max_position_embeddings=64),
    "electra": {"embedding_size": 8},
    "gptj": dict(vocab_size=32, n_embd=16, n_layer=2, n_head=2, n_positions=64, rotary_dim=4, resid_pdrop=0.1,
                 embd_pdrop=0.1, attn_pdrop=0.1),
    "modernbert": {"local_attention": 4, "pad_token_id": 5, "embedding_dropout": 0.1, "mlp_dropout": 0.1,
                   "classifier_dropout": 0.1},
    "phi": {"resid_pdrop": 0.1, "embd_pdrop": 0.1},
    "vit": {"image_size": 8, "patch_size": 4, "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1},
    "cohere2": {"sliding_window": 4, "layer_types": ["sliding_attention", "full_attention"]},
    "deepseek_v2": {**LATENT, "q_lora_rank": 12, "topk_method": "group_limited_greedy", "n_group": 4,
                    "topk_group": 1},
    "deepseek_v3": {**LATENT, "q_lora_rank": 12, "n_group": 2, "topk_group": 1},
    "gemma2": {"sliding_window": 4, "head_dim": 8, "query_pre_attn_scalar": 8},
    "gemma3_text": {"sliding_window": 4, "head_dim": 8, "query_pre_attn_scalar": 8,
                    "layer_types": ["sliding_attention", "full_attention"]},
    "glm": {"pad_token_id": 5},
    "glm4": {"pad_token_id": 5},
    "glm4_moe": {"n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 8, "n_group": 2,
                 "topk_group": 1, "pad_token_id": 5},
    "gpt2": dict(vocab_size=32, n_embd=16, n_layer=2, n_head=2, n_positions=64),
    "gpt_neox": {"hidden_dropout": 0.1, "rotary_pct": 0.5},
    "gpt_oss": {"num_local_experts": 4, "num_experts_per_tok": 2, "head_dim": 8, "sliding_window": 4,
                "layer_types": ["sliding_attention", "full_attention"], "output_router_logits": True,
                "router_aux_loss_coef": 0.5},
    "granitemoe": {"num_local_experts": 3, "output_router_logits": True, "router_aux_loss_coef": 0.5},
    "ministral": {"sliding_window": 4, "head_dim": 8},
    "mistral": {"sliding_window": 4},
    "mixtral": {"sliding_window": 4, "num_local_experts": 3, "output_router_logits": True, "router_aux_loss_coef": 0.5,
                "router_jitter_noise": 0.1},
    "olmo3": {"sliding_window": 4, "layer_types": ["sliding_attention", "full_attention"]},
    "olmoe": {"num_experts": 4, "num_experts_per_tok": 2, "output_router_logits": True, "router_aux_loss_coef": 0.5},
    "phi3": {"sliding_window": 4, "resid_pdrop": 0.1, "embd_pdrop": 0.1, "pad_token_id": 5},
    "qwen2": {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1},
    "qwen2_moe": {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1, "num_experts": 4,
                  "num_experts_per_tok": 2, "moe_intermediate_size": 8, "shared_expert_intermediate_size": 12,
                  "output_router_logits": True, "router_aux_loss_coef": 0.5},
    "qwen3": {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1},
    "qwen3_moe": {"use_sliding_window": True, "sliding_window": 4, "num_experts": 4, "num_experts_per_tok": 2,
                  "moe_intermediate_size": 8, "output_router_logits": True, "router_aux_loss_coef": 0.5},
    "smollm3": {"use_sliding_window": True, "sliding_window": 4, "no_rope_layer_interval": 2, "pad_token_id": 5},
    "stablelm": {"hidden_dropout": 0.1, "partial_rotary_factor": 0.5},
    "t5": dict(vocab_size=32, d_model=16, d_kv=6, d_ff=24, num_layers=2, num_heads=2, decoder_start_token_id=0,
               relative_attention_num_buckets=8, relative_attention_max_distance=12),
    "starcoder2": {"sliding_window": 4, "residual_dropout": 0.1, "embedding_dropout": 0.1},
}
# These keys are read by a class without being fields of it: the base of rotary embedding, and its part of a head.
# Keys that a class reads without a field for them, with the value that absence means.
UNDECLARED_KEYS = {"t5": {"decoder_start_token_id": None, "tie_word_embeddings": True}}
ROTARY_KEYS = {"gpt_neox": ("rotary_emb_base", "rotary_pct"), "modernbert": ("global_rope_theta", "")}
LOCAL_KEYS = {"modernbert": "local_rope_theta"}  # the base of layers with a window, which others call otherwise
# These are other values of keys whose default does not show their kind, or which have few values.
OTHERS = {
    "activation_function": ["relu"], "architectures": [["Other"]], "attn_logit_softcapping": [2.0],
    "bos_token_id": [3], "dtype": ["bfloat16"], "eos_token_id": [3], "final_logit_softcapping": [2.0],
    "classifier_pooling": ["mean"], "clip_qkv": [0.01], "image_size": [12], "patch_size": [2], "head_dim": [4],
    "hidden_act": ["relu"], "hidden_activation": ["relu"], "id2label": [{0: "a"}],
    "label2id": [{"a": 0}],
    "layer_types": [["full_attention"] * 2], "n_inner": [24], "no_rope_layers": [[1, 1]],
    "pad_token_id": [3], "problem_type": ["regression"],
    "rope_parameters": [{"rope_type": "linear", "factor": 2.0}], "sliding_window": [2], "summary_activation": ["tanh"],
    "transformers_version": ["4.0.0"], "decoder_start_token_id": [3], "feed_forward_proj": ["gated-gelu"],
}


def rows_in(name):
    """Returns the types of a table of families."""
    return re.findall(r'\.type = "(\w+)"', (FRONTEND / name).read_text())


def kinds():
    """Returns the types that dtc builds: gpt2, t5 and the rows of the tables of families."""
    return ["gpt2", "t5"] + rows_in("Families.cpp") + rows_in("Encoders.cpp")


def models_of(kind):
    """Yields the classes that dtc builds of a type, with inputs and labels."""
    ids = torch.arange(32).reshape(2, 16) * 7 % 32
    if kind == "vit":
        pixels = torch.arange(2 * 3 * 12 * 12).reshape(2, 3, 12, 12) * 7 % 32 / 16 - 1
        yield AutoModelForImageClassification, {"pixel_values": pixels, "labels": torch.tensor([0, 1])}
    elif kind in rows_in("Encoders.cpp"):
        inputs = {"input_ids": ids, "attention_mask": (torch.arange(16) < torch.tensor([[16], [11]])).long()}
        yield AutoModelForMaskedLM, {**inputs, "labels": ids}
        yield AutoModelForSequenceClassification, {**inputs, "labels": torch.tensor([0, 1])}
    elif kind == "t5":
        yield AutoModelForSeq2SeqLM, {"input_ids": ids, "labels": torch.where(ids < 8, -100, ids)}
    else:
        yield AutoModelForCausalLM, {"input_ids": ids, "labels": ids}


def tiny(kind):
    """Returns the tiny config of a type."""
    names = {field.name for field in fields(CONFIG_MAPPING[kind])}
    return {**{key: value for key, value in LLAMA.items() if key in names}, **TINY.get(kind, {})}


def trained(kind, config):
    """Returns the initial weights by names, and the losses and gradients of given weights, of all classes of a type."""
    starts, losses, grads = {}, 0.0, {}
    for model_class, inputs in models_of(kind):
        start, loss, grad = trained_class(model_class, CONFIG_MAPPING[kind](**json.loads(json.dumps(config))), inputs)
        starts.update({f"{model_class.__name__} {name}": value for name, value in start.items()})
        grads.update({f"{model_class.__name__} {name}": value for name, value in grad.items()})
        losses += loss
    return starts, losses, grads


def trained_class(model_class, config, inputs):
    torch.manual_seed(1)
    model = model_class.from_config(config).float().train()
    model.set_attn_implementation("eager")
    start = {name: value.detach().clone() for name, value in model.named_parameters()}
    generator = torch.Generator().manual_seed(2)
    for _, value in sorted(model.named_parameters()):
        value.data = 0.3 * torch.randn(value.shape, generator=generator)
    if "pixel_values" in inputs:
        size = config.image_size
        inputs = {**inputs, "pixel_values": inputs["pixel_values"][:, :config.num_channels, :size, :size]}
    torch.manual_seed(3)  # seeds dropout and noise
    loss = model(**inputs)[0]  # works for a tuple, too, which return_dict asks for
    loss.backward()
    return start, loss.item(), {name: value.grad for name, value in model.named_parameters()}


def tried(kind, config):
    try:
        return trained(kind, config)
    except Exception:  # any error of a class or a model: it takes no such value
        return None


def same(a, b):
    return (a is b
            or (a is not None and b is not None and a.shape == b.shape and torch.allclose(a, b, rtol=1e-4, atol=1e-6)))


def effect_of(kind, key, default, base):
    """Returns the effect of changing a key: Model also if it takes none of the other values."""
    config = tiny(kind)
    value = config.get(key, default)
    others = OTHERS.get(key) or ([not value] if isinstance(value, bool) else
                                 [value * 2, value + 1, value / 2] if isinstance(value, float) else
                                 [value * 2, value + 1, 1] if isinstance(value, int) else [str(value) + "x"])
    effects = []
    for other in others:
        found = tried(kind, {**config, key: other})
        if found is None:
            continue
        starts, loss, grads = found
        if sorted(starts) != sorted(base[0]) or abs(loss - base[1]) > 1e-5 or \
                not all(same(grad, base[2][name]) for name, grad in grads.items()):
            return "Model"
        effects.append("Nothing" if all(same(value, base[0][name]) for name, value in starts.items()) else "Start")
    return "Model" if not effects else "Start" if "Start" in effects else "Nothing"


def quoted(value):
    text = json.dumps(value)
    return f'R"({text})"' if '"' in text else f'"{text}"'


def rows_of(kind):
    config_class, base = CONFIG_MAPPING[kind], trained(kind, tiny(kind))
    keys = {field.name: field.default for field in fields(config_class)}
    keys.update(UNDECLARED_KEYS.get(kind, {}))
    if hasattr(config_class(), "rope_parameters"):
        theta, part = ROTARY_KEYS.get(kind, ("rope_theta", "partial_rotary_factor"))
        bases = config_class.default_theta  # of layers without and with a window, if they have different ones
        local = LOCAL_KEYS.get(kind, "rope_local_base_freq")
        keys.update({theta: bases["global"], local: bases["local"]} if isinstance(bases, dict) else {theta: bases})
        if "partial_rotary_factor" in config_class().rope_parameters:
            keys[part] = config_class().rope_parameters["partial_rotary_factor"]
    for key, default in sorted(keys.items()):
        nullable = tried(kind, {**tiny(kind), key: None}) is not None
        yield (f'DTC_HF_KEY("{kind}", "{key}", {quoted(default)}, {json.dumps(nullable)}, '
               f'{effect_of(kind, key, default, base)})')
    for alias, key in sorted(config_class.attribute_map.items()):
        yield f'DTC_HF_ALIAS("{kind}", "{alias}", "{key}")'


def rotary_rows():
    """Returns the keys without which transformers refuses a type of rotary embedding."""
    wanted = {}

    def note(rope_type, received, required, *rest, **more):
        wanted[rope_type] = set(required)

    RotaryEmbeddingConfigMixin._check_received_keys = staticmethod(note)
    of_type = {"llama3": dict(low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16),
               "longrope": dict(short_factor=[1.0] * 64, long_factor=[2.0] * 64)}
    for rope_type in ROTARY:
        CONFIG_MAPPING["llama"](rope_parameters={"rope_type": rope_type, "factor": 2.0, **of_type.get(rope_type, {})})
        # The file need not have the keys that the class fills in by itself.
        for key in sorted(wanted[rope_type] - {"rope_type", "rope_theta", "original_max_position_embeddings"}):
            yield f'DTC_HF_ROTARY("{rope_type}", "{key}")'


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    torch.set_num_threads(1)  # tiny models
    if transformers.__version__ != VERSION:
        sys.exit(f"transformers is {transformers.__version__}, wanted {VERSION}")
    lines = [f"// Written by tools/hf-config-table.py from transformers {VERSION}. Do not edit.",
             "// clang-format off",
             f'DTC_HF_VERSION("{VERSION}")',
             "// DTC_HF_KEY(type, key, its default as JSON, whether null is allowed, what it changes)",
             "// DTC_HF_ALIAS(type, another name of a key, the key)",
             "// DTC_HF_ROTARY(type of rotary embedding, a key that it needs)"]
    for kind in kinds():
        lines += rows_of(kind)
    text = "\n".join(lines + list(rotary_rows())) + "\n"
    if check and OUT.read_text() != text:
        sys.exit(f"{OUT} is not what transformers {VERSION} has; run tools/hf-config-table.py")
    OUT.write_text(text)
    print(f"{text.count('DTC_HF_KEY(') - 1} keys of {len(kinds())} types, transformers {VERSION}")


if __name__ == "__main__":
    main()

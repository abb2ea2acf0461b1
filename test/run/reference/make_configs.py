#!/usr/bin/env python3
"""Makes data/configs.json for like_transformers.py: random configs and the results of transformers for them.

pip install torch==2.8.0 transformers==5.24.0
make_configs.py [--out data/configs.json] [--seed S] [--only TYPE,...]     # --only keeps the configs of other types

Each config has the elements of every parameter, by transformers' own classes. The small ones also have the mean
loss over tokens.bin in float32 and, for the gradient of each parameter, its norm and its product with a fixed vector.
Weights and vectors are those of weights.py. Keys are absent, null or present at random, under any of their names.
"""
import argparse
import json
import random
import sys
import tempfile
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file
from transformers import MODEL_FOR_CAUSAL_LM_MAPPING, AutoConfig, AutoModelForCausalLM, logging

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from reference.encoder_configs import ABSENT, MAKERS as ENCODERS  # noqa: E402
from reference.encoder_inputs import inputs_of  # noqa: E402
from reference.make_hugging_face import samples  # noqa: E402
from reference.weights import direction_of, weights_of  # noqa: E402

VERSION, DATA = "5.24.0", Path(__file__).resolve().parent / "data"
SEQUENCE = 16
SMALL = {"gpt2": 15, "llama": 17, "mistral": 14, "qwen2": 14}  # counts of configs with losses and gradients
# These configs are counted for their parameters only, and have any size.
COUNTED = {"gpt2": 3, "llama": 3, "mistral": 3, "mixtral": 8, "qwen2": 3}
# Each of these families has this many small configs and one that is counted. They have random numbers of their own, so
# that a family more leaves the configs of the others as they are.
FAMILIES, OF_FAMILY = ("cohere", "cohere2", "gemma", "gemma2", "gemma3_text", "glm", "glm4", "gpt_neox", "gptj",
                       "granite", "ministral", "olmo", "olmo2", "olmo3", "phi", "phi3", "qwen3", "smollm3", "stablelm",
                       "starcoder2"), 3
# Each type of encoders has this many small configs, with random numbers of their own, too.
OF_ENCODER = 4
# Each of these families has this many small configs whose windows hide keys, with random numbers of their own, too.
WINDOWED, OF_WINDOWED = ("cohere2", "mistral", "phi3", "qwen2", "qwen3", "smollm3", "starcoder2"), 2
HARMLESS = {
    "bos_token_id": [0, 60, None], "eos_token_id": [1, [2, 3]], "use_cache": [True, False],
    "torch_dtype": ["bfloat16", "float32"], "output_hidden_states": [False], "transformers_version": ["4.38.0"],
    "chunk_size_feed_forward": [0, 4], "_name_or_path": ["somewhere"], "initializer_range": [0.01, 0.02],
    "id2label": [{"0": "a", "1": "b"}], "problem_type": [None],
}


def gpt2(pick):
    heads, dim = pick(1, 2, 3, 4), pick(2, 4, 5, 8)
    aliases = {"n_embd": "hidden_size", "n_positions": "max_position_embeddings", "n_head": "num_attention_heads",
               "n_layer": "num_hidden_layers"}
    shape = {"n_embd": heads * dim, "n_positions": pick(16, 17, 24), "n_head": heads, "n_layer": pick(1, 2, 3)}
    return {
        **{pick(key, key, alias): shape[key] for key, alias in aliases.items()},
        "vocab_size": pick(61, 64, 67), "n_inner": pick(ABSENT, None, 16, 40), "pad_token_id": pick(ABSENT, None, 0, 7),
        "layer_norm_epsilon": pick(ABSENT, 1e-6, 1e-4, 1e-3), "tie_word_embeddings": pick(ABSENT, True, False),
        "activation_function": pick(ABSENT, "gelu_new", "gelu", "gelu_pytorch_tanh"),
        "scale_attn_weights": pick(ABSENT, True, False), "reorder_and_upcast_attn": pick(ABSENT, False, True),
        "summary_type": pick(ABSENT, "mean"), "scale_attn_by_inverse_layer_idx": pick(ABSENT, False),
        "add_cross_attention": pick(ABSENT, False),
        # Dropout stays off: its masks are other random numbers in transformers than in dtc.
        "resid_pdrop": 0.0, "embd_pdrop": 0, "attn_pdrop": 0.0,
    }


def rotary(pick):
    """Draws one of two spellings of the rotary base."""
    theta = pick(ABSENT, 100.0, 10000, 500000.0)
    kind = pick("absent", "null", "default", "linear", "llama3", "dynamic")
    if kind in ("absent", "null"):
        return {"rope_theta": theta, "rope_scaling": None if kind == "null" else ABSENT}
    values = {pick("rope_type", "type"): kind, "factor": ABSENT if kind == "default" else pick(2, 3.5, 8.0)}
    if kind == "llama3":
        values.update(low_freq_factor=pick(1.0, 0.5), high_freq_factor=pick(4.0, 3),
                      original_max_position_embeddings=pick(ABSENT, 8, 12))
    if pick(True, False):
        return {"rope_parameters": {**values, "rope_theta": theta}, "rope_theta": pick(ABSENT, theta)}
    return {"rope_scaling": values, "rope_theta": theta}


def llama_like(pick, heads, kv_heads, head_dim, **more):
    dim = pick(2, 4, 6, 8) if head_dim is ABSENT or head_dim is None else pick(2, 3, 4)
    return {
        "vocab_size": pick(61, 64, 67), "hidden_size": heads * dim, "intermediate_size": pick(8, 20, 33),
        "num_attention_heads": heads, "num_key_value_heads": kv_heads, "head_dim": head_dim,
        "num_hidden_layers": pick(1, 2, 3), "hidden_act": pick(ABSENT, "silu"),
        "max_position_embeddings": pick(ABSENT, 16, 64), "rms_norm_eps": pick(ABSENT, 1e-6, 1e-5, 1e-3),
        "attention_dropout":
        pick(ABSENT, 0.0, 0), "tie_word_embeddings": pick(ABSENT, True, False),
        "pad_token_id": pick(ABSENT, None, 0, 7, 60, -1, -3), **rotary(pick), **more,
    }


def llama(pick):
    heads, kv_heads = pick((4, 2), (4, 1), (3, ABSENT), (4, None), (2, 2), (6, 3))
    return llama_like(pick, heads, kv_heads, pick(ABSENT, ABSENT, None, 4, 6), attention_bias=pick(ABSENT, False, True),
                     mlp_bias=pick(ABSENT, False, True), pretraining_tp=pick(ABSENT, 1, 2))


def mistral(pick):
    heads, kv_heads = pick((8, ABSENT), (16, ABSENT), (4, 2), (3, 1))  # the class has 8
    return llama_like(pick, heads, kv_heads, pick(ABSENT, ABSENT, None, 4), sliding_window=pick(ABSENT, None, 16, 40))


def qwen2(pick):
    heads, kv_heads = pick((32, ABSENT), (64, ABSENT), (4, 2), (4, None), (3, 1))  # the class has 32
    layers = pick(1, 2, 3)
    config = llama_like(pick, heads, kv_heads, pick(ABSENT, ABSENT, 4) if heads < 32 else ABSENT,
                       num_hidden_layers=layers, use_sliding_window=pick(ABSENT, False),
                       sliding_window=pick(ABSENT, None, 4, 40), max_window_layers=pick(ABSENT, 0, 1),
                       layer_types=pick(ABSENT, ABSENT, None, ["full_attention"] * layers))
    if heads >= 32:
        config["hidden_size"] = heads * 2
    if pick(True, False, False):  # a window that no layer uses, or that is longer than every sequence
        config.update(use_sliding_window=True, layer_types=ABSENT,
                      **pick({"sliding_window": 4, "max_window_layers": layers},
                                                                        {"sliding_window": 4,
                                                                            "max_window_layers": ABSENT},
                                                                        {"sliding_window": 16, "max_window_layers": 0}))
    return config


def mixtral(pick):
    heads, kv_heads = pick((8, ABSENT), (4, 2))
    return llama_like(pick, heads, kv_heads, pick(ABSENT, None, 4), num_experts_per_tok=pick(ABSENT, 1, 2),
                     router_aux_loss_coef=pick(ABSENT, 0.02), output_router_logits=pick(ABSENT, False, True),
                     sliding_window=pick(ABSENT, None),
                     **{pick("num_local_experts", "num_experts"): pick(ABSENT, 3, 4)})


def qwen3(pick):
    config = qwen2(pick)
    heads, kv_heads = pick((4, 2), (4, 4), (3, 1))
    return {**config, "hidden_size": 4 * pick(3, 6), "num_attention_heads": heads, "num_key_value_heads": kv_heads,
            "head_dim": pick(4, 6, 8), "attention_bias": pick(ABSENT, False, True)}


def grouped(pick):
    return pick((4, 2), (4, ABSENT), (3, None), (6, 3))


def olmo2(pick):
    return llama_like(pick, *grouped(pick), pick(ABSENT, ABSENT, None, 4, 6), attention_bias=pick(ABSENT, False, True),
                     pad_token_id=pick(ABSENT, None, 0, 60))


def granite(pick):
    return llama_like(pick, *grouped(pick), pick(ABSENT, ABSENT, 4), attention_bias=pick(ABSENT, False, True),
                     mlp_bias=pick(ABSENT, True), embedding_multiplier=pick(ABSENT, 12, 0.5),
                     logits_scaling=pick(ABSENT, 8.0, 3), residual_multiplier=pick(ABSENT, 0.22),
                     attention_multiplier=pick(ABSENT, 0.25))


def smollm3(pick):
    heads, kv_heads = pick((8, ABSENT), (4, 2), (4, None))  # the class has 4
    layers = pick(2, 3, 4)
    return llama_like(pick, heads, kv_heads, pick(ABSENT, ABSENT, 4), num_hidden_layers=layers,
                     attention_bias=pick(ABSENT, True), mlp_bias=pick(ABSENT, True),
                     pad_token_id=pick(None, 0, 60), use_sliding_window=pick(ABSENT, False),
                     sliding_window=pick(ABSENT, None, 4), no_rope_layer_interval=pick(ABSENT, 2, 3),
                     no_rope_layers=pick(ABSENT, ABSENT, [0] + [1] * layers, [0] * layers),
                     layer_types=pick(ABSENT, ["full_attention"] * layers))


def part_of_head(pick, config, name):
    """Puts the rotated part of a head beside the parameters of rotary embedding, or into them."""
    part = pick(ABSENT, 0.5, 1.0, 0.75)
    inside = next((config[key] for key in ("rope_parameters", "rope_scaling") if config.get(key) not in (ABSENT, None)),
                  None)
    if inside and pick(True, False):
        inside["partial_rotary_factor"] = part
    else:
        config[name] = part
    return config


def gpt_neox(pick):
    heads, dim = pick(2, 3, 4), pick(8, 16)
    config = {
        "vocab_size": pick(61, 64, 67), "hidden_size": heads * dim, "intermediate_size": pick(8, 20, 33),
        "num_attention_heads": heads, "num_hidden_layers": pick(1, 2), "hidden_act": pick(ABSENT, "gelu_new", "relu"),
        "max_position_embeddings": pick(ABSENT, 16, 64), "layer_norm_eps": pick(ABSENT, 1e-6, 1e-3),
        "tie_word_embeddings": pick(ABSENT, True, False), "pad_token_id": pick(ABSENT, None, 0, 7),
        "use_parallel_residual": pick(ABSENT, True, False), "attention_bias": pick(ABSENT, True, False),
        "hidden_dropout": pick(ABSENT, 0.0), "classifier_dropout": pick(ABSENT, 0.1), **rotary(pick),
    }
    config["rotary_emb_base"] = config.pop("rope_theta")
    return part_of_head(pick, config, "rotary_pct")


def phi3(pick):
    heads, kv_heads = grouped(pick)
    config = llama_like(pick, heads, kv_heads, ABSENT, hidden_size=heads * 8, rope_scaling=pick(ABSENT, None),
                       rope_parameters=pick(ABSENT, {"rope_type": "default"}), rope_theta=pick(ABSENT, 100.0),
                       pad_token_id=pick(None, 0, 60), resid_pdrop=pick(ABSENT, 0.0), embd_pdrop=pick(ABSENT, 0.0, 0.1),
                       original_max_position_embeddings=pick(ABSENT, 16), sliding_window=pick(ABSENT, None, 16, 2047))
    return part_of_head(pick, config, "partial_rotary_factor")


def gemma(pick):
    heads, kv_heads = pick((16, ABSENT), (4, 2), (4, 1), (3, 3))  # the class has 16
    return llama_like(pick, heads, kv_heads, pick(4, 6), hidden_size=pick(12, 20), pad_token_id=pick(ABSENT, None, 60),
                     hidden_act=pick(ABSENT, "gelu", "gelu_pytorch_tanh"), attention_bias=pick(ABSENT, False, True),
                     use_bidirectional_attention=pick(ABSENT, None, False))


def kinds_of_layers(pick, layers):
    return pick(ABSENT, ABSENT, [pick("full_attention", "sliding_attention") for _ in range(layers)])


def gemma2(pick):
    heads, kv_heads = pick((4, 2), (8, ABSENT), (3, 3))  # the class has 8 heads and 4 kv heads
    layers = pick(1, 2, 3)
    return llama_like(pick, heads, kv_heads, pick(4, 6, 8), hidden_size=24, num_hidden_layers=layers, hidden_act=ABSENT,
                     hidden_activation=pick(ABSENT, "gelu", "gelu_pytorch_tanh"), pad_token_id=pick(ABSENT, None, 60),
                     attention_bias=pick(ABSENT, False, True), query_pre_attn_scalar=pick(ABSENT, 4, 9),
                     attn_logit_softcapping=pick(ABSENT, None, 0.5, 2.0), layer_types=kinds_of_layers(pick, layers),
                     final_logit_softcapping=pick(ABSENT, None, 1.5), sliding_window=pick(3, 5, ABSENT))


def by_kind(pick, config):
    """Puts rotary embedding into the objects of layers without and with a window, or leaves the older spelling."""
    if "rope_parameters" in config:
        parameters = config.pop("rope_parameters")
        config["rope_theta"] = ABSENT
        local = {"rope_type": "default", "rope_theta": pick(ABSENT, 100.0)}
        config["rope_parameters"] = {"full_attention": parameters, "sliding_attention": local}
    elif pick(True, False):
        config["rope_parameters"] = pick(ABSENT, {"sliding_attention": {"rope_type": "linear", "factor": 2.0}})
        if config["rope_parameters"] is not ABSENT:
            config["rope_scaling"] = ABSENT
    return config


def gemma3_text(pick):
    config = {**gemma2(pick), "sliding_window_pattern": pick(ABSENT, 2), "rope_local_base_freq": pick(ABSENT, 50.0),
              "attn_logit_softcapping": pick(ABSENT, None, 2.0), "num_key_value_heads": 1}
    return by_kind(pick, config)


def ministral(pick):
    heads, kv_heads = pick((8, ABSENT), (16, ABSENT), (4, 2), (3, 1))  # the class has 8
    layers = pick(1, 2, 3)
    return llama_like(pick, heads, kv_heads, pick(4, 6), num_hidden_layers=layers, sliding_window=pick(ABSENT, 3, 5),
                     layer_types=kinds_of_layers(pick, layers))


def olmo3(pick):
    layers = pick(2, 4, 5)
    config = {**olmo2(pick), "head_dim": ABSENT, "hidden_size": 24, "num_attention_heads": pick(4, 6),
              "num_key_value_heads": pick(ABSENT, None, 2), "num_hidden_layers": layers,
              "sliding_window": pick(3, 5), "layer_types": kinds_of_layers(pick, layers)}
    return by_kind(pick, config)


def windowed(kind, pick):
    """Draws a config of a family whose windows hide keys of a sequence of SEQUENCE tokens."""
    config = {**MAKERS[kind](pick), "sliding_window": pick(1, 3, 5, 9)}
    layers = config["num_hidden_layers"]
    if kind in ("qwen2", "qwen3"):
        config.update(use_sliding_window=True, max_window_layers=pick(0, layers - 1),
                      layer_types=kinds_of_layers(pick, layers))
    elif kind == "smollm3":
        config.update(use_sliding_window=True, layer_types=kinds_of_layers(pick, layers))
    elif kind == "cohere2":
        config.update(layer_types=kinds_of_layers(pick, layers))
    return config


def starcoder2(pick):
    heads, kv_heads = pick((4, ABSENT), (6, 3), (3, 1))  # the class has 2
    return llama_like(pick, heads, kv_heads, pick(ABSENT, ABSENT, 4), hidden_act=pick(ABSENT, "gelu", "relu", "silu"),
                     rms_norm_eps=ABSENT, norm_epsilon=pick(ABSENT, 1e-6, 1e-3), use_bias=pick(ABSENT, True, False),
                     residual_dropout=pick(ABSENT, 0), embedding_dropout=pick(ABSENT, 0.0),
                     sliding_window=pick(ABSENT, None, 16, 4096))


def stablelm(pick):
    heads, kv_heads = pick((4, 2), (3, 1), (4, 4))
    config = llama_like(pick, heads, kv_heads, ABSENT, hidden_size=heads * 8, rms_norm_eps=ABSENT,
                       layer_norm_eps=pick(ABSENT, 1e-6, 1e-3),
                       use_qkv_bias=pick(ABSENT, False, True), use_parallel_residual=pick(ABSENT, False, True),
                       hidden_dropout=pick(ABSENT, 0.0), qk_layernorm=pick(ABSENT, False, True))
    return part_of_head(pick, config, "partial_rotary_factor")


def glm(pick):
    heads, kv_heads = pick((4, ABSENT), (6, 3), (4, 1))  # the class has 2
    config = llama_like(pick, heads, kv_heads, 8, hidden_size=pick(12, 20), pad_token_id=pick(None, 0, 60),
                       attention_bias=pick(ABSENT, True, False))
    return part_of_head(pick, config, "partial_rotary_factor")


def cohere(pick):
    heads, kv_heads = grouped(pick)
    return llama_like(pick, heads, kv_heads, ABSENT, hidden_size=heads * pick(4, 8), rms_norm_eps=ABSENT,
                     layer_norm_eps=pick(ABSENT, 1e-6, 1e-3), logit_scale=pick(ABSENT, 0.25, 2.0),
                     attention_bias=pick(ABSENT, True, False), use_qk_norm=pick(True, False, ABSENT, True))


def cohere2(pick):
    layers = pick(2, 3, 4)
    kinds = [pick("full_attention", "sliding_attention") for _ in range(layers)]
    return {**cohere(pick), "use_qk_norm": ABSENT, "num_hidden_layers": layers, "layer_types": pick(ABSENT, kinds),
            "sliding_window": pick(ABSENT, 16), "sliding_window_pattern": pick(ABSENT, 2)}


def gptj(pick):
    config = gpt2(pick)
    heads = pick(2, 3, 4)
    width = "hidden_size" if "hidden_size" in config else "n_embd"
    count = "num_attention_heads" if "num_attention_heads" in config else "n_head"
    kept = ("n_layer", "num_hidden_layers", "n_positions", "max_position_embeddings", "vocab_size", "n_inner",
            "layer_norm_epsilon", "tie_word_embeddings", "activation_function", "resid_pdrop", "embd_pdrop",
            "attn_pdrop")
    return {**{key: value for key, value in config.items() if key in kept}, width: heads * 8, count: heads,
            "rotary_dim": pick(2, 4, 8)}


def olmo(pick):
    return {**olmo2(pick), "head_dim": ABSENT, "hidden_size": 24, "num_attention_heads": pick(4, 6),
            "num_key_value_heads": pick(ABSENT, None, 2), "rms_norm_eps": ABSENT,
            "clip_qkv": pick(ABSENT, None, 0.1, 0.3)}


def phi(pick):
    heads, kv_heads = grouped(pick)
    config = llama_like(pick, heads, kv_heads, ABSENT, hidden_size=heads * 8, rms_norm_eps=ABSENT,
                       layer_norm_eps=pick(ABSENT, 1e-6, 1e-3), hidden_act=pick(ABSENT, "gelu_new", "relu"),
                       qk_layernorm=pick(ABSENT, False, True), resid_pdrop=pick(ABSENT, 0.0))
    return part_of_head(pick, config, "partial_rotary_factor")


MAKERS = {**ENCODERS, "gptj": gptj, "olmo": olmo, "phi": phi, "gpt2": gpt2, "llama": llama, "mistral": mistral,
          "mixtral": mixtral, "qwen2": qwen2, "cohere": cohere,
          "cohere2": cohere2, "gemma": gemma, "glm": glm, "glm4": glm, "stablelm": stablelm, "starcoder2": starcoder2,
          "gemma2": gemma2, "gemma3_text": gemma3_text, "ministral": ministral, "olmo3": olmo3,
          "gpt_neox": gpt_neox, "granite": granite, "olmo2": olmo2, "phi3": phi3, "qwen3": qwen3, "smollm3": smollm3}


def without_absent(config):
    return {key: without_absent(value) if isinstance(value, dict) else value for key, value in config.items()
            if value is not ABSENT}


def draw(rng, kind, is_small, maker):
    def pick(*values):
        return rng.choice(values)

    config = without_absent({"model_type": kind, **maker(pick)})
    for key, values in HARMLESS.items():
        # Keys of heads, and one that T5 does not have.
        is_other = key in ("id2label", "problem_type") or (kind == "t5" and key == "initializer_range")
        if rng.random() < 0.2 and not (kind in ENCODERS and is_other):
            config[key] = rng.choice(values)
    if not is_small:  # the values of the class
        for key in list(config):
            if key != "model_type" and rng.random() < 0.7 and not key.startswith("rope"):
                del config[key]
    return config


def load(config):
    """Loads a config as transformers reads the file."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text(json.dumps(config))
        return AutoConfig.from_pretrained(folder)


def in_files(kind, name):
    """Returns the name under which transformers saves a parameter."""
    return name.replace("lm_head", "embed_out") if kind == "gpt_neox" else name


def counted(config):
    config = load(config)
    # The module of this class must not be loaded on the meta device.
    model_class = MODEL_FOR_CAUSAL_LM_MAPPING[type(config)]
    with torch.device("meta"):
        model = model_class(config)
    return {in_files(config.model_type, name): [value.numel()] for name, value in model.named_parameters()}


def runs(config):
    """Returns true if heads share the width and kv heads in equal numbers; otherwise no forward pass succeeds."""
    loaded = load(config)
    if not getattr(loaded, "head_dim", None) and loaded.hidden_size % loaded.num_attention_heads:
        return False
    return (loaded.num_attention_heads % (getattr(loaded, "num_key_value_heads", None) or loaded.num_attention_heads)
            == 0)


def file_names(model):
    """Returns parameters by the names that files have, which are not always those of the class."""
    for number, value in enumerate(model.parameters()):
        value.data.fill_(number)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        numbers = {int(value.flatten()[0]): name for name, value in load_file(f"{folder}/model.safetensors").items()}
    return {numbers[number]: value for number, value in enumerate(model.parameters())}


def encoded(config, rows):
    """Returns the loss of an encoder and, of each parameter, elements, norm and product of the gradient, and shape."""
    model_class = getattr(transformers, config["architectures"][0])
    model = model_class._from_config(load(config), attn_implementation="eager", dtype=torch.float32).train()
    parameters = file_names(model)
    for name, value in parameters.items():
        value.data = torch.tensor(weights_of(name, value.numel()), dtype=torch.float32).reshape(value.shape)
    if config["model_type"] == "t5":  # in f32 its gradient of few buckets, a sum that cancels, is wrong by 3e-5
        model.double()
    inputs = {name: torch.tensor(numbers, dtype=torch.long if is_whole else torch.float32).reshape(shape)
              for name, (shape, numbers, is_whole) in inputs_of(config, rows[:, :-1].tolist()).items()}
    loss = model(**inputs).loss
    loss.backward()
    return rounded(loss, parameters, True)


def rounded(loss, parameters, has_shapes=False):
    gradients = {}
    for name, value in parameters.items():
        grad = torch.zeros_like(value) if value.grad is None else value.grad
        grad = grad.double().flatten()
        direction = torch.tensor(direction_of(name, grad.numel()), dtype=torch.float64)
        gradients[name] = [grad.numel(),
                           *(float(f"{number:.8g}") for number in (grad.norm().item(), grad.dot(direction).item())),
                           *([list(value.shape)] if has_shapes else [])]
    return float(f"{loss.item():.9g}"), gradients


def trained(config, rows):
    if config["model_type"] in ENCODERS:
        return encoded(config, rows)
    # In float32 from the start: some classes have constants that they would round to the type of the file.
    model = AutoModelForCausalLM.from_config(load(config), attn_implementation="eager", dtype=torch.float32).train()
    parameters = {in_files(config["model_type"], name): value for name, value in model.named_parameters()}
    for name, value in parameters.items():
        value.data = torch.tensor(weights_of(name, value.numel()), dtype=torch.float32).reshape(value.shape)
    logits = model(rows[:, :-1]).logits
    loss = torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), rows[:, 1:].reshape(-1))
    loss.backward()
    return rounded(loss, parameters)


def cases_of(rng, kind, number, is_small, rows, maker=None, ending=""):
    """Draws `number` configs of a type, and yields those that run with their results."""
    for index in range(number):
        while True:
            config = draw(rng, kind, is_small, maker or MAKERS[kind])
            try:
                case = {"name": f"{kind}-{index}{ending if is_small else '-counted'}", "config": config,
                        "parameters": {} if kind in ENCODERS else counted(config)}
                if is_small:
                    case["loss"], case["parameters"] = trained(config, rows)
                break
            except Exception as error:  # any kind: such a config has no meaning, and another is drawn
                print(f"transformers refuses {config}: {str(error)[:200]}")
        if runs(config):
            yield case


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=DATA / "configs.json")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="draws configs of these types, separated by commas, and keeps the others")
    arguments = parser.parse_args()
    if transformers.__version__ != VERSION:
        sys.exit(f"transformers is {transformers.__version__}, wanted {VERSION}")
    logging.set_verbosity_error()
    torch.set_num_threads(1)
    rows, cases, only = torch.tensor(samples(DATA / "tokens.bin")), [], None
    if arguments.only:
        only = arguments.only.split(",")
        cases = [case for case in json.loads(arguments.out.read_text())["cases"]
                 if case["config"]["model_type"] not in only]
    rng = random.Random(arguments.seed)
    for numbers, is_small in ((SMALL, True), (COUNTED, False)):
        for kind, number in numbers.items():
            cases += cases_of(rng, kind, number, is_small, rows) if only is None else []
    for kind in FAMILIES:
        rng = random.Random(f"{arguments.seed} {kind}")
        if only is None or kind in only:
            cases += [*cases_of(rng, kind, OF_FAMILY, True, rows), *cases_of(rng, kind, 1, False, rows)]
    for kind in WINDOWED:
        rng = random.Random(f"{arguments.seed} {kind} with windows")
        if only is None or kind in only:
            cases += cases_of(rng, kind, OF_WINDOWED, True, rows, lambda pick: windowed(kind, pick), "-windowed")
    for kind in ENCODERS:
        if only is None or kind in only:
            cases += cases_of(random.Random(f"{arguments.seed} {kind}"), kind, OF_ENCODER, True, rows)
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    arguments.out.write_text(f'{{"transformers": "{VERSION}", "sequence": {SEQUENCE}, "cases": [\n{lines}\n]}}\n')
    print(f"{len(cases)} configs, {arguments.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()

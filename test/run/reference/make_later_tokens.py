#!/usr/bin/env python3
"""Makes data/later_tokens.json for later_tokens.py: models that predict later tokens, and their losses and gradients.

pip install torch==2.8.0 transformers==5.24.0
make_later_tokens.py [--out data/later_tokens.json]

The layers are those of transformers' classes: the last ones of a model with so many more serve the modules. The rest of
a module, and the losses, are written here as in Megatron-LM (megatron/core/transformer/multi_token_prediction.py,
d98e8a64): a module reads the normalised output of what is before it, and the embedding of later tokens; the embedding
and the output layer are those of the model. Names are those of DeepSeek's files. Weights and vectors are those of
weights.py. Some targets of the last case do not count.
"""
import argparse
import json
import sys
import tempfile
from pathlib import Path

import torch
import transformers
from transformers import logging

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from reference.make_configs import VERSION, rounded  # noqa: E402
from reference.make_expert_configs import SAMPLES, SEQUENCE, megatron_losses, saved, watch_routers  # noqa: E402
from reference.make_expert_configs import with_weights  # noqa: E402
from reference.make_hugging_face import samples  # noqa: E402
from reference.weights import weights_of  # noqa: E402

DATA = Path(__file__).resolve().parent / "data"
IGNORED = -100
DEEPSEEK = {"model_type": "deepseek_v3", "vocab_size": 67, "hidden_size": 24, "num_attention_heads": 4,
            "num_key_value_heads": 4, "num_hidden_layers": 2, "intermediate_size": 12, "max_position_embeddings": 64,
            "rms_norm_eps": 1e-05, "tie_word_embeddings": False, "attention_dropout": 0.0, "kv_lora_rank": 8,
            "q_lora_rank": 12, "qk_nope_head_dim": 6, "qk_rope_head_dim": 4, "v_head_dim": 4, "n_routed_experts": 8,
            "moe_intermediate_size": 8, "n_shared_experts": 1, "first_k_dense_replace": 1,
            "routed_scaling_factor": 2.5, "num_experts_per_tok": 2, "n_group": 2, "topk_group": 2}
GLM = {"model_type": "glm4_moe", "vocab_size": 61, "hidden_size": 16, "num_attention_heads": 4,
       "num_key_value_heads": 2, "num_hidden_layers": 2, "intermediate_size": 12, "max_position_embeddings": 64,
       "rms_norm_eps": 1e-05, "attention_dropout": 0.0, "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1,
       "topk_group": 1, "moe_intermediate_size": 6, "n_shared_experts": 1, "head_dim": 8, "first_k_dense_replace": 0,
       "partial_rotary_factor": 0.5}
MEGATRON = {"moe_router_load_balancing_type": "seq_aux_loss", "moe_aux_loss_coeff": 0.5, "moe_z_loss_coeff": 0.1}
CASES = {
    "deepseek": {**DEEPSEEK, "num_nextn_predict_layers": 1},
    "two": {**DEEPSEEK, "num_nextn_predict_layers": 2, "mtp_loss_scaling_factor": 0.75},
    "glm": {**GLM, "num_nextn_predict_layers": 1, "mtp_loss_scaling_factor": 0.5, "tie_word_embeddings": True},
    "balanced": {**GLM, **MEGATRON, "num_nextn_predict_layers": 1, "mtp_loss_scaling_factor": 0.5},
    "ignored": {**DEEPSEEK, "num_nextn_predict_layers": 2, "mtp_loss_scaling_factor": 0.75}}


def module_parameters(config):
    """Returns the parameters of the modules beside their layers, by their names in files."""
    width, first = config["hidden_size"], config["num_hidden_layers"]
    shapes = {"enorm": [width], "hnorm": [width], "eh_proj": [width, 2 * width], "shared_head.norm": [width]}
    return {f"model.layers.{first + depth}.{name}.weight": torch.tensor(
        weights_of(f"model.layers.{first + depth}.{name}.weight", torch.Size(shape).numel()),
        dtype=torch.float32).reshape(shape).requires_grad_()
            for depth in range(config["num_nextn_predict_layers"]) for name, shape in shapes.items()}


def norm(x, weight, epsilon):
    return x * (x.square().mean(-1, keepdim=True) + epsilon).rsqrt() * weight


def losses_of(model, config, own, tokens, targets):
    """Returns the mean loss of the next tokens, and that of each module over the targets that are so far behind."""
    base, first, epsilon = model.model, config["num_hidden_layers"], config["rms_norm_eps"]
    places = torch.arange(SEQUENCE).expand(len(tokens), -1)
    mask = torch.full((SEQUENCE, SEQUENCE), float("-inf")).triu(1).expand(len(tokens), 1, -1, -1)

    def run(layer, x):
        out = layer(x, attention_mask=mask, position_ids=places,
                    position_embeddings=base.rotary_emb(x, position_ids=places))
        return out[0] if isinstance(out, tuple) else out

    x = base.embed_tokens(tokens)
    for layer in base.layers[:first]:
        x = run(layer, x)
    x = base.norm(x)
    entropy = torch.nn.functional.cross_entropy
    counted = (targets != IGNORED).sum()
    losses = [entropy(model.lm_head(x).flatten(0, 1), targets.flatten(), ignore_index=IGNORED)]
    for depth in range(1, config["num_nextn_predict_layers"] + 1):
        part = f"model.layers.{first + depth - 1}."
        later = torch.cat([tokens[:, depth:], torch.zeros_like(tokens[:, :depth])], 1)
        labels = torch.cat([targets[:, depth:], torch.full_like(targets[:, :depth], IGNORED)], 1)
        both = torch.cat([norm(base.embed_tokens(later), own[part + "enorm.weight"], epsilon),
                          norm(x, own[part + "hnorm.weight"], epsilon)], -1)
        x = run(base.layers[first + depth - 1], both @ own[part + "eh_proj.weight"].T)
        x = norm(x, own[part + "shared_head.norm.weight"], epsilon)
        total = entropy(model.lm_head(x).flatten(0, 1), labels.flatten(), ignore_index=IGNORED, reduction="sum")
        losses.append(total / (counted * (SEQUENCE - depth) / SEQUENCE))
    return losses


def case_of(name, config, rows):
    tokens, targets = rows[:, :-1], rows[:, 1:].clone()
    if name == "ignored":
        targets[torch.arange(targets.numel()).reshape(targets.shape) % 7 < 2] = IGNORED
    more = {key: value for key, value in config.items() if key != "num_nextn_predict_layers"}
    more["num_hidden_layers"] += config["num_nextn_predict_layers"]
    own = module_parameters(config)
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        model, buffers = with_weights(more, folder)
        routers, _ = watch_routers(model)
        first, *later = losses_of(model, config, own, tokens, targets)
        loss = first + config.get("mtp_loss_scaling_factor", 0.1) * sum(later) / len(later)
        if "moe_aux_loss_coeff" in config:
            loss = loss + sum(megatron_losses(config, each.reshape(len(rows), SEQUENCE, -1)) for each in routers)
        loss.backward()
        for value in model.parameters():
            value.data = torch.zeros_like(value) if value.grad is None else value.grad
        gradients = saved(model, folder)
    shapes = {key: list(value.shape) for key, value in gradients.items() if key in buffers}
    parameters = {key: value.requires_grad_() for key, value in gradients.items() if key not in buffers}
    for value in parameters.values():
        value.grad = value.detach()
    number, norms = rounded(loss, {**parameters, **own}, has_shapes=True)
    return {"name": name, "config": config, "loss": number, "parameters": norms, "buffers": shapes,
            "targets": targets.tolist() if name == "ignored" else None}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=DATA / "later_tokens.json")
    arguments = parser.parse_args()
    if transformers.__version__ != VERSION:
        sys.exit(f"transformers is {transformers.__version__}, wanted {VERSION}")
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    torch.set_num_threads(1)
    rows = torch.tensor(samples(DATA / "tokens.bin"))[:SAMPLES]
    lines = ",\n".join(json.dumps(case_of(name, config, rows), separators=(",", ":")) for name, config in CASES.items())
    arguments.out.write_text(f'{{"transformers": "{VERSION}", "sequence": {SEQUENCE}, "samples": {SAMPLES}, "cases": '
                             f'[\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()

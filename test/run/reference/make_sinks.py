#!/usr/bin/env python3
"""Prints the loss and the gradients that ../sinks.py expects: Mistral of transformers, with sinks as GPT-OSS has them.

pip install torch==2.8.0 transformers==5.24.0
"""
import json
import sys
from pathlib import Path

import torch
from transformers import AttentionInterface, MistralConfig, MistralForCausalLM
from transformers.masking_utils import AttentionMaskInterface, eager_mask

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from make_hugging_face import samples  # noqa: E402
from sinks import CONFIG, MODELS, SAMPLES  # noqa: E402
from weights import direction_of, weights_of  # noqa: E402

DATA = Path(__file__).resolve().parent / "data"


def attend(module, query, key, value, mask, scaling, dropout=0.0, **_):
    """The function of modeling_gpt_oss.py: the sinks are scores of one more key, which has no value."""
    key, value = (each.repeat_interleave(module.num_key_value_groups, 1) for each in (key, value))
    scores = query @ key.mT * scaling
    if module.cap:
        scores = module.cap * torch.tanh(scores / module.cap)
    scores = scores + mask
    sinks = module.sinks.reshape(1, -1, 1, 1).expand(scores.shape[0], -1, scores.shape[2], -1)
    weights = torch.softmax(torch.cat([scores, sinks], -1), -1)[..., :-1]
    return (weights @ value).transpose(1, 2).contiguous(), weights


def results_of(keys, cap):
    """Returns the loss of a model, and a norm and a product for each gradient."""
    keys = {key: value for key, value in {**CONFIG, **keys}.items() if key != "model_type"}
    model = MistralForCausalLM(MistralConfig(**keys, attn_implementation="sinks")).float()
    for layer in model.model.layers:
        layer.self_attn.cap = cap
        layer.self_attn.sinks = torch.nn.Parameter(torch.zeros(CONFIG["num_attention_heads"]))
    for name, value in model.named_parameters():
        value.data = torch.tensor(weights_of(name, value.numel()), dtype=torch.float32).reshape(value.shape)
    rows = torch.tensor(samples(DATA / "tokens.bin"))[:SAMPLES]
    logits = model(rows[:, :-1]).logits
    loss = torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), rows[:, 1:].reshape(-1))
    loss.backward()
    gradients = {}
    for name, value in model.named_parameters():
        grad = value.grad.double().flatten()
        direction = torch.tensor(direction_of(name, grad.numel()), dtype=torch.float64)
        gradients[name] = [list(value.shape), *(float(f"{number:.7g}") for number in (grad.norm().item(),
                                                                                      grad.dot(direction).item()))]
    return {"loss": float(f"{loss.item():.8g}"), "gradients": gradients}


def main():
    AttentionInterface.register("sinks", attend)
    AttentionMaskInterface.register("sinks", eager_mask)
    results = {name: results_of(*model) for name, model in MODELS.items()}
    (DATA / "sinks.json").write_text(json.dumps(results) + "\n")


if __name__ == "__main__":
    main()

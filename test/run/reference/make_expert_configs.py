#!/usr/bin/env python3
"""Makes data/expert_configs.json for experts.py: random mixtures of experts and the results of transformers for them.

pip install torch==2.8.0 transformers==5.24.0
make_expert_configs.py [--out data/expert_configs.json] [--seed S]

Each config has every tensor of a checkpoint by its name in files, with its shape and, if it is trained, the norm of its
gradient and its product with a fixed vector, and the mean loss over samples of tokens.bin in float32, with the loss of
uneven use where the config asks for it. Of routers with a correction it has how often each expert was chosen. Weights
and vectors are those of weights.py.
"""
import argparse
import json
import random
import sys
import tempfile
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import MODEL_FOR_CAUSAL_LM_MAPPING, AutoConfig, logging

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from reference.expert_configs import MAKERS  # noqa: E402
from reference.make_configs import VERSION, rounded, without_absent  # noqa: E402
from reference.make_hugging_face import samples  # noqa: E402
from reference.weights import weights_of  # noqa: E402

DATA = Path(__file__).resolve().parent / "data"
SEQUENCE, SAMPLES, OF_FAMILY = 16, 8, 3
# The first config of each of these families is there with the losses of Megatron-LM, too, with its keys.
WITH_CORRECTION = ("deepseek_v3", "glm4_moe")
MEGATRON = {"moe_router_load_balancing_type": "seq_aux_loss", "moe_aux_loss_coeff": 0.5, "moe_z_loss_coeff": 0.1}


def saved(model, folder):
    model.save_pretrained(folder)
    return load_file(folder / "model.safetensors")


def with_weights(config, folder):
    """Returns transformers' model with the weights of weights.py, loaded from a file, and the names of its buffers."""
    (folder / "config.json").write_text(json.dumps(config))
    loaded = AutoConfig.from_pretrained(folder)
    model_class = MODEL_FOR_CAUSAL_LM_MAPPING[type(loaded)]
    model = model_class._from_config(loaded, dtype=torch.float32)
    # Some weights start as zeros that no module sets.
    tensors = {name: torch.tensor(weights_of(name, value.numel()), dtype=torch.float32).reshape(value.shape)
               for name, value in saved(model, folder).items()}
    buffers = {name for name, _ in model.named_buffers()}
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config))
    # Experts one after the other: their other implementations need more of torch, and round in another order.
    model = model_class.from_pretrained(folder, attn_implementation="eager", experts_implementation="eager",
                                        dtype=torch.float32)
    return model.train(), buffers


def megatron_losses(config, logits):
    """Returns the losses of a router as Megatron-LM has them, of logits [samples, tokens, experts]: of the uneven use
    of experts in each sample, by sigmoid scores, and of large logits. Source: megatron/core/transformer/moe, d98e8a64.
    """
    scores = logits.sigmoid()
    scores = scores / (scores.sum(-1, keepdim=True) + 1e-20)
    _, tokens, experts = scores.shape
    top = config["num_experts_per_tok"]
    chosen = torch.zeros_like(scores).scatter(-1, scores.topk(top).indices, 1.0)
    uneven = (scores.sum(1) * chosen.sum(1)).sum(-1) * experts / (top * tokens ** 2)
    return (config["moe_aux_loss_coeff"] * uneven.mean()
            + config["moe_z_loss_coeff"] * logits.logsumexp(-1).square().mean())


def watch_routers(model):
    """Returns lists that a forward pass fills with the logits of routers that have a correction, and with the name of
    each correction and the choices of each expert.
    """
    logits, uses = [], {}

    def note(name):
        def hook(_, __, output):
            logits.append(output[0])
            uses[f"{name}.e_score_correction_bias"] = output[2].flatten().bincount(minlength=output[0].shape[-1])
        return hook

    for name, module in model.named_modules():
        if hasattr(module, "e_score_correction_bias"):
            module.register_forward_hook(note(name))
    return logits, uses


def loss_of(model, rows, routers, keys):
    output = model(rows[:, :-1])
    logits = output.logits
    loss = torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), rows[:, 1:].reshape(-1))
    if "moe_aux_loss_coeff" in keys:
        return loss + sum(megatron_losses(keys, each.reshape(len(rows), SEQUENCE, -1)) for each in routers)
    if not getattr(model.config, "output_router_logits", False):
        return loss
    config, module = model.config, sys.modules[type(model).__module__]
    count = getattr(config, "num_local_experts", None) or config.num_experts
    return loss + config.router_aux_loss_coef * module.load_balancing_loss_func(
        output.router_logits, count, config.num_experts_per_tok)


def case_of(name, config, rows):
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        model, buffers = with_weights(config, folder)
        routers, uses = watch_routers(model)
        loss = loss_of(model, rows, routers, config)
        loss.backward()
        for value in model.parameters():
            value.data = torch.zeros_like(value) if value.grad is None else value.grad
        gradients = saved(model, folder)
    shapes = {key: list(value.shape) for key, value in gradients.items() if key in buffers}
    parameters = {key: value.requires_grad_() for key, value in gradients.items() if key not in buffers}
    for value in parameters.values():
        value.grad = value.detach()
    number, norms = rounded(loss, parameters, has_shapes=True)
    return {"name": name, "config": config, "loss": number, "parameters": norms, "buffers": shapes,
            "uses": {key: counts.tolist() for key, counts in uses.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=DATA / "expert_configs.json")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if transformers.__version__ != VERSION:
        sys.exit(f"transformers is {transformers.__version__}, wanted {VERSION}")
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    torch.set_num_threads(1)
    rows, cases = torch.tensor(samples(DATA / "tokens.bin"))[:SAMPLES], []
    for kind, maker in MAKERS.items():
        rng = random.Random(f"{arguments.seed} {kind}")
        for index in range(OF_FAMILY):
            config = without_absent({"model_type": kind, **maker(lambda *values: rng.choice(values))})
            cases.append(case_of(f"{kind}-{index}", config, rows))
    drawn = {case["name"]: case["config"] for case in cases}
    for kind in WITH_CORRECTION:
        cases.append(case_of(f"{kind}-megatron", {**drawn[f"{kind}-0"], **MEGATRON}, rows))
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    arguments.out.write_text(f'{{"transformers": "{VERSION}", "sequence": {SEQUENCE}, "samples": {SAMPLES}, "cases": '
                             f'[\n{lines}\n]}}\n')
    print(f"{len(cases)} configs, {arguments.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()

"""Folders of Hugging Face: the model of a config.json as a module whose inputs are tokens and whose
output is logits."""

import json
import os

import torch

from dtc.errors import ExportError


class CausalLanguageModel(torch.nn.Module):
    """A language model of transformers as a function of tokens. Names of parameters are those of
    the model itself."""

    def __init__(self, model):
        super().__init__()
        for name, child in model.named_children():
            self.add_module(name, child)
        object.__setattr__(self, "model_", model)

    def forward(self, tokens):
        return self.model_(input_ids=tokens, use_cache=False).logits


def load_folder(folder):
    """Returns the module of a folder with config.json, in training mode, with the weights where the
    folder has some."""
    path = os.path.join(folder, "config.json")
    if not os.path.isfile(path):
        raise ExportError(
            f"{folder} has no config.json; SPEC is a Hugging Face folder or package.module:callable"
        )
    try:
        with open(path, encoding="utf-8") as file:
            kinds = json.load(file).get("architectures") or []
    except ValueError as error:
        raise ExportError(f"{path} is no JSON: {error}") from None
    if kinds and not any(kind.endswith(("ForCausalLM", "LMHeadModel")) for kind in kinds):
        raise ExportError(
            f"{folder} is a {kinds[0]}, but only causal language models are known as folders: write"
            " a function that returns (module, example_inputs) and give it as"
            " package.module:callable"
        )
    try:
        import transformers
    except ImportError:
        raise ExportError(
            "a Hugging Face folder needs transformers: pip install transformers"
        ) from None
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    has_weights = any(name.endswith((".safetensors", ".bin")) for name in os.listdir(folder))
    try:
        if has_weights:
            model = transformers.AutoModelForCausalLM.from_pretrained(
                folder, attn_implementation="sdpa", dtype=torch.float32
            )
        else:
            config = transformers.AutoConfig.from_pretrained(folder)
            model = transformers.AutoModelForCausalLM.from_config(
                config, attn_implementation="sdpa"
            ).float()
    except Exception as error:
        raise ExportError(
            f"transformers can't load {folder}: {str(error).strip().splitlines()[0]}"
        ) from error
    return CausalLanguageModel(model.train())


def positions_of(module):
    """Returns how long a sequence the model takes at most, or None."""
    return getattr(module.model_.config, "max_position_embeddings", None)

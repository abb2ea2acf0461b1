"""Folders of Hugging Face: the model of a config.json as a module, with its inputs and its loss.

A causal language model takes tokens and gives logits. Encoders and encoder-decoders take the inputs
of transformers under their names, with a mask of padding, and give the loss of their class.
"""

import json
import os

import torch

from dtc.errors import ExportError

CAUSAL = ("ForCausalLM", "LMHeadModel")
MASKED, PAIRED, IMAGES = "ForMaskedLM", "ForConditionalGeneration", "ForImageClassification"
LABELLED = ("ForSequenceClassification", IMAGES)
TOKENS_LABELLED = (MASKED, PAIRED, "ForTokenClassification")


class Wrapped(torch.nn.Module):
    """A model of transformers, whose parameters keep the names that they have there."""

    def __init__(self, model):
        super().__init__()
        for name, child in model.named_children():
            self.add_module(name, child)
        for name, parameter in model.named_parameters(recurse=False):
            self.register_parameter(name, parameter)
        object.__setattr__(self, "model_", model)


class CausalLanguageModel(Wrapped):
    """A language model as a function of tokens."""

    def forward(self, tokens):
        return self.model_(input_ids=tokens, use_cache=False).logits


class Masked(Wrapped):
    """The loss of a model that reads padded tokens."""

    def forward(self, input_ids, attention_mask, labels):
        return self.model_(
            input_ids=input_ids, attention_mask=attention_mask, labels=labels
        ).loss


class MaskedWithTypes(Wrapped):
    """The loss of a model that reads padded tokens of two texts."""

    def forward(self, input_ids, attention_mask, token_type_ids, labels):
        return self.model_(
            input_ids=input_ids,
            attention_mask=attention_mask,
            token_type_ids=token_type_ids,
            labels=labels,
        ).loss


class Paired(Wrapped):
    """The loss of an encoder and decoder, whose decoder reads the labels behind its first token."""

    def forward(self, input_ids, attention_mask, labels):
        return self.model_(
            input_ids=input_ids, attention_mask=attention_mask, labels=labels, use_cache=False
        ).loss


class OfImages(Wrapped):
    """The loss of a model that reads images."""

    def forward(self, pixel_values, labels):
        return self.model_(pixel_values=pixel_values, labels=labels).loss


def from_folder(folder, length):
    """Returns (module, example inputs, loss) of a folder, as dtc.export takes them."""
    kind = kind_of(folder)
    if length is None and not kind.endswith(IMAGES):
        raise ExportError("a Hugging Face folder needs --seq-len, the tokens of a sample")
    if length is not None and kind.endswith(IMAGES):
        raise ExportError("--seq-len is of texts, but the folder has a model of images")
    model = load_folder(folder, kind)
    longest = positions_of(model)
    if length is not None and (length < 1 or longest is not None and length > longest):
        raise ExportError(f"--seq-len is {length}, but the model takes 1 to {longest} tokens")
    tokens = None if length is None else torch.zeros(2, length, dtype=torch.long)
    if kind.endswith(CAUSAL):
        return CausalLanguageModel(model), {"tokens": tokens, "targets": tokens}, "cross_entropy"
    labels = labels_of(model.config) if kind.endswith(LABELLED) else tokens
    if kind.endswith(IMAGES):
        return OfImages(model), {"pixel_values": images_of(model.config), "labels": labels}, None
    inputs = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens), "labels": labels}
    if kind.endswith(PAIRED):
        return Paired(model), inputs, None
    if (getattr(model.config, "type_vocab_size", None) or 0) > 1:
        return MaskedWithTypes(model), {**inputs, "token_type_ids": tokens}, None
    return Masked(model), inputs, None


def kind_of(folder):
    """Returns the class that a folder's config.json names; a causal language model where it names
    none."""
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
    known = (*CAUSAL, *LABELLED, *TOKENS_LABELLED)
    if kinds and not kinds[0].endswith(known):
        raise ExportError(
            f"{folder} is a {kinds[0]}, but of folders only classes are known whose names end in"
            f" {', '.join(known)}: write a function that returns (module, example_inputs) and give"
            " it as package.module:callable"
        )
    return kinds[0] if kinds else CAUSAL[0]


def load_folder(folder, kind):
    """Returns the model of a folder, in training mode, with the weights where the folder has
    some."""
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
        named = (
            transformers.AutoModelForCausalLM
            if kind.endswith(CAUSAL)
            else getattr(transformers, kind)
        )
        config = transformers.AutoConfig.from_pretrained(folder)
        if has_weights:
            model = load(named, folder, config)
        elif kind.endswith(CAUSAL):
            model = named.from_config(config, attn_implementation="sdpa").float()
        else:
            model = named._from_config(config, attn_implementation="sdpa").float()
    except Exception as error:
        raise ExportError(
            f"transformers can't load {folder}: {str(error).strip().splitlines()[0]}"
        ) from error
    return model.train()


def load(named, folder, config):
    """Returns a model with the weights of a folder; refuses weights that lack some of it, which
    transformers would draw at random."""
    model, said = named.from_pretrained(
        folder,
        config=config,
        attn_implementation="sdpa",
        dtype=torch.float32,
        output_loading_info=True,
    )
    if said["missing_keys"]:
        raise ExportError(
            f"the weights have no '{sorted(said['missing_keys'])[0]}', which {type(model).__name__}"
            " has"
        )
    return model


def labels_of(config):
    """Returns example labels of samples, whose kind follows from the config as in transformers,
    which reads it of the labels themselves where the config does not say it."""
    if config.problem_type is None:
        config.problem_type = (
            "regression" if config.num_labels == 1 else "single_label_classification"
        )
    if config.problem_type == "single_label_classification":
        return torch.zeros(2, dtype=torch.long)
    is_one = config.problem_type == "regression" and config.num_labels == 1
    return torch.zeros(2) if is_one else torch.zeros(2, config.num_labels)


def images_of(config):
    """Returns example images."""
    size = config.image_size
    height, width = size if isinstance(size, (list, tuple)) else (size, size)
    return torch.zeros(2, config.num_channels, height, width)


def positions_of(model):
    """Returns how long a sequence the model takes at most, or None."""
    longest = getattr(model.config, "max_position_embeddings", None)
    tables = (each for name, each in model.named_modules() if name.endswith("position_embeddings"))
    table = next((each for each in tables if isinstance(each, torch.nn.Embedding)), None)
    # Positions behind a padding row, as RoBERTa has them, are fewer than the rows.
    skipped = 0 if table is None or table.padding_idx is None else table.padding_idx + 1
    return None if longest is None else longest - skipped

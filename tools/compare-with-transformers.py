#!/usr/bin/env python3
"""Compares a model that dtc builds of a config.json with the one of transformers: parameters, loss, every gradient.

pip install torch transformers==5.24.0        # release of the table of keys; cmake --build build --target dtc dtrun
tools/compare-with-transformers.py CONFIG.json [--seq-len 16] [--samples 4] [--fix dp=1,tp=2]

The config is that of a small model of any type that dtc imports, of the class that `architectures` names. Both sides
get the same random weights, from a folder that transformers saves, and the same random inputs: tokens, with padding and
masked words for an encoder, or images; dropout is off. The folder is then imported as a checkpoint and
exported again, which must give every tensor back. Exits with 0 if the parameters are the same, and the loss and each
gradient differ by at most --tolerance, relative to its norm.
"""
import argparse
import array
import dataclasses
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
import torch
import transformers
from transformers import (MODEL_FOR_CAUSAL_LM_MAPPING, MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING,
                          MODEL_FOR_MASKED_LM_MAPPING, MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING, AutoConfig)
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(os.environ.get("DTC_BIN", ROOT / "build" / "bin"))
TABLE = ROOT / "compiler" / "describe" / "frontend" / "HfTable.inc"
MOST_PARAMETERS = 100_000_000  # more take long for a check
sys.path.insert(0, str(ROOT / "test" / "run"))
from dtc_tools import read_safetensors  # noqa: E402


def run(*command):
    """Runs a command and returns what it prints; ends with its message if it fails."""
    command = [str(part) for part in command]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(command)}\n{result.stderr.strip()}")
    return result.stdout


def without_dropout(config):
    """Returns a config whose masks are off: they are other random numbers in dtc than in transformers."""
    fields = [field.name for field in dataclasses.fields(CONFIG_MAPPING[config["model_type"]])]
    return {**config, **{key: 0.0 for key in [*config, *fields] if "dropout" in key or key.endswith("_pdrop")}}


def class_of(config, is_encoder):
    """Returns the class of transformers that the config names, or the usual one of its type."""
    if config.architectures:
        return getattr(transformers, config.architectures[0])
    if config.is_encoder_decoder:
        return MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING[type(config)]
    if not is_encoder:
        return MODEL_FOR_CAUSAL_LM_MAPPING[type(config)]
    mapping = MODEL_FOR_MASKED_LM_MAPPING
    return (mapping if type(config) in mapping else MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING)[type(config)]


def random_model(model_class, folder):
    """Returns transformers' model of folder/config.json with random weights, also those that start as 0 or 1."""
    torch.manual_seed(1)
    # In float32 from the start: some classes have constants that they would round to the type of the file.
    config = AutoConfig.from_pretrained(folder)
    model = model_class._from_config(config, attn_implementation="eager", dtype=torch.float32)
    saved = model.state_dict()
    buffers = [value for name, value in model.named_buffers() if name in saved and value.is_floating_point()]
    for value in [*model.parameters(), *buffers]:  # a correction bias of experts is a buffer
        value.data += 0.1 * torch.randn_like(value)
    return model.train()


def inputs_of(text):
    """Returns name -> shape of one sample and whether it is of numbers, of the inputs of imported graph IR."""
    names = dict(re.findall(r"^!(\S+) = (tensor<\S+>)", text, re.MULTILINE))
    (arguments,) = re.findall(r"graph\.func @loss\((.*?)\)\s*->", text, re.DOTALL)
    inputs = {}
    for name, kind in re.findall(r"%(\w+): (\S+?)(?:,|$| \{)", arguments):
        *sizes, element = names.get(kind.lstrip("!"), kind)[len("tensor<?"):-1].split("x")
        inputs[name] = [int(size) for size in sizes if size], element == "f32"
    return inputs


def random_inputs(config, inputs, samples):
    """Returns name -> values: tokens with padding behind them, images, and labels."""
    found = {}
    for name, (shape, is_numbers) in inputs.items():
        shape = [samples, *shape]
        if name == "attention_mask":
            lengths = torch.randint(1, shape[1] + 1, (samples, 1))
            lengths[0] = shape[1]
            found[name] = (torch.arange(shape[1]) < lengths).long()
        elif name == "labels" and is_numbers:
            found[name] = torch.randint(0, 2, shape).float()
        elif is_numbers:
            found[name] = torch.randn(shape)
        else:
            words = config.type_vocab_size if name == "token_type_ids" else \
                config.num_labels if name == "labels" and len(shape) == 1 else config.vocab_size
            found[name] = torch.randint(0, words, shape)
            if name == "labels" and len(shape) > 1:  # most words are not masked
                kept = 0.8 if config.is_encoder_decoder else 0.3
                hidden = torch.rand(shape) >= kept
                found[name][hidden if config.is_encoder_decoder else hidden | (found["attention_mask"] == 0)] = -100
    return found


def expected(model, inputs, folder):
    """Returns transformers' loss and gradients of samples. The gradients have the names and shapes of files, which are
    not always those of the class: they are saved as if they were the weights.
    """
    if "tokens" in inputs:
        output = model(inputs["tokens"])
        logits = output.logits
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), inputs["targets"].reshape(-1))
        if getattr(model.config, "output_router_logits", False):  # the class adds it where it makes the loss itself
            module = sys.modules[type(model).__module__]
            count = getattr(model.config, "num_local_experts", None) or model.config.num_experts
            loss = loss + model.config.router_aux_loss_coef * module.load_balancing_loss_func(
                output.router_logits, count, model.config.num_experts_per_tok)
    else:
        loss = model(**inputs).loss
    loss.backward()
    buffers = {name for name, _ in model.named_buffers()}
    for value in model.parameters():
        value.data = torch.zeros_like(value) if value.grad is None else value.grad
    model.save_pretrained(folder)
    saved = read_safetensors(folder / "model.safetensors")
    return loss.item(), {name: entry for name, entry in saved.items() if name not in buffers}


def write_tokens(path, rows):
    """Writes samples as the tokens of a file in the form of llm.c, each one's last token the next one's first."""
    tokens = [rows[0][0], *(token for row in rows for token in row[1:])]
    header = array.array("i", [20240520, 1, len(tokens)] + [0] * 253)
    path.write_bytes(header.tobytes() + array.array("H", tokens).tobytes())


def write_inputs(folder, inputs):
    """Writes inputs as files; returns the argument of --data."""
    if "tokens" in inputs:
        write_tokens(folder / "tokens.bin", torch.cat([inputs["tokens"], inputs["targets"][:, -1:]], 1).tolist())
        return folder / "tokens.bin"
    for name, values in inputs.items():
        numpy.save(folder / f"{name}.npy", values.numpy())
    return ",".join(f"{name}={folder / name}.npy" for name in inputs)


def found(folder, config, data, arguments, length):
    """Returns dtc's loss and gradients."""
    axes = dict(pair.split("=") for pair in arguments.fix.split(","))
    ranks = math.prod(int(axes.get(axis, 1)) for axis in ("dp", "tp", "pp"))
    run(BIN / "dtc", "compile", config, *length, "--topology", "cpu", "--devices", ranks,
        "--global-batch", arguments.samples, "--fix", arguments.fix, "--precision", "f32", "-o", folder / "model.dte")
    out = run(BIN / "dtrun", folder / "model.dte", "-n", ranks, "--data", data, "--steps", 1, "--threads", 1, "--lr",
              0, "--init", config / "model.safetensors", "--dump-grads", folder / "gradients.safetensors", "--format",
              "json")
    steps = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    loss = next(step["loss"] for step in steps if "loss" in step)
    return loss, read_safetensors(folder / "gradients.safetensors")


def compare(wanted, found, tolerance):
    """Prints what differs; returns true if nothing does."""
    (loss, gradients), (own_loss, own) = wanted, found
    fine = sorted(gradients) == sorted(own)
    for name in sorted(set(gradients) ^ set(own)):
        print(f"only {'transformers' if name in gradients else 'dtc'} has '{name}'")
    worst = abs(loss - own_loss) / loss, "the loss"
    for name in sorted(set(gradients) & set(own)):
        shape, values = own[name]
        if list(shape) != list(gradients[name][0]):
            print(f"'{name}' is {list(shape)}, in transformers {list(gradients[name][0])}")
            fine = False
            continue
        wanted = torch.tensor(gradients[name][1], dtype=torch.float64)
        difference = (torch.tensor(values, dtype=torch.float64) - wanted).norm().item()
        # A gradient of nothing but rounding, as that of a bias of keys that nothing rotates, counts against the loss.
        relative = difference / max(wanted.norm().item(), 1e-3 * loss)
        if relative > tolerance:
            print(f"'{name}' has another gradient: {relative:.1e}")
        worst = max(worst, (relative, f"'{name}'"))
    elements = sum(len(values) for _, values in gradients.values())
    print(f"{len(gradients)} parameters, {elements} elements; loss {own_loss}, in "
          f"transformers {loss:.9g}; largest difference {worst[0]:.1e}, of {worst[1]}")
    return fine and worst[0] <= tolerance


def goes_there_and_back(model_class, folder, start):
    """Returns true if a checkpoint of the saved folder is exported with the same tensors, and transformers loads it."""
    run(BIN / "dtc", "checkpoint", "import", start, "-o", folder / "saved")
    run(BIN / "dtc", "checkpoint", "export", folder / "saved", "-o", folder / "again")
    before, after = (read_safetensors(path / "model.safetensors") for path in (start, folder / "again"))
    if before != after:
        print("an imported and exported checkpoint has other tensors")
        return False
    said = model_class.from_pretrained(folder / "again", output_loading_info=True)[1]
    left = [key for key in ("missing_keys", "unexpected_keys", "mismatched_keys") if said[key]]
    if left:
        print(f"transformers loads the exported folder with {', '.join(f'{key} {said[key]}' for key in left)}")
    return not left


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("config", type=Path)
    parser.add_argument("--seq-len", type=int, default=16)
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--fix", default="dp=1,tp=1", help="the plan, as of dtc compile")
    parser.add_argument("--tolerance", type=float, default=1e-4)
    arguments = parser.parse_args()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    if f'"{transformers.__version__}"' not in TABLE.read_text()[:300]:
        print(f"note: this is transformers {transformers.__version__}, another release than that of {TABLE.name}")
    with tempfile.TemporaryDirectory() as name:
        folder, start = Path(name), Path(name) / "start"
        start.mkdir()
        text = json.dumps(without_dropout(json.loads(arguments.config.read_text())))
        (start / "config.json").write_text(text)
        length = [] if '"image_size"' in text or '"vit"' in text else ["--seq-len", arguments.seq_len]
        run(BIN / "dtc", "import", start, *length, "-o", folder / "model.mlir")
        inputs = inputs_of((folder / "model.mlir").read_text())
        config = AutoConfig.from_pretrained(start)
        model_class = class_of(config, "labels" in inputs)  # its module cannot be loaded on the meta device
        with torch.device("meta"):
            size = sum(value.numel() for value in model_class(config).parameters())
        if size > MOST_PARAMETERS:
            sys.exit(f"{arguments.config} has {size} parameters; make its sizes smaller")
        model = random_model(model_class, start)
        model.save_pretrained(start)
        (start / "config.json").write_text(text)  # as the file says it, with what it leaves out
        if "tokens" in inputs:  # the last token of a sample is the first one of the next
            tokens = torch.randint(0, config.vocab_size, (arguments.samples * arguments.seq_len + 1,))
            values = {"tokens": tokens[:-1].reshape(arguments.samples, -1),
                      "targets": tokens[1:].reshape(arguments.samples, -1)}
        else:
            values = random_inputs(config, inputs, arguments.samples)
        own = found(folder, start, write_inputs(folder, values), arguments, length)
        fine = compare(expected(model, values, folder / "gradients"), own, arguments.tolerance)
        fine = goes_there_and_back(model_class, folder, start) and fine
        print("the same" if fine else "NOT the same")
        sys.exit(not fine)


if __name__ == "__main__":
    main()

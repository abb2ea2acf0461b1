#!/usr/bin/env python3
"""Compares a model that dtc builds of a config.json with the one of transformers: parameters, loss, every gradient.

pip install torch transformers==5.24.0        # release of the table of keys; cmake --build build --target dtc dtrun
tools/compare-with-transformers.py CONFIG.json [--seq-len 16] [--samples 4] [--fix dp=1,tp=2]

The config is that of a small model of any type that dtc imports. Both sides get the same random weights, from a folder
that transformers saves, and the same random tokens; dropout is off. The folder is then imported as a checkpoint and
exported again, which must give every tensor back. Exits with 0 if the parameters are the same, and the loss and each
gradient differ by at most --tolerance, relative to its norm.
"""
import argparse
import array
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import transformers
from transformers import MODEL_FOR_CAUSAL_LM_MAPPING, AutoConfig, AutoModelForCausalLM

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
    return {**config, **{key: 0.0 for key in config if "dropout" in key or key.endswith("_pdrop")}}


def random_model(folder):
    """Returns transformers' model of folder/config.json with random weights, also those that start as 0 or 1."""
    torch.manual_seed(1)
    # In float32 from the start: some classes have constants that they would round to the type of the file.
    config = AutoConfig.from_pretrained(folder)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager", dtype=torch.float32)
    for value in model.parameters():
        value.data += 0.1 * torch.randn_like(value)
    return model.train()


def expected(model, rows, folder):
    """Returns transformers' loss and gradients of samples. The gradients have the names and shapes of files, which are
    not always those of the class: they are saved as if they were the weights.
    """
    output = model(rows[:, :-1])
    logits = output.logits
    loss = torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), rows[:, 1:].reshape(-1))
    if getattr(model.config, "output_router_logits", False):  # the class adds it where it makes the loss itself
        module = sys.modules[type(model).__module__]
        count = getattr(model.config, "num_local_experts", None) or model.config.num_experts
        loss = loss + model.config.router_aux_loss_coef * module.load_balancing_loss_func(
            output.router_logits, count, model.config.num_experts_per_tok)
    loss.backward()
    buffers = {name for name, _ in model.named_buffers()}
    for value in model.parameters():
        value.data = torch.zeros_like(value) if value.grad is None else value.grad
    model.save_pretrained(folder)
    saved = read_safetensors(folder / "model.safetensors")
    return loss.item(), {name: torch.tensor(values).reshape(shape) for name, (shape, values) in saved.items()
                         if name not in buffers}


def write_tokens(path, rows):
    """Writes samples as the tokens of a file in the form of llm.c, each one's last token the next one's first."""
    tokens = [rows[0][0], *(token for row in rows for token in row[1:])]
    header = array.array("i", [20240520, 1, len(tokens)] + [0] * 253)
    path.write_bytes(header.tobytes() + array.array("H", tokens).tobytes())


def found(folder, config, tokens, arguments):
    """Returns dtc's loss and gradients."""
    axes = dict(pair.split("=") for pair in arguments.fix.split(","))
    ranks = math.prod(int(axes.get(axis, 1)) for axis in ("dp", "tp", "pp"))
    run(BIN / "dtc", "compile", config, "--seq-len", arguments.seq_len, "--topology", "cpu", "--devices", ranks,
        "--global-batch", arguments.samples, "--fix", arguments.fix, "--precision", "f32", "-o", folder / "model.dte")
    out = run(BIN / "dtrun", folder / "model.dte", "-n", ranks, "--data", tokens, "--steps", 1, "--threads", 1, "--lr",
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
        if list(shape) != list(gradients[name].shape):
            print(f"'{name}' is {list(shape)}, in transformers {list(gradients[name].shape)}")
            fine = False
            continue
        wanted = gradients[name].double().flatten()
        difference = (torch.tensor(values, dtype=torch.float64) - wanted).norm().item()
        # A gradient of nothing but rounding, as that of a bias of keys that nothing rotates, counts against the loss.
        relative = difference / max(wanted.norm().item(), 1e-3 * loss)
        if relative > tolerance:
            print(f"'{name}' has another gradient: {relative:.1e}")
        worst = max(worst, (relative, f"'{name}'"))
    elements = sum(value.numel() for value in gradients.values())
    print(f"{len(gradients)} parameters, {elements} elements; loss {own_loss}, in "
          f"transformers {loss:.9g}; largest difference {worst[0]:.1e}, of {worst[1]}")
    return fine and worst[0] <= tolerance


def goes_there_and_back(folder, start):
    """Returns true if a checkpoint of the saved folder is exported with the same tensors."""
    run(BIN / "dtc", "checkpoint", "import", start, "-o", folder / "saved")
    run(BIN / "dtc", "checkpoint", "export", folder / "saved", "-o", folder / "again")
    before, after = (read_safetensors(path / "model.safetensors") for path in (start, folder / "again"))
    if before != after:
        print("an imported and exported checkpoint has other tensors")
    else:  # raises an error if it cannot
        AutoModelForCausalLM.from_pretrained(folder / "again")
    return before == after


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
        run(BIN / "dtc", "import", start, "--seq-len", arguments.seq_len, "-o", folder / "model.mlir")
        config = AutoConfig.from_pretrained(start)
        model_class = MODEL_FOR_CAUSAL_LM_MAPPING[type(config)]  # its module cannot be loaded on the meta device
        with torch.device("meta"):
            size = sum(value.numel() for value in model_class(config).parameters())
        if size > MOST_PARAMETERS:
            sys.exit(f"{arguments.config} has {size} parameters; make its sizes smaller")
        model = random_model(start)
        model.save_pretrained(start)
        (start / "config.json").write_text(text)  # as the file says it, with what it leaves out
        tokens = torch.randint(0, config.vocab_size, (arguments.samples * arguments.seq_len + 1,)).tolist()
        rows = [tokens[at: at + arguments.seq_len + 1] for at in range(0, len(tokens) - 1, arguments.seq_len)]
        write_tokens(folder / "tokens.bin", rows)
        fine = compare(expected(model, torch.tensor(rows), folder / "wanted"),
                       found(folder, start, folder / "tokens.bin", arguments), arguments.tolerance)
        fine = goes_there_and_back(folder, start) and fine
        print("the same" if fine else "NOT the same")
        sys.exit(not fine)


if __name__ == "__main__":
    main()

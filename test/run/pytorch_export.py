#!/usr/bin/env python3
"""Modules that dtc.export writes train as PyTorch trains them, under every plan.

reference/pytorch_models.py has the modules: GPT-2, Llama and Qwen2 of transformers; a GPT with parallel residuals
whose attention, mask, rotary embedding, RMS norm and GELU are written out; a ViT; an MLP-mixer; a ConvNeXt with
gates; ResNet-18 and ResNet-50; an encoder and decoder with cross attention; losses by name and by function.
reference/pytorch_users.py has what others train: a segmenter, two towers, recurrent layers, a denoiser, tables, audio,
mixtures, likeness, a projector between frozen parts, autoencoders, a state space model. pytorch_masks.py has BERT and
T5 of transformers with padding, Gemma 3, and the attention of GPT-OSS. pytorch_states.py has a module whose forward
changes buffers. If PyTorch is installed, they are exported anew;
else reference/data/pytorch_export has the files that dtc.export wrote, and the results that PyTorch computed.

1. The loss and every gradient of the first step, and five steps of AdamW, are PyTorch's, on one process and under
   other plans. So are running statistics of batch norm, and other buffers that forward changes.
2. GPT-2, Llama and Qwen2 are the model that their config.json becomes: the same losses to the bit, the same
   instructions.
3. With PyTorch: the IR of 48 layers is no larger than that of 12; the stored files are those that are written now;
   dtc.load takes back trained parameters; the command dtc-export, also of folders of encoders and encoder-decoders
   (reference/pytorch_folders.py); modules that cannot be exported, with the message on each
   (reference/pytorch_refusals.py); random modules whose graph IR torch executes (reference/pytorch_fuzz.py),
   and small ones that are easily misread (reference/pytorch_small.py).

DTC_TORCH_PYTHON names an interpreter that has torch (and transformers); else this one and that of
bench/setup-peers.sh are tried.
Usage: pytorch_export.py [NAME...]: these cases only.
"""
import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from itertools import zip_longest
from pathlib import Path

from dtc_tools import (BIN, compare_steps, dtc, dump_gradients, read_gradients, read_safetensors, run, train,
                       write_npy, write_safetensors)

HERE = Path(__file__).resolve().parent
REFERENCE, STORED = HERE / "reference", HERE / "reference" / "data" / "pytorch_export"
sys.path.insert(0, str(REFERENCE))
from pytorch_export_data import ADAMW, BATCH, STEPS, input_of, values_of  # noqa: E402
from weights import direction_of  # noqa: E402

LOSS_TOLERANCE, TENSOR_TOLERANCE = 1e-5, 1e-4
CONFIGS = {
    "gpt2": {"model_type": "gpt2", "vocab_size": 61, "n_embd": 24, "n_head": 3, "n_layer": 2, "n_positions": 32,
             "attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0},
    "llama": {"model_type": "llama", "vocab_size": 61, "hidden_size": 24, "intermediate_size": 40,
              "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
              "max_position_embeddings": 32},
    "qwen2": {"model_type": "qwen2", "vocab_size": 61, "hidden_size": 24, "intermediate_size": 40,
              "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 32,
              "tie_word_embeddings": True},
}


def fail(what):
    sys.exit(f"FAILED: {what}")


def torch_python():
    """Returns an interpreter that has torch and transformers, or None."""
    places = [os.environ.get("DTC_TORCH_PYTHON"), sys.executable, str(BIN.parent / "bench-venv" / "bin" / "python")]
    for place in filter(None, places):
        if Path(place).exists() and subprocess.run([place, "-c", "import torch, transformers"],
                                                   stdin=subprocess.DEVNULL, capture_output=True).returncode == 0:
            return place
    return None


def write_data(folder, case):
    files = []
    for name, shape, below in case["inputs"]:
        values = input_of(name, shape, below)
        file = folder / f"{name}.npy"
        kind = ("<f4", "f") if below is None else ("<i4", "i")
        write_npy(file, *kind, (BATCH, *shape), values)
        files.append(f"{name}={file}")
    return ",".join(files)


def write_start(file, case):
    write_safetensors(file, {name: (shape, case["buffers"].get(name) or values_of(name, math.prod(shape)))
                             for name, shape in case["shapes"].items()})


def ranks_of(fix):
    return math.prod(int(value) for axis, value in (pair.split("=") for pair in fix.split(",") if pair)
                     if axis in ("dp", "tp", "pp"))


def summary(name, values):
    direction = direction_of(name, len(values))
    return math.sqrt(math.fsum(v * v for v in values)), math.fsum(a * b for a, b in zip(values, direction, strict=True))


def compare(found, wanted, what):
    """Compares tensors by norm and product with a fixed vector; the scale is at least 1e-3 of the largest norm."""
    if not wanted:
        return 0.0
    missing = [name for name in wanted if name not in found]
    if missing:
        fail(f"{what}: there is no '{missing[0]}'")
    floor, worst = 1e-3 * max(norm for norm, _ in wanted.values()), 0.0
    for name, (norm, product) in wanted.items():
        have = summary(name, found[name][1])
        off = max(abs(have[0] - norm), abs(have[1] - product) / math.sqrt(max(1, len(found[name][1])) / 3))
        if not off <= TENSOR_TOLERANCE * max(norm, floor):
            fail(f"{what}: '{name}' has norm and product {have}, PyTorch {norm, product}")
        worst = max(worst, off / max(norm, floor))
    return worst


def compile_case(model, fix, out, *flags):
    dtc("compile", model, "--topology", "cpu", "--devices", ranks_of(fix), "--global-batch", BATCH, "--precision",
        "f32", *(["--fix", fix] if fix else []), "--epsilon", ADAMW["epsilon"], "--beta1", ADAMW["beta1"], "--beta2",
        ADAMW["beta2"], "--weight-decay", ADAMW["weight_decay"], "--clip-norm", 0, "--lr-schedule", "constant", *flags,
        "-o", out)
    return out


def check_plan(folder, name, case, model, fix):
    what, ranks = f"{name} under '{fix or 'one process'}'", ranks_of(fix)
    program = compile_case(model, fix, folder / "model.dte")
    start, dump = folder / "start.safetensors", folder / "after.safetensors"
    write_start(start, case)
    common = ("--threads", 1, "--init", start, "--lr", ADAMW["lr"])
    data = write_data(folder, case)
    lines = train(program, ranks, data, STEPS, *common, "--dump-params", dump, *dump_gradients(folder, [1]))
    # A loss that has become small is a difference of logits that are as large as before.
    compare_steps([line["loss"] for line in lines], case["loss"], LOSS_TOLERANCE, f"{what}: loss", "PyTorch",
                  floor=0.02 * abs(case["loss"][0]))
    gradients = read_gradients(folder, [1])[1]
    if sorted(gradients) != sorted(case["gradients"]):
        fail(f"{what}: gradients are of {sorted(set(gradients) ^ set(case['gradients']))} on one side only")
    after = read_safetensors(dump)
    if sorted(after) != sorted(case["shapes"]):
        fail(f"{what}: parameters are {sorted(set(after) ^ set(case['shapes']))} on one side only")
    worst = max(compare(gradients, case["gradients"], f"{what}: gradients"),
                compare(after, case["parameters"], f"{what}: parameters"),
                compare(after, case.get("state", {}), f"{what}: state"))
    print(f"{what}: within {worst:.1e}", flush=True)
    return worst


def listing_of(program):
    """Returns the instructions and the memory of a program as `dtc inspect` lists them, but for the model's name."""
    return [line for line in dtc("inspect", program, "--rank", 0).splitlines() if not line.startswith("model  ")]


def check_like_config(folder, name, case, model):
    """Checks the same losses and the same instructions as from config.json."""
    (folder / "config.json").write_text(json.dumps(CONFIGS[name]))
    written = folder / "config.mlir"
    dtc("import", folder / "config.json", "--seq-len", 16, "-o", written)
    start, data, losses, lists = folder / "start.safetensors", write_data(folder, case), [], []
    write_start(start, case)
    for index, source in enumerate((model, written)):
        program = compile_case(source, "", folder / f"like{index}.dte")
        losses.append([line["loss"] for line in train(program, 1, data, 3, "--threads", 1, "--init", start)])
        lists.append(listing_of(program))
    compare_steps(*losses, 1e-6, f"{name}: loss", "config.json")
    for line, wanted in zip_longest(*lists):
        if line != wanted:
            fail(f"{name}: the program has {line!r}, from config.json {wanted!r}")


def check_torch(python, folder, made):
    """Checks what needs PyTorch: the stored text, the size of deep models, the command, loading, refusals."""
    for path in sorted(STORED.glob("*.mlir")):
        new = made / path.name
        if new.exists() and new.read_text() != path.read_text():
            fail(f"{path.name} is not what dtc.export writes now; reference/make_pytorch_export.py makes it anew")
    print(run([python, REFERENCE / "pytorch_fuzz.py", "--cases", 30, "--seed", 1], timeout=600), end="", flush=True)
    print(run([python, REFERENCE / "pytorch_small.py"], timeout=600), end="", flush=True)
    print(run([python, REFERENCE / "pytorch_refusals.py", folder, BIN], timeout=600), end="", flush=True)
    (folder / "folders").mkdir()
    print(run([python, REFERENCE / "pytorch_folders.py", folder / "folders", BIN], timeout=900), end="", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    names, python, worst, plans = parser.parse_args().names, torch_python(), 0.0, 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        made = STORED
        if python:
            made = folder / "made"
            run([python, REFERENCE / "make_pytorch_export.py", "--out", made, *names], timeout=600)
        cases = json.loads((made / "cases.json").read_text())["cases"]
        for name, case in cases.items():
            if names and name not in names:
                continue
            for fix in ["", *case["plans"]]:
                worst = max(worst, check_plan(folder, name, case, made / f"{name}.mlir", fix))
                plans += 1
            if name in CONFIGS:
                check_like_config(folder, name, case, made / f"{name}.mlir")
        if python and not names:
            check_torch(python, folder, made)
    print(f"{plans} programs train as in PyTorch, within {worst:.1e}; " +
          ("exported here" if python else "PyTorch is not installed: stored exports were used"))



if __name__ == "__main__":
    main()

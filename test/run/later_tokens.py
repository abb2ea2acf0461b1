#!/usr/bin/env python3
"""Models that predict later tokens have the losses and gradients of an independent one, under any plan.

reference/data/later_tokens.json has models with one module or two behind their layers (multi-token prediction), whose
layers are those of transformers and whose modules are written there in PyTorch (reference/make_later_tokens.py). Each
is trained for one step on one process and by plans of several: the same loss, and the same norm and product with a
fixed vector of every gradient. The weights of files go in under the names of DeepSeek's files, with or without the
copies of embedding and output layer that these have, and come out again.

Usage: later_tokens.py [--only NAME]; the last line is the summary.
"""
import argparse
import array
import json
import math
import subprocess
import tempfile
from pathlib import Path

from dtc_tools import BIN, compare_steps, dtc, read_safetensors, train, write_npy, write_safetensors
from experts import GRADIENT_TOLERANCE, LOSS_TOLERANCE, TOKENS, fail, group_of, write_tokens
from like_transformers import ranks_of
from reference.weights import direction_of, weights_of

STORED = json.loads((Path(__file__).resolve().parent / "reference" / "data" / "later_tokens.json").read_text())
ONE = "dp=1,tp=1"
PLANS = {
    "deepseek": [ONE, "dp=2,tp=2", "dp=1,tp=1,pp=2,micro_batch=2", "dp=4,tp=1,zero=3", "dp=2,tp=1,ep=2,zero=1"],
    "two": [ONE, "dp=1,tp=1,pp=4,micro_batch=2", "dp=2,tp=1,pp=2,zero=1,recompute=full", "dp=1,tp=2,sp=1"],
    "glm": [ONE, "dp=2,tp=2", "dp=1,tp=1,pp=3,micro_batch=2", "dp=4,tp=1,zero=3,recompute=selective"],
    "balanced": [ONE, "dp=2,tp=2,ep=2", "dp=1,tp=1,pp=2,micro_batch=2"],
    "ignored": [ONE, "dp=2,tp=2", "dp=1,tp=1,pp=2,micro_batch=2", "dp=4,tp=1,zero=3"]}


def shapes_of(case):
    return {**{name: shape for name, (*_, shape) in case["parameters"].items()}, **case["buffers"]}


def start_of(folder, case):
    """Writes the weights of a case; returns the file."""
    start = folder / "start.safetensors"
    write_safetensors(start, {name: (shape, weights_of(name, math.prod(shape)))
                              for name, shape in shapes_of(case).items()})
    return start


def data_of(folder, case):
    """Returns the argument of --data: tokens, or tokens and targets some of which do not count."""
    if case["targets"] is None:
        write_tokens(folder / "tokens.bin")
        return folder / "tokens.bin"
    samples, sequence = STORED["samples"], STORED["sequence"]
    tokens = array.array("H", TOKENS.read_bytes()[1024:])[:samples * sequence]
    for name, values in (("tokens", tokens), ("targets", [target for row in case["targets"] for target in row])):
        write_npy(folder / f"{name}.npy", "<i4", "i", [samples, sequence], values)
    return f"tokens={folder / 'tokens.npy'},targets={folder / 'targets.npy'}"


def program_of(folder, case, fix):
    program, config = folder / "model.dte", folder / "config.json"
    config.write_text(json.dumps(case["config"]))
    dtc("compile", config, "--seq-len", STORED["sequence"], "--topology", "cpu", "--devices", ranks_of(fix),
        "--global-batch", STORED["samples"], "--fix", fix, "--precision", "f32", "-o", program)
    return program


def compare(case, gradients, what):
    """Compares gradients by norm and product; returns the largest difference relative to the norm of a layer's."""
    if sorted(gradients) != sorted(case["parameters"]):
        fail(f"{what}: gradients are of {sorted(gradients)}")
    norms, worst = {}, 0.0
    for name, (_, norm, *_) in case["parameters"].items():
        norms.setdefault(group_of(name), []).append(norm)
    for name, (count, norm, product, _) in case["parameters"].items():
        values = gradients[name][1]
        found = (math.sqrt(math.fsum(value * value for value in values)),
                 math.fsum(map(lambda a, b: a * b, values, direction_of(name, count))))
        difference = max(abs(found[0] - norm), abs(found[1] - product) / math.sqrt(count / 3))
        scale = math.hypot(*norms[group_of(name)])
        if not difference <= GRADIENT_TOLERANCE * scale:
            fail(f"{what}: '{name}' has a gradient of norm and product {found}, wanted {norm, product}")
        worst = max(worst, difference / scale if scale else 0.0)
    return worst


def check(folder, case, fix):
    what, dump = f"{case['name']} {fix}", folder / "gradients.safetensors"
    program = program_of(folder, case, fix)
    lines = train(program, ranks_of(fix), data_of(folder, case), 1, "--threads", 1, "--lr", 0, "--init",
                  start_of(folder, case), "--dump-grads", dump)
    compare_steps([line["loss"] for line in lines], [case["loss"]], LOSS_TOLERANCE, f"{what}: loss", "PyTorch")
    result = subprocess.run([BIN / "dtc", "verify", program], capture_output=True, text=True)
    if result.returncode:
        fail(f"{what}: dtc verify: {result.stderr}")
    return compare(case, read_safetensors(dump), what)


def check_copies(folder, case):
    """Files may repeat the embedding and the output layer for the module, with the same numbers only."""
    saved, layer = folder / "saved", case["config"]["num_hidden_layers"]
    saved.mkdir()
    copies = {f"model.layers.{layer}.embed_tokens.weight": "model.embed_tokens.weight",
              f"model.layers.{layer}.shared_head.head.weight": "lm_head.weight"}
    tensors = {name: (shape, weights_of(name, math.prod(shape))) for name, shape in shapes_of(case).items()}
    whole = {**tensors, **{copy: tensors[of] for copy, of in copies.items()}}
    write_safetensors(saved / "model.safetensors", whole)
    (saved / "config.json").write_text(json.dumps(case["config"]))
    dtc("checkpoint", "import", saved, "-o", folder / "imported")
    dtc("checkpoint", "export", folder / "imported", "-o", folder / "exported")
    before, after = read_safetensors(saved / "model.safetensors"), read_safetensors(folder / "exported" /
                                                                                     "model.safetensors")
    if after != {name: value for name, value in before.items() if name not in copies}:
        fail(f"an exported folder has other tensors: {sorted(after)}")
    for copy in copies:
        shape, values = tensors[copies[copy]]
        write_safetensors(saved / "model.safetensors", {**whole, copy: (shape, [value + 1 for value in values])})
        result = subprocess.run([BIN / "dtc", "checkpoint", "import", saved, "-o", folder / "other"],
                                capture_output=True, text=True)
        if result.returncode != 1 or copy not in result.stderr or (folder / "other").exists():
            fail(f"another '{copy}' than that of the model: exit code {result.returncode}: {result.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="the case of this name")
    only = parser.parse_args().only
    worst, done = 0.0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for case in STORED["cases"]:
            for fix in PLANS[case["name"]] if only in (None, case["name"]) else ():
                worst = max(worst, check(folder, case, fix))
                done += 1
        check_copies(folder, STORED["cases"][0])
    print(f"{len(STORED['cases'])} models that predict later tokens have the losses and gradients of PyTorch under "
          f"{done} plans; largest difference {worst:.1e}; their files go in and out")


if __name__ == "__main__":
    main()

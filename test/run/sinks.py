#!/usr/bin/env python3
"""Attention with learned sinks trains as PyTorch trains it, on one process and under other plans.

The models are a small Mistral whose graph IR gets a sink for each head, as attention of GPT-OSS has: in a sliding
window, in one with a soft cap of scores, and with all keys in front. The loss and each gradient, that of the sinks too,
are those of reference/make_sinks.py: a gradient's norm, and its product with a fixed vector.
"""
import array
import json
import math
import os
import re
import sys
import tempfile
from pathlib import Path

from dtc_tools import compare_steps, dtc, read_safetensors, train, write_safetensors

sys.path.insert(0, str(Path(__file__).resolve().parent / "reference"))
from weights import direction_of, weights_of  # noqa: E402

DATA = Path(__file__).resolve().parent / "reference" / "data"
SEQUENCE, SAMPLES = 16, 4
CONFIG = {"model_type": "mistral", "vocab_size": 64, "hidden_size": 32, "intermediate_size": 40, "num_hidden_layers": 2,
          "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 64,
          "rms_norm_eps": 1e-5, "tie_word_embeddings": False}
# Each model is: keys beside those of CONFIG, and the soft cap of scores, 0 for none.
MODELS = {"window": ({"sliding_window": 5}, 0), "capped": ({"sliding_window": 5}, 1.5),
          "full": ({"sliding_window": None}, 0)}
# In bf16 gradients are as near as roundings of activations allow. Those of sinks are small differences of large sums.
NARROW, NARROW_SINKS = 5e-2, 1e-1
# Each plan is: model, keys of --fix, other flags.
PLANS = [("window", "dp=1,tp=1", ""), ("window", "dp=2,tp=2", ""), ("window", "dp=1,tp=4", ""),
         ("window", "dp=1,tp=1,pp=2,micro_batch=1", ""), ("window", "dp=2,tp=1,zero=3", ""),
         ("window", "dp=1,tp=1,micro_batch=1,recompute=full", ""), ("window", "dp=1,tp=2", "--target simt"),
         ("window", "dp=1,tp=2", "--precision bf16"), ("window", "dp=1,tp=1", "--precision bf16 --target simt"),
         ("window", "cp=2,cp_kind=all-to-all", ""), ("capped", "dp=1,tp=2,recompute=selective", ""),
         ("capped", "dp=1,tp=1", "--target simt"), ("full", "dp=1,tp=1", ""), ("full", "cp=2,cp_kind=all-gather", ""),
         ("full", "cp=4,cp_kind=all-gather,tp=2", "")]


def with_sinks(text, cap):
    """Returns the graph IR of a model with a sink for each head, and soft caps of scores unless `cap` is 0."""
    text, declared = re.subn(r"( +)(%q_proj = graph\.param|%q_proj, .*graph\.param)",
                             r'\1%sinks = graph.param "self_attn.sinks" normal(0.0, 1.0) : tensor<4xf32>\n\1\2', text)
    capped = f"soft_cap {cap} " if cap else ""
    text, used = re.subn(r"graph\.attention (%\w+, %\w+, %\w+) (.*): \((.*)\) ->",
                         rf"graph.attention \1 sinks %sinks \2{capped}: (\3, tensor<4xf32>) ->", text)
    if (declared, used) != (1, 1):
        sys.exit(f"FAILED: the model has {declared} places for sinks, and {used} attentions")
    return text


def write_tokens(path):
    """Writes the first samples of tokens.bin, so that one step has them all."""
    numbers = array.array("H", (DATA / "tokens.bin").read_bytes()[1024:])[:SAMPLES * SEQUENCE + 1]
    header = array.array("i", [20240520, 1, len(numbers)] + [0] * 253)
    path.write_bytes(header.tobytes() + numbers.tobytes())


def compare(found, wanted, is_narrow, what):
    """Compares gradients with those of transformers; returns the largest difference, relative to a gradient's norm."""
    if sorted(found) != sorted(wanted):
        sys.exit(f"FAILED: {what}: gradients are of {sorted(found)}")
    worst = 0.0
    for parameter, (_, norm, product) in wanted.items():
        values = found[parameter][1]
        own = (math.sqrt(math.fsum(value * value for value in values)),
               math.fsum(map(lambda a, b: a * b, values, direction_of(parameter, len(values)))))
        difference = max(abs(own[0] - norm), abs(own[1] - product) / math.sqrt(len(values) / 3)) / norm
        tolerance = 5e-5 if not is_narrow else NARROW_SINKS if parameter.endswith(".sinks") else NARROW
        if not difference <= tolerance:
            sys.exit(f"FAILED: {what}: '{parameter}' has a gradient of norm and product {own}, transformers "
                     f"{norm, product}")
        worst = max(worst, difference)
    return worst


def main():
    all_wanted = json.loads((DATA / "sinks.json").read_text())
    worst = 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config, start, dump, program, tokens = (folder / each for each in (
            "config.json", "start.safetensors", "gradients.safetensors", "model.dte", "tokens.bin"))
        write_tokens(tokens)
        for key, (keys, cap) in MODELS.items():
            config.write_text(json.dumps({**CONFIG, **keys}))
            dtc("import", config, "--seq-len", SEQUENCE, "-o", folder / f"{key}.mlir")
            (folder / f"{key}.mlir").write_text(with_sinks((folder / f"{key}.mlir").read_text(), cap))
        write_safetensors(start, {name: (shape, weights_of(name, math.prod(shape)))
                                  for name, (shape, *_) in all_wanted["full"]["gradients"].items()})
        for key, fix, flags in PLANS:
            wanted, what, is_narrow = all_wanted[key], f"{key}, {fix} {flags}".strip(), "bf16" in flags
            os.environ["DTC_EMULATED_GPU"] = str(int("simt" in flags))
            axes = dict(pair.split("=") for pair in fix.split(","))
            ranks = math.prod(int(axes.get(axis, 1)) for axis in ("dp", "tp", "cp", "pp"))
            dtc("compile", folder / f"{key}.mlir", "--topology", "cpu", "--devices", ranks, "--global-batch", SAMPLES,
                "--fix", fix, *([] if is_narrow else ["--precision", "f32"]), *flags.split(), "-o", program)
            (line,) = train(program, ranks, tokens, 1, "--threads", 1, "--lr", 0, "--init", start,
                            "--dump-grads", dump)
            compare_steps([line["loss"]], [wanted["loss"]], 5e-3 if is_narrow else 2e-6, f"{what}: loss",
                          "transformers")
            difference = compare(read_safetensors(dump), wanted["gradients"], is_narrow, what)
            worst = worst if is_narrow else max(worst, difference)
    print(f"sinks train as those of transformers under {len(PLANS)} plans; largest difference in f32 {worst:.1e}")


if __name__ == "__main__":
    main()

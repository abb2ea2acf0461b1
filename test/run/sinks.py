#!/usr/bin/env python3
"""Attention with learned sinks in a sliding window trains as PyTorch trains it, on one process and under other plans.

The model is a small Mistral whose graph IR gets a sink for each head, as attention of GPT-OSS has. The loss and each
gradient, that of the sinks too, are those of reference/make_sinks.py: a gradient's norm, and its product with a fixed
vector.
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
          "sliding_window": 5, "rms_norm_eps": 1e-5, "tie_word_embeddings": False}
PLANS = ["dp=1,tp=1", "dp=2,tp=2", "dp=1,tp=4", "dp=1,tp=1,pp=2,micro_batch=1", "dp=2,tp=1,zero=3",
         "dp=1,tp=1,micro_batch=1,recompute=full", "dp=1,tp=2 --target simt"]


def with_sinks(text):
    """Returns the graph IR of a model with a sink for each head."""
    text, declared = re.subn(r"( +)(%q_proj = graph\.param|%q_proj, .*graph\.param)",
                             r'\1%sinks = graph.param "self_attn.sinks" normal(0.0, 1.0) : tensor<4xf32>\n\1\2', text)
    text, used = re.subn(r"graph\.attention (%\w+, %\w+, %\w+) (.*): \((.*)\) ->",
                         r"graph.attention \1 sinks %sinks \2: (\3, tensor<4xf32>) ->", text)
    if (declared, used) != (1, 1):
        sys.exit(f"FAILED: the model has {declared} places for sinks, and {used} attentions")
    return text


def write_tokens(path):
    """Writes the first samples of tokens.bin, so that one step has them all."""
    numbers = array.array("H", (DATA / "tokens.bin").read_bytes()[1024:])[:SAMPLES * SEQUENCE + 1]
    header = array.array("i", [20240520, 1, len(numbers)] + [0] * 253)
    path.write_bytes(header.tobytes() + numbers.tobytes())


def main():
    wanted = json.loads((DATA / "sinks.json").read_text())
    worst = 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config, model, start, dump, program, tokens = (folder / each for each in (
            "config.json", "model.mlir", "start.safetensors", "gradients.safetensors", "model.dte", "tokens.bin"))
        write_tokens(tokens)
        config.write_text(json.dumps(CONFIG))
        dtc("import", config, "--seq-len", SEQUENCE, "-o", model)
        model.write_text(with_sinks(model.read_text()))
        write_safetensors(start, {name: (shape, weights_of(name, math.prod(shape)))
                                  for name, (shape, *_) in wanted["gradients"].items()})
        for plan in PLANS:
            fix, *flags = plan.split()
            os.environ["DTC_EMULATED_GPU"] = str(int("simt" in flags))
            axes = dict(pair.split("=") for pair in fix.split(","))
            ranks = math.prod(int(axes.get(axis, 1)) for axis in ("dp", "tp", "pp"))
            dtc("compile", model, "--topology", "cpu", "--devices", ranks, "--global-batch", SAMPLES, "--fix", fix,
                "--precision", "f32", *flags, "-o", program)
            (line,) = train(program, ranks, tokens, 1, "--threads", 1, "--lr", 0, "--init", start,
                            "--dump-grads", dump)
            compare_steps([line["loss"]], [wanted["loss"]], 2e-6, f"{plan}: loss", "transformers")
            found = read_safetensors(dump)
            if sorted(found) != sorted(wanted["gradients"]):
                sys.exit(f"FAILED: {plan}: gradients are of {sorted(found)}")
            for parameter, (_, norm, product) in wanted["gradients"].items():
                values = found[parameter][1]
                own = (math.sqrt(math.fsum(value * value for value in values)),
                       math.fsum(map(lambda a, b: a * b, values, direction_of(parameter, len(values)))))
                difference = max(abs(own[0] - norm), abs(own[1] - product) / math.sqrt(len(values) / 3)) / norm
                if not difference <= 5e-5:
                    sys.exit(f"FAILED: {plan}: '{parameter}' has a gradient of norm and product {own}, transformers "
                             f"{norm, product}")
                worst = max(worst, difference)
    print(f"sinks train as those of transformers under {len(PLANS)} plans; largest difference {worst:.1e}")


if __name__ == "__main__":
    main()

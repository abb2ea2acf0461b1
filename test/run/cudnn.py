#!/usr/bin/env python3
"""Attention, convolution and means of windows by cuDNN train as dtc's own kernels do.

Models of attention in bf16 and of convolutions in f32 run on emulated GPUs, whose cuDNN is a stand-in that computes the
graph it is given, faster than kernels do. The test compares losses and gradient norms of runs with it and without, and
counts its graphs: every such operation of a step and its gradients, on each rank and in each micro-batch;
none if the program has dropout in them, or if nothing is measured.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from dtc_tools import BIN, as_bytes, compare_steps, dtc, rows_of

GPT2 = {"model_type": "gpt2", "vocab_size": 61, "n_positions": 32, "n_embd": 32, "n_layer": 2, "n_head": 2,
        "resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0}
LLAMA = {"model_type": "llama", "vocab_size": 61, "max_position_embeddings": 32, "hidden_size": 32,
         "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 48,
         "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": False}
# bf16 has 8 bits: one of the two implementations rounds attention once more, in each of two layers, forward and
# backward.
STEPS, TOLERANCE, VERSION = 4, 1e-2, "91900"
CONVOLUTION_TOLERANCE = 1e-5  # sums of f32 in another order
DIGITS = Path(__file__).resolve().parents[2] / "models" / "digits"


def train(folder, dte, data, ranks, version, millis):
    """Returns the lines of steps, and the number of cuDNN graphs that each rank ran."""
    for kept in folder.glob("*.tuning*"):
        kept.unlink()
    command = [BIN / "dtrun", dte, "-n", ranks, "--data", data, "--steps", STEPS, "--lr", 1e-2,
               "--threads", 1, "--format", "json"]
    result = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                            timeout=300, env={**os.environ, "DTC_EMULATED_GPU": "1", "DTC_EMULATED_REPORT": "1",
                                              "DTC_EMULATED_CUDNN": version, "DTC_TUNING_MS": millis})
    if result.returncode != 0:
        sys.exit(f"FAILED ({result.returncode}): {command}\n{result.stdout[-2000:]}\n{result.stderr[-4000:]}")
    lines = rows_of(result.stdout)
    return lines, [int(count) for count in re.findall(r"cuDNN ran (\d+) graphs", result.stderr)]


def check(folder, dte, data, ranks, operations, tolerance, what):
    """Compares runs with and without cuDNN; `operations` counts those of a step on each rank, forward and backward."""
    wanted, _ = train(folder, dte, data, ranks, "0", "20000")
    lines, graphs = train(folder, dte, data, ranks, VERSION, "20000")
    _, unmeasured = train(folder, dte, data, ranks, VERSION, "0")
    least, most = operations * STEPS, operations * (STEPS + 60)  # an operation is measured less than 60 times
    if len(graphs) != ranks or not all(least <= count <= most for count in graphs) or any(unmeasured):
        sys.exit(f"FAILED: {what}: cuDNN ran {graphs} graphs, wanted {least} and those that were measured; "
                 f"{unmeasured} where none are")
    for key in ("loss", "grad_norm"):
        compare_steps([line[key] for line in lines], [line[key] for line in wanted], tolerance, f"{what}: {key}")
    if operations and [line["loss"] for line in lines] == [line["loss"] for line in wanted]:
        sys.exit(f"FAILED: {what}: not a bit differs, so that cuDNN was not taken")


def check_attention(folder, config, ranks, attentions, *flags):
    (folder / "config.json").write_text(json.dumps(config))
    dte = folder / "simt.dte"
    dtc("compile", folder / "config.json", "--seq-len", 24, "--topology", "cpu", "--devices", ranks, "--global-batch",
        4, "--precision", "bf16", "--target", "simt", *flags, "-o", dte)
    check(folder, dte, as_bytes(folder / "text.txt"), ranks, attentions, TOLERANCE,
          " ".join([config["model_type"], f"{ranks} ranks", *map(str, flags)]))


def check_convolution(folder, ranks, convolutions, fix):
    dte = folder / "simt.dte"
    dtc("compile", DIGITS / "convnet.mlir", "--topology", "cpu", "--devices", ranks, "--global-batch", 8, "--target",
        "simt", "--fix", fix, "-o", dte)
    check(folder, dte, f"images={DIGITS / 'images.npy'},labels={DIGITS / 'labels.npy'}", ranks, convolutions,
          CONVOLUTION_TOLERANCE, f"convnet on {ranks} ranks, {fix}")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "text.txt").write_bytes(bytes(i * 7 % 61 for i in range(4000)))
        check_attention(folder, GPT2, 1, 4)
        check_attention(folder, LLAMA, 1, 4)
        check_attention(folder, GPT2, 2, 4, "--fix", "dp=2,zero=1")
        check_attention(folder, {**GPT2, "attn_pdrop": 0.1}, 1, 0)
        # Two convolutions, the gradients of their weights, and of the second one's image, and means of windows with
        # their gradient; in two micro-batches, too.
        check_convolution(folder, 1, 7, "micro_batch=8")
        check_convolution(folder, 2, 14, "dp=2,micro_batch=2")
    print("all match")


if __name__ == "__main__":
    main()

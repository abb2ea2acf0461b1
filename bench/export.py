#!/usr/bin/env python3
"""Times dtc.export of GPT-2 124M beyond torch.export itself, in one run:   python bench/export.py [--rounds N]

torch.export takes the module and its loss as dtc.export gives it to it, within the same call; what is beyond is the
rest of that call. Each round has an export with and one without weights, which are a file of 498 MB. Needs torch and
transformers (bench/setup-peers.sh installs torch).
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from about import ROOT, commit, machine

sys.path.insert(0, str(ROOT / "python"))

import dtc  # noqa: E402
import torch  # noqa: E402
from dtc import capture  # noqa: E402
from dtc.huggingface import CausalLanguageModel  # noqa: E402
from transformers import AutoConfig, AutoModelForCausalLM  # noqa: E402


class Watch:
    """Sums wall and processor seconds of a function's calls."""

    def __init__(self, function):
        self.function, self.wall, self.cpu = function, 0.0, 0.0

    def __call__(self, *args, **kwargs):
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            return self.function(*args, **kwargs)
        finally:
            self.wall, self.cpu = self.wall + time.perf_counter() - wall, self.cpu + time.process_time() - cpu


def measure(module, inputs, folder, weights):
    """Returns (wall, processor) seconds of torch.export, and those of the rest."""
    inner, outer = Watch(EXPORT), Watch(dtc.export)
    capture.export = inner
    outer(module, inputs, folder / "model.mlir", loss="cross_entropy",
          weights=folder / "weights.safetensors" if weights else None)
    return (inner.wall, inner.cpu), (outer.wall - inner.wall, outer.cpu - inner.cpu)


EXPORT = capture.export


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model("gpt2"), attn_implementation="sdpa")
    module, tokens = CausalLanguageModel(model.train()), torch.zeros(2, 256, dtype=torch.long)
    inputs = {"tokens": tokens, "targets": tokens}
    about = machine()
    found = {False: [], True: []}
    with tempfile.TemporaryDirectory() as scratch:
        measure(module, inputs, Path(scratch), False)  # the first export of a process loads much of torch
        for _ in range(rounds):
            for weights, times in found.items():
                times.append(measure(module, inputs, Path(scratch), weights))
    print(f"GPT-2 124M, torch {torch.__version__}; {about['cpu']}, {about['cores']} cores, load "
          f"{about['load_average']:.1f}; commit {commit()}; medians of {rounds} rounds")
    print("| export | torch.export, wall s | cpu s | beyond, wall s | cpu s | beyond / torch.export, wall | cpu |")
    print("|---|---|---|---|---|---|---|")
    for weights, times in found.items():
        middle = [[statistics.median(each[part][clock] for each in times) for clock in (0, 1)] for part in (0, 1)]
        ratios = [statistics.median(each[1][clock] / each[0][clock] for each in times) for clock in (0, 1)]
        print(f"| {'with' if weights else 'without'} weights | " + " | ".join(
            f"{value:.2f}" for value in (*middle[0], *middle[1], *ratios)) + " |")


if __name__ == "__main__":
    main()

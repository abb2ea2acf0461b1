#!/usr/bin/env python3
"""Times a step of GPT-2, Llama and Qwen2 as exported by dtc-export beside the same from config.json, in turns in one
run:   DTC_BENCH_PYTHON=python-with-torch-and-transformers python3 bench/exported.py [--rounds N]

Both programs have the same instructions, which test/run/pytorch_export.py checks. Times are of one thread; the ratio is
of the least processor seconds of a step, which other work on the machine disturbs least, and of median wall seconds.
"""

import argparse
import json
import os
import statistics
import tempfile
from pathlib import Path

from about import ROOT, commit, machine
from cpu import Ours, run_or_end

COMMON = {"vocab_size": 2048, "hidden_size": 256, "intermediate_size": 704, "num_hidden_layers": 4,
          "num_attention_heads": 8, "num_key_value_heads": 4, "max_position_embeddings": 256}
CONFIGS = {
    "gpt2": {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 2048, "n_embd": 256, "n_head": 8,
             "n_layer": 4, "n_positions": 256, "attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0},
    "llama": {"model_type": "llama", "architectures": ["LlamaForCausalLM"], **COMMON},
    "qwen2": {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "tie_word_embeddings": True, **COMMON},
}
LENGTH, BATCH = 128, 8


def programs_of(name, folder):
    """Returns the programs of a configuration: exported, and from config.json."""
    source = folder / name
    source.mkdir()
    (source / "config.json").write_text(json.dumps(CONFIGS[name]))
    python = os.environ.get("DTC_BENCH_PYTHON", ROOT / "build/bench-venv/bin/python")
    exported, imported = source / "exported.mlir", source / "imported.mlir"
    os.environ["PYTHONPATH"] = str(ROOT / "python")
    run_or_end([python, "-m", "dtc.cli", source, "-o", exported, "--seq-len", str(LENGTH)], "exporting")
    run_or_end([ROOT / "build/bin/dtc", "import", source / "config.json", "--seq-len", str(LENGTH), "-o", imported],
               "importing")
    programs = []
    for model in (exported, imported):
        program = model.with_suffix(".dte")
        run_or_end([ROOT / "build/bin/dtc", "compile", model, "--topology", "cpu", "--devices", "1", "--global-batch",
                    str(BATCH), "--fix", f"micro_batch={BATCH}", "-o", program], "compiling")
        programs.append(program)
    return programs


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=6, help="counted steps of a turn")
    args, about = parser.parse_args(), machine()
    print(f"batch {BATCH} x {LENGTH} tokens, 1 thread; {about['cpu']}, {about['cores']} cores, load "
          f"{about['load_average']:.1f}; commit {commit()}")
    print("| model | exported, cpu s | config.json, cpu s | exported / config.json, cpu | median wall |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        for name in CONFIGS:
            sides = [Ours(program, "synthetic", 1) for program in programs_of(name, Path(scratch))]
            for turn in range(args.rounds):
                for side in sides if turn % 2 == 0 else reversed(sides):
                    side.take_turn(args.steps)
            cpu = [min(sample["cpu_s"] for sample in side.samples) for side in sides]
            wall = [statistics.median(sample["wall_s"] for sample in side.samples) for side in sides]
            print(f"| {name} | {cpu[0]:.3f} | {cpu[1]:.3f} | {cpu[0] / cpu[1]:.3f} | {wall[0] / wall[1]:.3f} |",
                  flush=True)


if __name__ == "__main__":
    main()

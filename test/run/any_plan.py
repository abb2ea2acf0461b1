#!/usr/bin/env python3
"""Any plan trains like one device: random small models x random plans on real processes, compared with one process.

Usage: any_plan.py [--cases N] [--seed S]; the last line is the summary, and the exit status is 0 only where all match.
Compared are parameters after five steps, element by element within 1e-4 of the tensor's root mean square, and every
loss. AdamW's epsilon is 1e-3 and not 1e-8: an update is lr * g / (|g| + epsilon), so where a gradient is zero but for
rounding (about 1e-8 here; the bias of keys is so exactly), two plans differ by rounding / epsilon of what the tensor has
moved. With 1e-3 that is 1e-5, with 1e-8 it is anything.
"""
import argparse
import json
import random
import sys
import tempfile
from pathlib import Path

from dtc_tools import compare_steps, compare_tensors, dtc, read_safetensors, train

STEPS, TOLERANCE = 5, 1e-4


def random_gpt2(rng):
    heads = rng.choice([2, 3, 4, 6, 12])
    width = heads * rng.choice([4, 8])
    return {"model_type": "gpt2", "vocab_size": rng.choice([61, 64, 97, 129]), "n_positions": 32, "n_embd": width,
            "n_layer": rng.choice([1, 2, 3]), "n_head": heads, "n_inner": rng.choice([None, 2 * width, 3 * width + 2]),
            "activation_function": rng.choice(["gelu", "gelu_new"]), "initializer_range": 0.08,
            "resid_pdrop": rng.choice([0.0, 0.0, 0.1]), "embd_pdrop": rng.choice([0.0, 0.0, 0.1]),
            "attn_pdrop": rng.choice([0.0, 0.0, 0.1]), "tie_word_embeddings": rng.choice([True, True, False])}


def random_llama(rng):
    kv = rng.choice([1, 2, 4])
    heads, head = kv * rng.choice([1, 2, 3]), rng.choice([4, 8])
    return {"model_type": "llama", "vocab_size": rng.choice([61, 64, 97]), "max_position_embeddings": 64,
            "hidden_size": heads * head, "head_dim": head, "intermediate_size": rng.choice([24, 40, 50]),
            "num_hidden_layers": rng.choice([1, 2, 3]), "num_attention_heads": heads, "num_key_value_heads": kv,
            "hidden_act": "silu", "initializer_range": 0.08, "tie_word_embeddings": rng.choice([True, False]),
            "attention_bias": rng.choice([True, False]), "mlp_bias": rng.choice([True, False])}


def random_plan(rng):
    ranks = rng.choice([2, 2, 4, 4, 8])
    tp = rng.choice([t for t in (1, 2, 4, 8) if ranks % t == 0])
    dp = ranks // tp
    micro, count = rng.choice([1, 2]), rng.choice([1, 2, 3])
    return ranks, dp * micro * count, {"dp": dp, "tp": tp, "sp": rng.choice([0, 1]) if tp > 1 else 0,
                                       "zero": rng.choice([0, 1]) if dp > 1 else 0, "micro_batch": micro}


def run_one(folder, config, sequence, batch, optimizer, ranks, fix, data, seed):
    name = f"r{ranks}"
    dte, dump = folder / f"{name}.dte", folder / f"{name}.safetensors"
    pins = ",".join(f"{key}={value}" for key, value in fix.items())
    dtc("compile", config, "--seq-len", sequence, "--topology", "cpu", "--devices", ranks, "--global-batch", batch,
        "--optimizer", optimizer, "--epsilon", 1e-3, "--fix", pins, "-o", dte)
    losses = train(dte, ranks, data, STEPS, "--seed", seed, "--lr", 1e-2 if optimizer == "adamw" else 0.1,
                   "--threads", 1, "--dump-params", dump)
    return [step["loss"] for step in losses], read_safetensors(dump)


def write_case(folder, config, rng):
    """The files of a model and of a text to train it on."""
    path, data = folder / "config.json", folder / "text.txt"
    path.write_text(json.dumps(config))
    data.write_bytes(bytes(rng.randrange(61) for _ in range(4000)))
    return path, data


def compare_runs(found, wanted, what):
    """Losses and parameters of two runs."""
    compare_steps(found[0], wanted[0], TOLERANCE, f"{what}: loss")
    return compare_tensors(found[1], wanted[1], TOLERANCE, what)


def match_one_device(folder, path, sequence, batch, optimizer, ranks, fix, data, seed, what):
    one = {"dp": 1, "tp": 1, "micro_batch": batch}
    wanted = run_one(folder, path, sequence, batch, optimizer, 1, one, data, seed)
    return compare_runs(run_one(folder, path, sequence, batch, optimizer, ranks, fix, data, seed), wanted, what)


def run_case(index, seed):
    rng = random.Random(f"{seed}/{index}")
    make = rng.choice([random_gpt2, random_llama])
    config = make(rng)
    ranks, batch, fix = random_plan(rng)
    sequence, optimizer = rng.choice([8, 16, 24]), rng.choice(["adamw", "adamw", "sgd"])
    what = f"case {index}: {config['model_type']} {json.dumps(config)} ranks {ranks} batch {batch} {fix} {optimizer}"
    with tempfile.TemporaryDirectory() as name:
        path, data = write_case(Path(name), config, rng)
        return match_one_device(Path(name), path, sequence, batch, optimizer, ranks, fix, data, index, what)


def run_cases(description, count, run, summarise):
    """Runs `run(index, seed)` for each case that the command line asks for and prints a line on their results.

    Returns the results, of fewer cases than there are where some failed, and whether all match.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--cases", type=int, default=count)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="run this case alone")
    arguments = parser.parse_args()
    cases = range(arguments.cases) if arguments.only is None else [arguments.only]
    results, failed = [], []
    for index in cases:
        try:
            results.append(run(index, arguments.seed))
        except SystemExit as failure:
            print(failure, flush=True)
            failed.append(index)
    print(f"{len(results)} of {len(cases)} cases match one device, {summarise(results)}"
          + (f"; failed: {failed}" if failed else ""))
    return results, not failed


def main():
    _, match = run_cases(__doc__, 60, run_case, lambda results: f"largest difference {max(results, default=0):.2e}")
    sys.exit(0 if match else 1)


if __name__ == "__main__":
    main()

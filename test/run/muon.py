#!/usr/bin/env python3
"""Muon: the momentum of each hidden matrix, made orthogonal, updates it; AdamW updates all other parameters.

1. Twenty steps of a tiny GPT-2 and a tiny Llama on one device are those of torch.optim.Muon and AdamW
   (reference/make_muon.py), each with another factor of the learning rate.
2. Any plan trains like one device: losses and norms of 20 steps, and how far each tensor moves. Experts of a layer are
   matrices of their own.
3. A run goes on from its checkpoint to the same bits, and on another plan as in 2.
4. The state of a matrix is its momentum: the checkpoint has the bytes of one tensor for it, and of two for others.
5. An emulated GPU trains like the CPU.
"""
import json
import math
import os
import random
import shutil
import tempfile
from pathlib import Path

from dtc_tools import as_bytes, compare_steps, dtc, read_safetensors, train
from optimizer_states import check

DATA = Path(__file__).resolve().parent / "reference" / "data"
# The project states 1e-5 in f32.
LOSS, MOVED = 1e-5, 1e-5
SEQUENCE, BATCH, STEPS, RATE = 16, 8, 20, 3e-3
EMULATED_STEPS = 4  # the emulator takes seconds for a step
LLAMA = {"model_type": "llama", "vocab_size": 96, "max_position_embeddings": SEQUENCE, "hidden_size": 48,
         "intermediate_size": 88, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
         "initializer_range": 0.08, "tie_word_embeddings": False}
MIXTRAL = {**LLAMA, "model_type": "mixtral", "num_hidden_layers": 2, "num_local_experts": 4, "num_experts_per_tok": 2,
           "intermediate_size": 40}
ONE = {"dp": 1, "micro_batch": 8}
PLANS = [("llama", {"dp": 2, "zero": 0, "micro_batch": 2}),
         ("llama", {"dp": 2, "tp": 2, "zero": 1, "micro_batch": 4}),
         ("llama", {"dp": 4, "zero": 2, "micro_batch": 2}),
         ("llama", {"dp": 2, "tp": 2, "sp": 1, "zero": 3, "micro_batch": 2}),
         ("llama", {"dp": 2, "pp": 2, "schedule": "1f1b", "zero": 1, "micro_batch": 2}),
         ("mixtral", {"dp": 2, "tp": 2, "zero": 1, "micro_batch": 4}),
         ("mixtral", {"dp": 2, "ep": 2, "zero": 1, "micro_batch": 4})]


def distances(after, before):
    return {name: math.dist(values, before[name][1]) for name, (_, values) in after.items()}


def compare_moved(found, wanted, what, of):
    names = sorted(wanted)
    check(sorted(found) == names, f"{what}: other parameters")
    return compare_steps([found[name] for name in names], [wanted[name] for name in names], MOVED,
                         f"{what}: how far tensors move", of)


def check_torch(folder):
    reference = json.loads((DATA / "muon.json").read_text())
    for model in ("gpt2", "llama"):
        a = reference[model]
        dte, after = folder / f"{model}-torch.dte", folder / "after.safetensors"
        dtc("compile", DATA / f"{model}.json", "--seq-len", reference["sequence"], "--topology", "cpu", "--devices", 1,
            "--global-batch", reference["batch"], "--optimizer", "muon", "--muon-rate", a["rate"], "--muon-momentum",
            a["momentum"], "--beta1", a["beta1"], "--beta2", a["beta2"], "--epsilon", a["epsilon"], "--weight-decay",
            a["weight_decay"], "--clip-norm", a["clip"], "--lr-schedule", "constant", "-o", dte)
        init = DATA / f"{model}.init.safetensors"
        steps = train(dte, 1, DATA / "tokens.bin", len(a["loss"]), "--seed", reference["seed"], "--init", init, "--lr",
                      a["lr"], "--dump-params", after)
        losses = compare_steps([step["loss"] for step in steps], a["loss"], LOSS, f"{model}: loss", "PyTorch")
        moved = compare_moved(distances(read_safetensors(after), read_safetensors(init)), a["moved"], model, "PyTorch")
        print(f"{model}: losses of {len(steps)} steps within {losses:.1e} of torch.optim.Muon, distances within "
              f"{moved:.1e}", flush=True)


def compile_model(folder, model, fix, *flags):
    ranks = fix["dp"] * fix.get("tp", 1) * fix.get("pp", 1)
    dte = folder / f"{model}-{abs(hash(json.dumps([fix, flags])))}.dte"
    if not dte.exists():
        pins = ",".join(f"{key}={value}" for key, value in {"tp": 1, **fix}.items())
        dtc("compile", folder / f"{model}.json", "--seq-len", SEQUENCE, "--topology", "cpu", "--devices", ranks,
            "--global-batch", BATCH, "--optimizer", "muon", "--epsilon", 1e-3, "--fix", pins, *flags, "-o", dte)
    return dte, ranks


def run_model(folder, model, fix, *flags, target=(), steps=STEPS):
    dte, ranks = compile_model(folder, model, fix, *target)
    dump = folder / "parameters.safetensors"
    lines = train(dte, ranks, as_bytes(folder / "text.txt"), steps, "--seed", 5, "--lr", RATE, "--threads", 1,
                  "--dump-params", dump, *flags)
    return lines, read_safetensors(dump)


def compare_runs(found, wanted, before, what):
    losses = max(compare_steps([line[key] for line in found[0]], [line[key] for line in wanted[0]], 10 * LOSS
                               if key == "grad_norm" else LOSS, f"{what}: {key}") for key in ("loss", "grad_norm"))
    moved = compare_moved(distances(found[1], before), distances(wanted[1], before), what, "one device")
    print(f"{what}: losses and norms within {losses:.1e}, distances within {moved:.1e}", flush=True)


def initial(folder, model):
    """Returns the parameters that a run begins with: those of a step at rate 0."""
    dte, _ = compile_model(folder, model, ONE)
    dump = folder / "initial.safetensors"
    train(dte, 1, as_bytes(folder / "text.txt"), 1, "--seed", 5, "--lr", 0, "--threads", 1, "--dump-params", dump)
    return read_safetensors(dump)


def check_plans(folder, plans):
    wanted, before = {}, {}
    for model, fix in plans:
        if model not in wanted:
            before[model] = initial(folder, model)
            wanted[model] = run_model(folder, model, ONE)
        compare_runs(run_model(folder, model, fix), wanted[model], before[model], f"{model} {fix}")
    return wanted["llama"], before["llama"]


def check_checkpoints(folder, wanted, before):
    saved, other = folder / "saved", folder / "other"
    run_model(folder, "llama", ONE, "--checkpoint-dir", saved, "--checkpoint-every", STEPS // 2)
    shutil.rmtree(saved / f"step-{STEPS}")
    shutil.copytree(saved, other)
    tensors = {tensor["name"]: tensor["shape"] for tensor in
               json.loads((saved / f"step-{STEPS // 2}" / "manifest.json").read_text())["tensors"]}
    hidden = [name for name in tensors if f"{name}.momentum" in tensors]
    check(len(hidden) == 7 * LLAMA["num_hidden_layers"] and all(len(tensors[name]) >= 2 for name in hidden),
          f"{len(hidden)} matrices have a momentum")
    for name in hidden:
        check(tensors[f"{name}.momentum"] == tensors[name] and f"{name}.exp_avg" not in tensors,
              f"{name} has other state than a momentum")
    for name in ("model.embed_tokens.weight", "lm_head.weight", "model.norm.weight"):
        check(f"{name}.exp_avg_sq" in tensors, f"{name} is not updated by AdamW")
    found = run_model(folder, "llama", ONE, "--checkpoint-dir", saved, "--resume")
    check(found[1] == wanted[1], "the run that goes on ends with other parameters")
    found = run_model(folder, "llama", {"dp": 2, "tp": 2, "zero": 1, "micro_batch": 4}, "--checkpoint-dir", other,
                      "--resume")
    compare_runs(found, (wanted[0][STEPS // 2:], wanted[1]), before, "gone on with dp 2, tp 2, ZeRO-1")


def check_emulated(folder, before):
    wanted = run_model(folder, "llama", ONE, steps=EMULATED_STEPS)
    os.environ["DTC_EMULATED_GPU"] = "1"
    found = run_model(folder, "llama", {"dp": 2, "zero": 1, "micro_batch": 4}, target=("--target", "simt"),
                      steps=EMULATED_STEPS)
    del os.environ["DTC_EMULATED_GPU"]
    compare_runs(found, wanted, before, "emulated GPUs, dp 2, ZeRO-1")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        check_torch(folder)
        for model, config in (("llama", LLAMA), ("mixtral", MIXTRAL)):
            (folder / f"{model}.json").write_text(json.dumps(config))
        rng = random.Random(4)
        (folder / "text.txt").write_bytes(bytes(rng.randrange(96) for _ in range(4000)))
        wanted, before = check_plans(folder, PLANS)
        check_checkpoints(folder, wanted, before)
        check_emulated(folder, before)
    print("muon matches PyTorch and one device")


if __name__ == "__main__":
    main()

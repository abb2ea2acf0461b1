#!/usr/bin/env python3
"""A run that goes on from a checkpoint trains as if nothing had ended it.

1. On the same plan every loss, norm and parameter is that of the undisturbed run, to the bit: optimizers, dropout,
   f16 with steps that are skipped, ZeRO, stages, offload, an emulated GPU.
2. On other plans losses and parameters are those of the undisturbed run within 1e-4, as between any two plans
   (any_plan.py).
3. If SIGKILL ends a run at any moment of a save, the next run goes on from a whole checkpoint and gives the same
   results.
4. A full disk costs checkpoints and no training; a run never goes on from a checkpoint that is cut or changed at any
   byte.
5. SIGTERM ends a run after a checkpoint, with exit code 143.
6. A loss that spikes takes a run back to a checkpoint, and on like a run that never read the data since; its logs
   agree, too.
"""
import argparse
import json
import math
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import any_plan
import skipped
from cli import processes_with
from dtc_tools import (BIN, as_bytes, compare_steps, compare_tensors, dtc, read_safetensors, rows_of, run, train,
                       write_npy)
from reference.sampler import samples_of

STEPS, HALF, SEQUENCE, BATCH, TOLERANCE = 6, 3, 8, 8, 1e-4
# A vocabulary of 61 divides by no number of ranks; all dropout rates are set.
GPT2 = {"model_type": "gpt2", "vocab_size": 61, "n_positions": SEQUENCE, "n_embd": 12, "n_layer": 2, "n_head": 2,
        "initializer_range": 0.08, "resid_pdrop": 0.1, "embd_pdrop": 0.1, "attn_pdrop": 0.1}
LLAMA = {"model_type": "llama", "vocab_size": 97, "max_position_embeddings": SEQUENCE, "hidden_size": 16,
         "intermediate_size": 22, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
         "hidden_act": "silu", "initializer_range": 0.08, "tie_word_embeddings": False}
FAULTS = Path(os.environ.get("DTC_DISK_FAULTS", BIN.parent / "lib" / "libdtc_disk_faults.so"))
RATES = {"adamw": 1e-2, "sgd": 0.1, "lamb": 1e-2}


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def compiled(folder, config, fix, optimizer="adamw", precision="f32", target=None):
    """Returns the program of a plan, and its number of ranks."""
    fix = {"dp": 1, "tp": 1, "micro_batch": 1, **fix}
    ranks = math.prod(fix.get(key, 1) for key in ("dp", "tp", "pp"))
    path, program = folder / "config.json", folder / f"{abs(hash((json.dumps(fix), optimizer, precision, target)))}.dte"
    path.write_text(json.dumps(config))
    if not program.exists():
        pins = ",".join(f"{key}={value}" for key, value in fix.items())
        dtc("compile", path, "--seq-len", SEQUENCE, "--topology", "cpu", "--devices", ranks, "--global-batch", BATCH,
            "--optimizer", optimizer, "--epsilon", 1e-3, "--precision", precision, "--fix", pins,
            *(["--target", target] if target else []), "-o", program)
    return program, ranks


class Model:
    """A model, its data, and how it is trained."""

    def __init__(self, folder, config, optimizer="adamw", precision="f32"):
        self.folder, self.config, self.optimizer, self.precision = folder, config, optimizer, precision
        self.data = as_bytes(folder / "text.txt")
        rng = random.Random(3)
        (folder / "text.txt").write_bytes(bytes(rng.randrange(61) for _ in range(2000)))

    def train(self, fix, *flags, steps=STEPS, target=None):
        """Returns the lines of the steps that ran, and the parameters after them as a file's bytes."""
        program, ranks = compiled(self.folder, self.config, fix, self.optimizer, self.precision, target)
        dump = self.folder / "parameters.safetensors"
        lines = train(program, ranks, self.data, steps, "--seed", 7, "--lr", RATES[self.optimizer], "--threads", 1,
                      "--dump-params", dump, *flags)
        return lines, dump.read_bytes()

    def command(self, fix, *flags, steps=STEPS):
        program, ranks = compiled(self.folder, self.config, fix, self.optimizer, self.precision)
        return [str(word) for word in (BIN / "dtrun", program, "-n", ranks, "--data", self.data, "--steps", steps,
                                       "--seed", 7, "--lr", RATES[self.optimizer], "--threads", 1, "--format", "json",
                                       *flags)]


def numbers(lines):
    """Returns the values of the steps' lines that training decides."""
    return [[line[key] for key in ("step", "loss", "grad_norm", "lr", "skipped_steps", "loss_scale")] for line in lines]


def keep_half(folder):
    """Keeps only the checkpoint of the middle, as if the run had been killed right after it."""
    for path in folder.iterdir():
        if path.name != f"step-{HALF}":
            shutil.rmtree(path)


def save_half(model, fix, folder, target=None):
    """Trains without and with checkpoints, which must change nothing; returns the run's lines and parameters."""
    wanted = model.train(fix, target=target)
    found = model.train(fix, "--checkpoint-dir", folder, "--checkpoint-every", HALF, target=target)
    check(numbers(found[0]) == numbers(wanted[0]) and found[1] == wanted[1],
          f"{fix}: checkpoints change what is trained")
    check(sorted(path.name for path in folder.iterdir()) == [f"step-{HALF}", f"step-{STEPS}"],
          f"{fix}: the folder has {list(folder.iterdir())}")
    dtc("checkpoint", "verify", folder)
    keep_half(folder)
    return wanted


def check_same_plan(folder, config, fix, optimizer="adamw", precision="f32", target=None):
    what = f"{config['model_type']} {fix} {optimizer} {precision} {target or ''}"
    model, saved = Model(folder, config, optimizer, precision), folder / "checkpoints"
    lines, parameters = save_half(model, fix, saved, target)
    found, after = model.train(fix, "--checkpoint-dir", saved, "--resume", target=target)
    check(numbers(found) == numbers(lines[HALF:]),
          f"{what}: the resumed run has\n{numbers(found)}, not\n{numbers(lines[HALF:])}")
    check(after == parameters, f"{what}: the resumed run ends with other parameters")


def check_other_plans(folder, config, fix, others, optimizer="adamw"):
    model, saved = Model(folder, config, optimizer), folder / "checkpoints"
    lines, parameters = save_half(model, fix, saved)
    (folder / "wanted.safetensors").write_bytes(parameters)
    wanted, worst = read_safetensors(folder / "wanted.safetensors"), 0.0
    print(f"{config['model_type']}, {optimizer}, saved by {fix}; parameters after {STEPS - HALF} more steps, relative "
          f"to the run that saved:")
    for other in others:
        what = f"{config['model_type']} saved by {fix}, resumed by {other}"
        copy = folder / "copy"
        shutil.copytree(saved, copy)
        found, after = model.train(other, "--checkpoint-dir", copy, "--resume")
        shutil.rmtree(copy)
        for key in ("loss", "grad_norm"):
            compare_steps([line[key] for line in found], [line[key] for line in lines[HALF:]], TOLERANCE,
                          f"{what}: {key}", "it")
        (folder / "after.safetensors").write_bytes(after)
        off = compare_tensors(read_safetensors(folder / "after.safetensors"), wanted, TOLERANCE, what)
        print(f"  {compiled(folder, config, other, optimizer)[1]} ranks, {other}: {off:.1e}")
        worst = max(worst, off)
    return worst


def faulty_disk(saved, **faults):
    """Returns the environment of a run with injected disk faults (DiskFaults.cpp)."""
    return {**os.environ, "LD_PRELOAD": str(FAULTS), "FAULT_DIR": str(saved),
            "ASAN_OPTIONS": f"{os.environ.get('ASAN_OPTIONS', '')}:verify_asan_link_order=0",
            **{f"FAULT_{key.upper()}": str(value) for key, value in faults.items()}}


def run_with_faults(model, fix, saved, *flags, **faults):
    """Runs with injected disk faults; returns the result, and the number of calls that change files."""
    report = model.folder / "calls.txt"
    report.unlink(missing_ok=True)
    result = subprocess.run(model.command(fix, "--checkpoint-dir", saved, *flags),
                            env=faulty_disk(saved, report=report, **faults), stdin=subprocess.DEVNULL,
                            capture_output=True, text=True, timeout=120)
    return result, int(report.read_text()) if report.exists() else 0


def check_killed(folder, fix, moments, seed):
    """Sends SIGKILL before the calls of two saves, of each rank, or before some of them.

    Returns how many times, and after which steps the runs went on.
    """
    model, saved = Model(folder, GPT2), folder / "checkpoints"
    flags = ["--checkpoint-every", 1, "--keep", 1]
    lines, parameters = model.train(fix)
    _, ranks = compiled(folder, GPT2, fix)
    _, calls = run_with_faults(model, fix, saved, *flags)
    check(calls > 10 * STEPS, f"a run with checkpoints makes {calls} calls that change files")
    # The range covers most of two saves, the second of which replaces the first.
    every = [(rank, at) for rank in range(ranks) for at in range(1, 3 * calls // STEPS)]
    chosen = every if moments is None else sorted(random.Random(seed).sample(every, moments))
    resumed = {}
    for rank, at in chosen:
        shutil.rmtree(saved)
        result, made = run_with_faults(model, fix, saved, *flags, kind="kill", at=at, rank=rank)
        if rank > 0 and result.returncode == 0 and 0 < made < at:
            continue  # this rank makes fewer calls, and reports so at its end
        check(result.returncode != 0, f"{fix}: a SIGKILL at call {at} of rank {rank} ends in\n{result.stderr}")
        # Every checkpoint that is there is good.
        if any(path.name.startswith("step-") for path in saved.glob("*")):
            dtc("checkpoint", "verify", saved)
        found, after = model.train(fix, "--checkpoint-dir", saved, "--resume", *flags)
        check(numbers(found) == numbers(lines[STEPS - len(found):]),
              f"{fix}: killed at call {at} of rank {rank}, then {numbers(found)}")
        check(after == parameters, f"{fix}: killed at call {at} of rank {rank}, it ends with other parameters")
        left = [path.name for path in saved.iterdir()]
        check(left == [f"step-{STEPS}"], f"{fix}: killed at call {at} of rank {rank}, it leaves {left}")
        resumed[STEPS - len(found)] = resumed.get(STEPS - len(found), 0) + 1
    killed = sum(resumed.values())
    check(len(resumed) > (killed > 3), f"{fix}: {killed} killed runs went on after steps {resumed} alone")
    print(f"{fix or 'one rank'}: killed at {killed} calls of {len(every)} that were looked for, going on after steps "
          f"{resumed}", flush=True)
    return killed


def left_in(saved):
    """Returns the entries of a folder of checkpoints; a run that saved nothing leaves no folder."""
    return list(saved.iterdir()) if saved.exists() else []


def check_full(folder):
    """Fills the disk at any call of a save: all steps run, and the next checkpoint is written."""
    model, saved, what = Model(folder, GPT2), folder / "checkpoints", "a disk that is full"
    lines, parameters = model.train({})
    dump = folder / "full.safetensors"
    flags = ["--checkpoint-every", HALF, "--dump-params", dump]
    _, calls = run_with_faults(model, {}, saved, *flags)
    # The run's first calls make the folder and try it: if they fail, the run does not begin.
    begins = 2
    for at in range(begins, calls // 2, 2):
        shutil.rmtree(saved)
        result, _ = run_with_faults(model, {}, saved, *flags, kind="full", at=at)
        found = rows_of(result.stdout)
        if result.returncode == 1 and not found:
            begins = at
            continue
        check(result.returncode == 0 and numbers(found) == numbers(lines), f"{what} at call {at}: {result}")
        check(dump.read_bytes() == parameters, f"{what} at call {at}: other parameters")
        names = sorted(path.name for path in saved.iterdir())
        if "no checkpoint of step 3" in result.stderr:
            check("No space left on device" in result.stderr and names == ["step-6"],
                  f"{what} at call {at}: {names}, {result.stderr}")
        else:
            check(names == ["step-3", "step-6"], f"{what} at call {at}: {names}, {result.stderr}")
        dtc("checkpoint", "verify", saved)
    # If one rank cannot write, no rank has a checkpoint.
    shutil.rmtree(saved)
    result, _ = run_with_faults(model, {"dp": 2}, saved, "--checkpoint-every", HALF, kind="full", at=1, count=2, rank=1)
    check(result.returncode == 0 and f"no checkpoint of step {HALF}: rank 1: " in result.stderr,
          f"rank 1 cannot write: {result}")
    check([path.name for path in saved.iterdir()] == [f"step-{STEPS}"], f"rank 1 cannot write: {list(saved.iterdir())}")
    # A file may not grow to its size: every save fails, the last one too, and the run reports so at its end. (This
    # uses one rank, as Open MPI does not start under the limit, and a shard that is larger than the code, which goes
    # through a file in memory.)
    shutil.rmtree(saved)
    for program in folder.glob("*.dte"):
        program.unlink()
    model = Model(folder, {**GPT2, "n_embd": 24})
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))  # noqa: E731
    result = subprocess.run(model.command({}, "--checkpoint-dir", saved, "--checkpoint-every", HALF),
                            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, preexec_fn=limit)
    check(len(rows_of(result.stdout)) == STEPS and result.returncode == 1, f"no file may grow: {result}")
    for step in (HALF, STEPS):
        check(f"no checkpoint of step {step}: " in result.stderr, f"no file may grow: {result.stderr}")
    result = subprocess.run(model.command({"dp": 2}, "--checkpoint-dir", saved), stdin=subprocess.DEVNULL,
                            capture_output=True, text=True, timeout=20, preexec_fn=limit)
    check(result.returncode == 1 and "raise the limit of file sizes (ulimit -f)" in result.stderr,
          f"no file may grow: {result}")
    check(left_in(saved) == [], f"no file may grow: {left_in(saved)} is left")


def check_damaged(folder):
    """Damages the newest checkpoint: the run goes on from the one before, and prints the reason."""
    model, saved = Model(folder, GPT2), folder / "checkpoints"
    fix = {}
    lines, _ = model.train(fix, "--checkpoint-dir", saved, "--checkpoint-every", 2, "--keep", 2)
    rng, newest = random.Random(5), saved / f"step-{STEPS}"
    kept = folder / "kept"
    shutil.copytree(saved, kept)

    def flip(path):
        data = bytearray(path.read_bytes())
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(data)

    def cut(path):
        path.write_bytes(path.read_bytes()[:rng.randrange(path.stat().st_size)])

    for name in sorted(path.name for path in newest.iterdir()):
        for damage in (flip, cut, Path.unlink):
            shutil.rmtree(saved)
            shutil.copytree(kept, saved)
            damage(newest / name)
            result = subprocess.run([BIN / "dtc", "checkpoint", "verify", saved], capture_output=True, text=True)
            check(result.returncode == 1 and name in result.stderr, f"verify, {name}, {damage}: {result}")
            result = subprocess.run(model.command(fix, "--checkpoint-dir", saved, "--resume", "--keep", 2),
                                    capture_output=True, text=True, stdin=subprocess.DEVNULL)
            found = rows_of(result.stdout)
            check(result.returncode == 0 and numbers(found) == numbers(lines[4:]), f"{name}, {damage}: {result}")
            said = [line for line in result.stderr.splitlines() if "is not good" in line]
            check(len(said) == 1 and f"step-{STEPS}" in said[0] and name in said[0],
                  f"{name}, {damage}: {result.stderr}")
    # The checkpoint is good, but its name has another step.
    shutil.rmtree(saved)
    shutil.copytree(kept, saved)
    newest.rename(saved / "step-5")
    result = subprocess.run(model.command(fix, "--checkpoint-dir", saved, "--resume"), capture_output=True, text=True)
    check("step-5 is not good: it is of step 6" in result.stderr and "going on after step 4" in result.stderr,
          f"another step: {result}")
    for path in saved.glob("step-*/COMPLETE"):
        path.unlink()
    result = subprocess.run(model.command(fix, "--checkpoint-dir", saved, "--resume"), capture_output=True, text=True)
    check(result.returncode == 1 and "none of the 2 checkpoints" in result.stderr and not result.stdout,
          f"all are damaged: {result}")


def check_slow(folder):
    """Slows down the writes of a checkpoint: the save that is due meanwhile is left out, no step is, and the last one
    is there.
    """
    model, saved = Model(folder, GPT2), folder / "checkpoints"
    lines, _ = model.train({"dp": 2})
    os.environ["DTC_CHECKPOINT_TIMEOUT"] = "1"
    # The slow calls are those that write the first checkpoint's files, after the folder is made and tried; a stall is
    # at most two seconds long.
    result, _ = run_with_faults(model, {"dp": 2}, saved, "--checkpoint-every", 2, kind="slow", at=7, count=4, seconds=2)
    del os.environ["DTC_CHECKPOINT_TIMEOUT"]
    found = rows_of(result.stdout)
    check(result.returncode == 0 and numbers(found) == numbers(lines), f"a slow disk: {result}")
    check("step 4 takes no checkpoint, as that of step 2 is still being written" in result.stderr,
          f"a slow disk: {result.stderr}")
    check(max(line["checkpoint_stall_s"] for line in found) < 2.5, f"a slow disk: {found}")
    check(sorted(path.name for path in saved.iterdir()) == ["step-2", "step-6"],
          f"a slow disk: {list(saved.iterdir())}")
    dtc("checkpoint", "verify", saved)


def check_kept(folder):
    """Checks that the last two checkpoints stay, and those of every third step."""
    model, saved = Model(folder, GPT2), folder / "checkpoints"
    model.train({}, "--checkpoint-dir", saved, "--checkpoint-every", 1, "--keep", 2, "--keep-every", 3, steps=8)
    check(sorted(path.name for path in saved.iterdir()) == ["step-3", "step-6", "step-7", "step-8"],
          f"kept are {list(saved.iterdir())}")
    result = subprocess.run(model.command({}, "--checkpoint-dir", folder / "nope" / "x"), capture_output=True,
                            text=True)
    check(result.returncode == 1 and "make that first" in result.stderr, f"{result}")


def check_logs(folder):
    """Checks that the log of a run that goes on has each step once: steps after the checkpoint anew, the others
    unchanged.
    """
    model, saved, logs = Model(folder, GPT2), folder / "checkpoints", folder / "logs"
    fix = {"dp": 2}
    read = lambda rank: [json.loads(line)  # noqa: E731
                         for line in (logs / f"rank-{rank}.jsonl").read_text().splitlines()]
    model.train(fix, "--checkpoint-dir", saved, "--checkpoint-every", HALF, "--log-dir", logs)
    before = [read(rank) for rank in range(2)]
    keep_half(saved)
    with (logs / "rank-1.jsonl").open("a") as file:
        file.write('{"step":7,"lo')  # the partial line that a crash leaves
    lines, _ = model.train(fix, "--checkpoint-dir", saved, "--resume", "--log-dir", logs)
    for rank in range(2):
        check(numbers(read(rank)) == numbers(before[rank]), f"rank {rank}: the log has {read(rank)}")
        check(read(rank)[:HALF] == before[rank][:HALF], f"rank {rank}: lines before the checkpoint are others")
    check(read(0)[HALF]["step_time_s"] == lines[0]["step_time_s"], f"the log has {read(0)[HALF:]}, not {lines}")
    model.train(fix, "--log-dir", logs)  # a new run begins a new log
    check(len(read(0)) == STEPS, f"the log has {read(0)}")


def check_refusals(folder):
    """Checks the refusals of checkpoints of other programs, and of folders of other runs."""
    model, saved = Model(folder, GPT2), folder / "checkpoints"
    model.train({}, "--checkpoint-dir", saved, "--resume", "--checkpoint-every", HALF)

    def refused(words, *flags, model=model, steps=STEPS):
        result = subprocess.run(model.command({}, "--checkpoint-dir", saved, *flags, steps=steps), capture_output=True,
                                text=True)
        check(result.returncode == 1 and words in result.stderr and not result.stdout, f"wanted '{words}': {result}")

    refused("add --resume")
    refused("raise --steps", "--resume", steps=HALF)
    # Differences that are allowed are reported.
    shutil.copytree(saved, folder / "copy")
    command = model.command({}, "--checkpoint-dir", folder / "copy", "--resume", steps=STEPS + 1)
    command[command.index("--seed") + 1], command[command.index("--lr") + 1] = "9", "0.5"
    result = subprocess.run(command, capture_output=True, text=True)
    for words in ("--seed was 7 and is 9", "--lr was 0.01 and is 0.5", f"--steps was {STEPS} and is {STEPS + 1}"):
        check(result.returncode == 0 and words in result.stderr, f"wanted '{words}': {result}")
    for key, value, words in (("BATCH", 4, "recompile with --global-batch 8"),
                              ("SEQUENCE", 4, "recompile with --seq-len 8")):
        before, globals()[key] = globals()[key], value
        for program in folder.glob("*.dte"):
            program.unlink()
        refused(words, "--resume")
        globals()[key] = before
    for other, words in ((Model(folder, GPT2, "sgd"), "has no tensor"),
                         (Model(folder, GPT2, "adamw", "bf16"), "wants BF16"),
                         (Model(folder, {**GPT2, "n_layer": 3}), "transformer.h.2.")):
        for program in folder.glob("*.dte"):
            program.unlink()
        refused(words, "--resume", model=other)


def check_stopped(folder, fix, is_rank=False):
    """Sends SIGTERM to a run of many steps, or to one of its ranks, and resumes it."""
    model, saved, many = Model(folder, GPT2), folder / "checkpoints", 100000
    job = subprocess.Popen(model.command(fix, "--checkpoint-dir", saved, steps=many), stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True)
    first = [job.stdout.readline() for _ in range(3)]
    check(all(first), f"{fix}: the run ended: {job.stderr.read() if not all(first) else ''}")
    if is_rank:
        os.kill(max(process for process in processes_with(job.args[1]) if process != job.pid), signal.SIGTERM)
    else:
        job.send_signal(signal.SIGTERM)
    rest, errors = job.communicate(timeout=60)
    check(job.returncode == 143, f"{fix}: SIGTERM gives exit code {job.returncode}: {errors}")
    last = json.loads(rest.splitlines()[-1] if rest else first[-1])["step"]
    check([path.name for path in saved.iterdir()] == [f"step-{last}"],
          f"{fix}: {list(saved.iterdir())}, stopped after step {last}")
    dtc("checkpoint", "verify", saved)
    result = subprocess.run(model.command(fix, "--checkpoint-dir", saved, "--resume", steps=last), capture_output=True,
                            text=True)
    check(result.returncode == 0 and f"going on after step {last}" in result.stderr, f"{fix}: {result}")


def check_stopped_on_full_disk(folder):
    """Sends SIGTERM to a run whose disk is full: it ends, and reports that there is no checkpoint to go on from."""
    model, saved = Model(folder, GPT2), folder / "checkpoints"
    # The disk fills up after the folder was made and tried.
    job = subprocess.Popen(model.command({"dp": 2}, "--checkpoint-dir", saved, steps=100000), stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, env=faulty_disk(saved, kind="full", at=7, count=1000000))
    check(all(job.stdout.readline() for _ in range(3)), f"the run ended: {job.poll()}")
    job.send_signal(signal.SIGTERM)
    errors = job.communicate(timeout=60)[1]
    check(job.returncode == 1 and "the last checkpoint was not written" in errors
          and "No space left on device" in errors and
          "training goes on" not in errors, f"SIGTERM on a full disk gives exit code {job.returncode}: {errors}")
    check(left_in(saved) == [], f"{left_in(saved)} is left")


def check_skipped(folder):
    """Checks that the count of skipped steps goes on: one, the last one before the checkpoint, and 33 in a row, which
    end the run.
    """
    rng = random.Random(7)
    good, broken = skipped.random_batch(rng), skipped.random_batch(rng)
    broken[0][0][3] = math.inf
    program = skipped.compile_digits(folder, 2, "dp=2,zero=1", "f16", "adamw")
    data = skipped.write_samples(folder, "few", skipped.placed([good, broken, good, good]))
    flags, saved = ["--seed", skipped.SEED], folder / "few"
    lines = train(program, 2, data, 4, *flags, "--checkpoint-dir", saved, "--checkpoint-every", 2)
    check([line["skipped_steps"] for line in lines] == [0, 1, 1, 1], f"not one step was skipped: {lines}")
    shutil.rmtree(saved / "step-4")
    found = train(program, 2, data, 4, *flags, "--checkpoint-dir", saved, "--resume")
    check(numbers(found) == numbers(lines[2:]), f"after a skipped step: {numbers(found)}, not {numbers(lines[2:])}")
    shutil.rmtree(saved / "step-4")
    text = run([BIN / "dtrun", program, "-n", 2, "--data", data, "--steps", 4, *flags, "--checkpoint-dir", saved,
                "--resume"])
    check("step      3" in text and "skipped" not in text, f"a step is called skipped that is not: {text}")
    data, saved = skipped.write_samples(folder, "all", broken), folder / "all"
    for resumes, steps in (([], range(1, 34)), (["--resume"], range(21, 34))):
        result = subprocess.run([str(word) for word in (BIN / "dtrun", program, "-n", 2, "--data", data, "--steps", 100,
                                                        "--format", "json", "--checkpoint-dir", saved,
                                                        "--checkpoint-every", 20, *resumes)],
                                capture_output=True, text=True)
        found = [row["step"] for row in rows_of(result.stdout)]
        check(result.returncode == 4 and found == list(steps), f"33 skipped steps, {resumes}: {result}")


def check_stall(folder):
    model = Model(folder, GPT2)
    lines, _ = model.train({"dp": 2}, "--checkpoint-dir", folder / "checkpoints", "--checkpoint-every", 2)
    stalls = [line["checkpoint_stall_s"] for line in lines]
    check(all((stall > 0) == (step in (3, 5)) or step in (4, 6) for step, stall in enumerate(stalls, 1)),
          f"stalls are {stalls}")


def check_spikes(folder, fix):
    """Makes a loss spike: the run goes back to the last checkpoint and leaves out the data since.

    It then equals a run whose data never had them.
    """
    model, saved, rng, flags = Model(folder, GPT2), folder / "checkpoints", random.Random(11), ["--spike-factor", 1.3]
    steps, batches, every, bad = 18, 20, 5, 12
    # A constant token, except for one that tells batches apart, is soon learned; random tokens are not. Step b reads
    # batch b.
    rows = [[[rng.randrange(61) if b == bad else 7 * b % 61 if i == 3 else 5 for i in range(SEQUENCE + 1)]
             for _ in range(BATCH)]
            for b in range(1, batches + 1)]

    def write(name, order):
        at, size = {}, batches * BATCH
        for step, batch in enumerate(order, 1):
            at.update(zip(samples_of(step, BATCH, size, 7), batch))
        for part, begin in (("x", 0), ("y", 1)):
            write_npy(folder / f"{name}.{part}.npy", "<i4", "i", (size, SEQUENCE),
                      [word for i in range(size) for word in at[i][begin: begin + SEQUENCE]])
        return f"tokens={folder / f'{name}.x.npy'},targets={folder / f'{name}.y.npy'}"

    def parameters():
        return (folder / "parameters.safetensors").read_bytes()

    def mean_loss(path):
        run = json.loads((path / f"step-{steps}" / "manifest.json").read_text())
        return run["mean_loss"], run["mean_loss_steps"]

    # Steps 11 and 12 are left out; step 11 then reads the former batch 13.
    model.data = write("without", rows[:10] + rows[12:] + rows[10:12])
    wanted, after = model.train(fix, "--checkpoint-dir", folder / "without", *flags, steps=steps)
    model.data = write("with", rows)
    found, ended = model.train(fix, "--checkpoint-dir", saved, "--checkpoint-every", every, "--keep", 9, *flags,
                               steps=steps)
    check([line["step"] for line in found] == [*range(1, bad + 1), *range(11, steps + 1)],
          f"{fix}: a spike gives steps {found}")
    check(numbers(found[:10]) == numbers(wanted[:10]) and numbers(found[bad:]) == numbers(wanted[10:])
          and ended == after, f"{fix}: after a roll-back {numbers(found[bad:])}, not {numbers(wanted[10:])}")
    check([(line["roll_backs"], line["skipped_batches"]) for line in found] == [(0, 0)] * bad + [(1, 2)] * (steps - 10),
          f"{found}")
    for last in (15, 10):  # behind the roll-back, and before it
        for path in saved.iterdir():
            if int(path.name.split("-")[1]) > last:
                shutil.rmtree(path)
        found, ended = model.train(fix, "--checkpoint-dir", saved, "--checkpoint-every", every, "--keep", 9, "--resume",
                                   *flags, steps=steps)
        check(numbers(found[-3:]) == numbers(wanted[-3:]) and ended == after,
              f"{fix}: going on after step {last}, {numbers(found)}")
        check(len(found) == (3 if last == 15 else 10), f"{fix}: going on after step {last}, {numbers(found)}")
        check(mean_loss(saved) == mean_loss(folder / "without"),
              f"{fix}: going on after step {last}, the mean is {mean_loss(saved)}")
    if fix:
        return
    # Without a checkpoint to go back to, training goes on; if going back does not help, it ends.
    result = subprocess.run(model.command(fix, "--checkpoint-dir", folder / "none", *flags, steps=steps),
                            capture_output=True, text=True)
    check(result.returncode == 0 and result.stderr.count("and training goes on") == 1,
          f"without a checkpoint: {result}")
    rows[bad:] = [[[rng.randrange(61) for _ in range(SEQUENCE + 1)] for _ in range(BATCH)] for _ in rows[bad:]]
    model.data = write("never", rows)
    result = subprocess.run(model.command(fix, "--checkpoint-dir", folder / "never", "--checkpoint-every", every,
                                          *flags, steps=steps),
                            capture_output=True, text=True)
    check(result.returncode == 4 and result.stderr.count("went back to step 10") == 3
          and "3 times did not help" in result.stderr, f"spikes without end: {result}")
    # The last step goes back, too, and its gradients are those of the batch that it reads then.
    model.data = write("last", [rows[bad - 1 if b == steps - 1 else 0] for b in range(batches)])
    gradients = folder / "gradients.safetensors"
    found, _ = model.train(fix, "--checkpoint-dir", folder / "last", "--checkpoint-every", every, "--dump-grads",
                           gradients, *flags, steps=steps)
    check([line["step"] for line in found] == [*range(1, steps + 1), *range(16, steps + 1)],
          f"a last step that spikes: {found}")
    norm = math.sqrt(sum(value * value for _, values in read_safetensors(gradients).values() for value in values))
    check(abs(norm / found[-1]["grad_norm"] - 1) < 1e-5,
          f"the gradients' norm is {norm}, that of the last step {found[-1]['grad_norm']}")
    # A run that goes on takes the gradients of earlier steps from the run that ran them, or reports that they are
    # gone.
    on = ("--checkpoint-dir", folder / "last", "--resume", "--dump-grads", gradients, "--dump-grads-at",
          f"1,{steps + 1}", *flags)
    result = subprocess.run(model.command(fix, *on, steps=steps + 1), capture_output=True, text=True)
    gone = "--dump-grads-at: step 1 has run, and its gradients are gone; name a later step"
    check(result.returncode == 1 and gone in result.stderr, f"gradients that are gone: {result}")
    gradients.rename(folder / "gradients.step1.safetensors")
    before = (folder / "gradients.step1.safetensors").read_bytes()
    model.train(fix, *on, steps=steps + 1)
    check((folder / "gradients.step1.safetensors").read_bytes() == before,
          "gradients of a step that ran before are written anew")
    check(read_safetensors(folder / f"gradients.step{steps + 1}.safetensors"),
          "there are no gradients of the step that ran")


def check_damaged_roll_back(folder):
    """Makes a loss spike with a checkpoint that is damaged in the bytes that are read last: half-read state is not
    trained on.
    """
    model, saved, rng, steps, every = Model(folder, GPT2), folder / "checkpoints", random.Random(12), 600, 300
    size, at = steps * BATCH, {}
    for step in range(1, steps + 1):
        at.update((sample, step == 590) for sample in samples_of(step, BATCH, size, 7))
    for part in ("x", "y"):
        write_npy(folder / f"{part}.npy", "<i4", "i", (size, SEQUENCE),
                  [rng.randrange(61) if at[i] else 5 for i in range(size) for _ in range(SEQUENCE)])
    model.data = f"tokens={folder / 'x.npy'},targets={folder / 'y.npy'}"
    command = model.command({}, "--checkpoint-dir", saved, "--checkpoint-every", every, "--spike-factor", 1.5,
                            steps=steps)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          start_new_session=True) as process:
        path = saved / f"step-{every}"
        while not path.exists() and process.poll() is None:
            time.sleep(0.002)
        os.killpg(process.pid, signal.SIGSTOP)
        shard = next(path.glob("*.safetensors"))
        data = bytearray(shard.read_bytes())
        data[-1] ^= 1
        shard.write_bytes(data)
        os.killpg(process.pid, signal.SIGCONT)
        said = process.communicate(timeout=120)[1]
    check(process.returncode == 4 and f"step-{every} is not good" in said and "no good checkpoint to go back to: "
          "training diverged" in said, f"a damaged checkpoint: {process.returncode}, {said}")
    check([each.name for each in saved.iterdir()] == [path.name],
          f"after a damaged checkpoint there are {list(saved.iterdir())}")


def draw_fix(rng, case):
    """Draws another plan for the model, batch, precision and weight decay of a case."""
    layers = case.config.get("n_layer") or case.config["num_hidden_layers"]
    while True:
        fix = {}
        for draw in any_plan.DRAWS:
            draw(rng, fix)
        fits = fix["sp"] == 0 or case.sequence % fix["tp"] == 0
        if (fits and case.batch % (fix["dp"] * fix["micro_batch"]) == 0 and layers >= fix["pp"]
            * fix.get("virtual_stages", 1)):
            return {**fix, **{key: case.fix[key] for key in ("precision", "coupled_decay") if key in case.fix}}


def check_random_pair(folder, index, seed):
    """Saves a random model under one random plan and resumes it under another; parameters are restored to the bit."""
    rng, case = random.Random(f"{seed}/pair/{index}"), any_plan.random_case(index, seed)
    other = draw_fix(rng, case)
    path, data = any_plan.write_case(folder, case.config, rng, case.sequence)
    saved, dump = folder / "checkpoints", folder / "parameters.safetensors"

    def run_plan(fix, steps, *flags):
        ranks, program = math.prod(fix.get(key, 1) for key in ("dp", "tp", "pp")), folder / "model.dte"
        any_plan.compile_plan(program, path, case.sequence, case.batch, case.optimizer, ranks, fix)
        lines = train(program, ranks, data, steps, "--seed", 7, "--lr", any_plan.RATES[case.optimizer], "--threads", 1,
                      "--dump-params", dump, *flags)
        return lines, read_safetensors(dump)

    what = f"{case}, resumed by {other}"
    lines, wanted = run_plan(case.fix, STEPS, "--checkpoint-dir", saved, "--checkpoint-every", HALF)
    dtc("checkpoint", "verify", saved)
    _, moved = run_plan(other, STEPS, "--checkpoint-dir", saved, "--resume")
    check(moved == wanted, f"{what}: parameters did not come over to the bit")
    keep_half(saved)
    found, after = run_plan(other, STEPS, "--checkpoint-dir", saved, "--resume")
    if case.fix["precision"] != "f32" or "grad_dtype" in {**case.fix, **other}:
        return 0.0
    compare_steps([line["loss"] for line in found], [line["loss"] for line in lines[HALF:]], TOLERANCE, f"{what}: loss",
                  "it")
    return compare_tensors(after, wanted, TOLERANCE, what)


def in_folder(test, *arguments):
    with tempfile.TemporaryDirectory() as name:
        return test(Path(name).resolve(), *arguments)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--moments", type=int, default=3, help="at which runs of two ranks are killed, and three "
                        "times as many of "
                        "one; 0: all there are")
    parser.add_argument("--killed", action="store_true", help="kill runs, and nothing else")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pairs", type=int, default=0, help="run as many random pairs of plans, and nothing else")
    parser.add_argument("--only", type=int, help="run this pair alone")
    arguments = parser.parse_args()
    if arguments.pairs or arguments.only is not None:
        pairs = range(arguments.pairs) if arguments.only is None else [arguments.only]
        worst = max(in_folder(check_random_pair, index, arguments.seed) for index in pairs)
        print(f"{len(pairs)} random pairs of plans, the largest difference is {worst:.2g} relative")
        return
    if arguments.killed:
        for fix in ({}, {"dp": 2, "zero": 1}):
            in_folder(check_killed, fix, arguments.moments or None, arguments.seed)
        return
    os.environ["DTC_EMULATED_GPU"] = "1"
    same = [(GPT2, {}, "adamw"), (GPT2, {"dp": 2, "zero": 1}, "adamw"), (GPT2, {"dp": 2}, "sgd", "f16"),
            (LLAMA, {"pp": 2, "schedule": "1f1b"}, "adamw", "bf16"), (GPT2, {"dp": 2, "zero": 3, "offload": 1}, "lamb"),
            (LLAMA, {"dp": 2}, "adamw", "f32", "simt")]
    for case in same:
        in_folder(check_same_plan, *case)
    stages = {"pp": 2, "schedule": "1f1b"}
    worst = max(in_folder(check_other_plans, GPT2, {"dp": 2, "zero": 1},
                          [{}, {"tp": 2}, {"dp": 2, **stages}, {"dp": 2, "offload": 1}]),
                in_folder(check_other_plans, LLAMA, stages, [{"dp": 2, "zero": 3}, {"tp": 2}]),
                in_folder(check_other_plans, GPT2, {"tp": 2, "offload": 1}, [{"dp": 4, "zero": 2}]))
    killed = [in_folder(check_killed, fix, arguments.moments * few or None, arguments.seed)
              for fix, few in (({}, 3), ({"dp": 2, "zero": 1}, 1))]
    for test in (check_full, check_slow, check_damaged, check_refusals, check_kept, check_logs, check_skipped,
                 check_stall):
        in_folder(test)
    for fix in ({}, {"dp": 2, "zero": 1}, stages):
        in_folder(check_spikes, fix)
    in_folder(check_damaged_roll_back)
    for case in (({},), ({"dp": 2},), ({"dp": 2}, True)):
        in_folder(check_stopped, *case)
    in_folder(check_stopped_on_full_disk)
    print(f"{len(same)} plans go on to the bit, 7 others within {worst:.2g}; killed at {sum(killed)} moments")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Behaviour of dtc and dtrun that users and other programs see: exit codes, messages, JSON keys, files left behind."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dtc_tools import BIN, dtc, rows_of, run, train, write_npy

CONFIG = Path(__file__).resolve().parents[2] / "models" / "configs" / "gpt2-quickstart.json"
STEP_KEYS = ["step", "loss", "grad_norm", "lr", "step_time_s", "samples_per_s", "tokens_per_s", "mfu",
             "exposed_comm_fraction", "peak_memory_bytes", "skipped_steps", "loss_scale", "roll_backs",
             "skipped_batches", "checkpoint_stall_s", "compute_s", "exposed_comm_s", "input_wait_s", "other_s",
             "resident_bytes", "rank_work_s", "slowest_rank", "slowest_excess", "straggler", "straggler_cost",
             "elapsed_s", "goodput", "param_norms"]
PLAN_KEYS = ["schema", "model", "topology", "mesh", "sp", "zero", "micro_batch", "num_micro_batches", "global_batch",
             "schedule", "virtual_stages", "recompute", "precision", "optimizer", "stages", "tensors", "predicted",
             "search"]
PREDICTED_KEYS = ["step_time_s", "tokens_per_s", "tflops_per_device", "mfu", "bubble_fraction", "exposed_comm_s",
                  "peak_memory_bytes", "fits", "memory"]


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def fails(code, message, *command):
    """Checks that the command ends with `code` and prints `message` (a pattern) on stderr, in no more than a few
    lines.
    """
    result = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                            timeout=120)
    shown = " ".join(str(part) for part in command)
    check(result.returncode == code, f"{shown}: exit {result.returncode}, wanted {code}\n{result.stderr}")
    check(re.search(message, result.stderr), f"{shown}: no '{message}' in\n{result.stderr}")


def check_plan(folder):
    plan = json.loads(dtc("plan", CONFIG, "--seq-len", 32, "--topology", "cpu", "--devices", 2, "--global-batch", 4,
                          "--format", "json", "-o", folder / "plan.json"))
    check([key for key in plan if key in PLAN_KEYS] == PLAN_KEYS, f"plan keys are {list(plan)}")
    check([key for key in plan["predicted"] if key in PREDICTED_KEYS] == PREDICTED_KEYS,
          f"predicted keys are {list(plan['predicted'])}")
    check(json.loads((folder / "plan.json").read_text()) == plan, "plan.json differs from what --format json prints")
    check(plan["mesh"]["dp"] * plan["mesh"]["tp"] == 2, "the mesh does not use both devices")
    flags = ["--seq-len", 32, "--topology", "cpu", "--devices", 2]
    dtc("compile", CONFIG, *flags, "--plan", folder / "plan.json", "-o", folder / "a.dte")
    dtc("compile", CONFIG, *flags, "--plan", folder / "plan.json", "-o", folder / "b.dte")
    check((folder / "a.dte").read_bytes() == (folder / "b.dte").read_bytes(), "the same plan gives different bytes")
    fails(2, "'--nonsense' is not an argument of this command; see 'dtc plan --help'", BIN / "dtc", "plan", CONFIG,
          "--nonsense")
    fails(1, "nope.json", BIN / "dtc", "plan", folder / "nope.json", "--topology", "cpu", "--global-batch", 4)


def check_dtrun(folder):
    text, short, model = folder / "text.txt", folder / "short.txt", folder / "one.dte"
    text.write_bytes(bytes(range(32, 127)) * 60)
    short.write_bytes(b"too short")
    dtc("compile", CONFIG, "--seq-len", 32, "--topology", "cpu", "--devices", 1, "--global-batch", 2, "-o", model)
    steps = train(model, 1, text, 3, "--dump-params", folder / "p.safetensors")
    check([step["step"] for step in steps] == [1, 2, 3], "steps are not 1, 2, 3")
    check(list(steps[0]) == STEP_KEYS, f"keys of a step are {list(steps[0])}")
    planned = json.loads(dtc("inspect", model, "--format", "json"))
    check(str(steps[0]["peak_memory_bytes"]) in json.dumps(planned), "peak memory is not the planned number")
    again = train(model, 1, text, 3)
    check([s["loss"] for s in again] == [s["loss"] for s in steps], "the same seed gives different losses")
    dtrun = BIN / "dtrun"
    fails(1, "short.txt", dtrun, model, "--data", short, "--steps", 1)
    fails(1, "rank", dtrun, model, "-n", 3, "--data", text, "--steps", 1)
    fails(1, "nope.dte", dtrun, folder / "nope.dte", "--data", text)
    fails(1, "text.txt", dtrun, text, "--data", text)
    fails(1, "nope.safetensors", dtrun, model, "--data", text, "--init", folder / "nope.safetensors")
    fails(2, "checkpoint-dir", dtrun, model, "--data", text, "--resume")
    fails(2, "lr", dtrun, model, "--data", text, "--lr", "nan")
    damaged = bytearray(model.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (folder / "damaged.dte").write_bytes(damaged)
    fails(1, "damaged.dte", dtrun, folder / "damaged.dte", "--data", text)
    tokens = folder / "tokens.bin"
    tokens.write_bytes(b"".join(n.to_bytes(2, "little") for n in [7] * 200 + [999] + [7] * 200))
    fails(1, "999", dtrun, model, "--data", tokens, "--steps", 8)


def check_data(folder):
    """Checks that the data are reported before the first step, with --dry-run as well, which then ends; other files
    are refused.
    """
    text, program = folder / "text.txt", folder / "a.dte"
    command = [BIN / "dtrun", program, "-n", 2, "--data", text, "--eval-data", text, "--steps", 3, "--format", "json"]
    for flags in ([], ["--dry-run"]):
        out = run([*command, *flags]).splitlines()
        rows = [json.loads(line) for line in out]
        size, samples = text.stat().st_size, (text.stat().st_size - 1) // 32
        wanted = {"files": [str(text)], "left_out": [], "format": "text, 1 byte a token", "tokens": size,
                  "samples": samples}
        check(rows[1] == {"eval_data": wanted}, f"evaluation data are {rows[1]}")
        epochs = rows[0]["data"].pop("epochs")
        check(rows[0] == {"data": wanted} and abs(epochs - 3 * 4 / samples) < 1e-6,
              f"data are {rows[0]}, {epochs} epochs")
        check([list(row)[0] for row in rows[2:]] == (["dry_run"] if flags else ["step"] * 4), f"{flags}: {rows}")
    wide = folder / "wide.bin"
    wide.write_bytes(b"".join(n.to_bytes(4, "little") for n in range(200)))
    fails(1, "its ids seem to have 4 bytes each, not 2; write u16:", *command[:5], wide, "--dry-run")
    check(len(rows_of(run([*command[:5], f"u32:{wide}", "--steps", 2, "--format", "json"]))) == 2,
          "u32: does not train")
    array = folder / "ids.npy"
    write_npy(array, "<u2", "H", (400,), [7] * 400)
    fails(1, "it is a NumPy array of uint16 .400.; name the input", *command[:5], array)


def check_divergence(folder):
    text = folder / "text.txt"
    dtc("compile", CONFIG, "--seq-len", 32, "--topology", "cpu", "--devices", 1, "--global-batch", 2, "--optimizer",
        "sgd", "--clip-norm", 0, "--lr-schedule", "constant", "-o", folder / "sgd.dte")
    fails(4, "step", BIN / "dtrun", folder / "sgd.dte", "--data", text, "--steps", 60, "--lr", 1e20)


def processes_with(argument):
    """Returns the process numbers of dtrun with this argument."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:  # it has ended meanwhile
            continue
        if argument.encode() in words and words[0].endswith(b"dtrun"):
            found.append(int(entry.name))
    return found


def check_killed_rank(folder):
    """Checks that SIGKILL to one of two ranks ends the job within seconds, with exit code 3 and the rank's number."""
    job = subprocess.Popen([str(BIN / "dtrun"), str(folder / "a.dte"), "-n", "2", "--data", str(folder / "text.txt"),
                            "--steps", "100000"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        for _ in range(3):
            check(job.stdout.readline(), "dtrun -n 2 prints no steps")
        ranks = [pid for pid in processes_with(str(folder / "a.dte")) if pid != job.pid]
        check(len(ranks) >= 2, f"there are {len(ranks)} ranks, wanted 2")
        os.kill(max(ranks), signal.SIGKILL)
        start = time.monotonic()
        _, errors = job.communicate(timeout=30)
        check(job.returncode == 3, f"a killed rank gives exit {job.returncode}, wanted 3\n{errors}")
        check(re.search(r"rank \d", errors), f"no rank is named in\n{errors}")
        check(time.monotonic() - start < 20, "the job took more than 20 s to end")
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        check_plan(folder)
        check_dtrun(folder)
        check_data(folder)
        check_divergence(folder)
        check_killed_rank(folder)
    print("dtc and dtrun behave as the interface says")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""`dtc report` writes how a run went as one page, from the logs of real runs.

1. The curves have the values of the log, read off the drawing by its axes; tables have the log's causes and ranks.
2. A resumed run, whose log goes on at an earlier step, has each step once, and an event; so has a run whose rank was
   killed and that was started again.
3. A loss that spikes and gradients that are not finite are events at their steps.
4. A log that has steps twice is read as the log of its last steps.
"""
import json
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import checkpoints
import skipped
from dtc_tools import BIN, dtc, rows_of, train, write_npy
from reference.sampler import samples_of
from watching import SPENT, check, compiled, log_of, ranks_of

PAGES = Path(__file__).resolve().parents[1] / "report" / "Inputs"
sys.path.insert(0, str(PAGES))
from pages import checked_page  # noqa: E402

SECTIONS = ["loss", "throughput", "goodput", "memory", "events"]


def report(logs):
    """Returns the text of the report's page, after the checks of all pages."""
    output = logs.parent / f"{logs.name}.html"
    dtc("report", logs, "-o", output)
    text = output.read_text()
    check(checked_page(text).sections == SECTIONS, f"sections are {checked_page(text).sections}")
    return text


def rows_of_table(text, section):
    """Returns the cells of each row of the section's last table."""
    part = text[text.index(f'<section id="{section}"'):]
    rows = re.findall(r"<tr.*?</tr>", part[:part.index("</section>")].rsplit("<tbody>", 1)[-1])
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]


def events(text):
    return [(row[0], row[2], row[3]) for row in rows_of_table(text, "events")] if "<th" in text.rsplit(
        'id="events"', 1)[1] else []


def points_of(text, drawing):
    """Returns the points of a curve in the units of its axes, which are read off the ticks."""
    svg = text[text.index(f'<svg id="{drawing}"'):]
    svg = svg[:svg.index("</svg>")]
    ticks = [(float(x), float(y), float(value), "middle" in rest) for x, y, rest, value in
             re.findall(r'<text x="(\S+)" y="(\S+)" class="tick"([^>]*)>(-?[0-9.e+-]+)</text>', svg)]
    steps = [(x, value) for x, _, value, isStep in ticks if isStep]
    values = [(y - 4, value) for _, y, value, isStep in ticks if not isStep]

    def axis(pairs):
        (a, low), (b, high) = pairs[0], pairs[-1]
        return lambda at: low + (at - a) / (b - a) * (high - low)
    (data,) = re.findall(r'<path d="M([^"]*)" class="curve"', svg)
    at_step, at_value = axis(steps), axis(values)
    points = [part.split() for part in data.split("L")]
    precision = abs(values[-1][1] - values[0][1]) / abs(values[-1][0] - values[0][0]) * 0.02
    return [(round(at_step(float(x)), 2), at_value(float(y))) for x, y in points], precision


def check_curve(what, text, drawing, wanted):
    points, precision = points_of(text, drawing)
    check([step for step, _ in points] == [step for step, _ in wanted], f"{what}: {drawing} has steps {points}")
    for (step, found), (_, value) in zip(points, wanted):
        check(math.isclose(found, value, rel_tol=1e-4, abs_tol=precision),
              f"{what}: {drawing} has {found} at step {step}, the log has {value}")


def check_page(what, text, logs, ranks):
    lines = [line for line in log_of(logs) if "loss" in line]
    unit = 1e3 if max(line["tokens_per_s"] for line in lines) >= 1e3 else 1
    unit = 1e6 if max(line["tokens_per_s"] for line in lines) >= 1e6 else unit
    check_curve(what, text, "loss-curve", [(line["step"], line["loss"]) for line in lines])
    check_curve(what, text, "rate-curve", [(line["step"], line["lr"]) for line in lines])
    check_curve(what, text, "norm-curve", [(line["step"], line["grad_norm"]) for line in lines])
    check_curve(what, text, "speed-curve", [(line["step"], line["tokens_per_s"] / unit) for line in lines])
    spots = re.findall(r'class="spot"><title>step (\d+): (\S+)</title>', text)
    evaluations = [(line["step"], line["eval_loss"]) for line in log_of(logs) if "eval_loss" in line]
    check([(int(step), float(loss)) for step, loss in spots]
          == [(step, float(f"{loss:.6g}")) for step, loss in evaluations], f"{what}: evaluations are {spots}")
    causes = {row[0]: float(row[3].split()[0]) for row in rows_of_table(text, "goodput")}
    check(causes.keys() == SPENT, f"{what}: causes are {causes}")
    for cause, share in lines[-1]["goodput"].items():
        check(abs(causes[cause] - 100 * share) < 0.0501, f"{what}: {cause} is {causes[cause]} %, wanted {share}")
    rows = rows_of_table(text, "memory")
    check([row[0] for row in rows] == [str(rank) for rank in range(ranks)], f"{what}: ranks are {rows}")
    for rank, row in enumerate(rows):
        most = max(line["resident_bytes"] for line in log_of(logs, rank) if "loss" in line)
        check(row[2] == f"{most / 2**20:.4g} MiB" or abs(float(row[2].split()[0]) * 2**20 / most - 1) < 0.01,
              f"{what}: rank {rank} has {row[2]}, wanted {most} bytes")


def check_resume(folder):
    program, ranks = compiled(folder, "dp=2,tp=1")
    logs, saved = folder / "resumed", folder / "saved"
    (folder / "eval.bin").write_bytes(bytes(random.Random(1).randrange(61) for _ in range(600)))
    flags = ["--log-dir", logs, "--checkpoint-dir", saved, "--checkpoint-every", 4, "--eval-data",
             f"bytes:{folder / 'eval.bin'}", "--eval-every", 5]
    train(program, ranks, "synthetic", 12, *flags)
    text = report(logs)
    check_page("a run", text, logs, ranks)
    check(events(text) == [], f"a plain run has events {events(text)}")
    shutil.rmtree(saved / "step-12")
    train(program, ranks, "synthetic", 16, "--resume", *flags)
    text = report(logs)
    check_page("a resumed run", text, logs, ranks)
    check([event[:2] for event in events(text)] == [("9", "resumed")] and "after step 8" in events(text)[0][2],
          f"a resumed run has events {events(text)}")
    check('<dd>16<small>16 steps in the log</small>' in text, "the resumed run has not 16 steps")
    # The same log with the lines that a resume removes.
    twice = folder / "twice"
    shutil.copytree(logs, twice)
    for log in twice.glob("rank-*.jsonl"):
        lines = log.read_text().splitlines(keepends=True)
        log.write_text("".join(lines[:7] + [line.replace('"loss":', '"loss":1') for line in lines[4:7]] + lines[4:]))
    again = report(twice)
    check_page("a log with steps twice", again, logs, ranks)
    check("went back" in [event[1] for event in events(again)], f"steps twice have events {events(again)}")
    print("curves and tables are those of the log, of a resumed run, too", flush=True)
    return logs.parent / "resumed.html"


def check_restart(folder):
    program, ranks = compiled(folder, "dp=2,tp=1", words=16000)
    logs = folder / "restarted"
    with subprocess.Popen([BIN / "dtrun", program, "-n", str(ranks), "--data", "synthetic", "--steps", "100",
                           "--threads", "1", "--restarts", "1", "--checkpoint-dir", folder / "kept",
                           "--checkpoint-every", "20", "--log-dir", logs, "--format", "json"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True) as run:
        for line in run.stdout:
            if json.loads(line).get("step") == 35:
                os.kill(ranks_of(program)[1], signal.SIGKILL)
                break
        steps = [35, *(row["step"] for row in rows_of(run.stdout.read()))]
    check(run.returncode == 0 and steps[-1] == 100, f"exit {run.returncode}, steps {steps}")
    again = [later for step, later in zip(steps, steps[1:]) if later <= step]
    check(len(again) == 1, f"steps after the kill are {steps}")
    text = report(logs)
    check_page("a restarted run", text, logs, ranks)
    found = [event for event in events(text) if event[1] == "restarted"]
    check([event[0] for event in found] == [str(again[0])] and "ran again" in found[0][2],
          f"a run that went on at step {again[0]} has events {events(text)}")
    check(any("flight record of rank" in event[2] for event in events(text))
          == any(logs.glob("flight-rank-*.json")), f"flight records are not events: {events(text)}")
    print("a start after a failure is an event", flush=True)


def check_skips(folder):
    rng = random.Random(7)
    batches = [skipped.random_batch(rng) for _ in range(8)]
    for bad in (3, 4, 7):
        batches[bad - 1][0][0][3] = math.inf
    program = skipped.compile_digits(folder, 2, "dp=2", "f16", "adamw")
    lines = train(program, 2, skipped.write_samples(folder, "skips", skipped.placed(batches)), 8, "--seed",
                  skipped.SEED, "--log-dir", folder / "skipped")
    check([line["skipped_steps"] for line in lines] == [0, 0, 1, 2, 2, 2, 3, 3], f"the f16 run has {lines}")
    text = report(folder / "skipped")
    check(events(text) == [(steps, "skipped", f"gradients were not finite; loss scale {scale}")
                           for steps, scale in (("3 to 4", 32768), ("7", 16384))], f"skips are {events(text)}")
    check("samples/s" in text and "tokens/s" not in text, "a model without sequences has no samples a second")
    print("skipped steps are events", flush=True)


def check_spike(folder):
    model, rng, every, bad, steps = checkpoints.Model(folder, checkpoints.GPT2), random.Random(11), 4, 10, 14
    batch, length = checkpoints.BATCH, checkpoints.SEQUENCE
    size, at = 20 * batch, {}
    for step in range(1, 21):  # a constant token is soon learned; those of the bad batch are random
        at.update(zip(samples_of(step, batch, size, 7),
                      [[rng.randrange(61) if step == bad else 5 for _ in range(length + 1)] for _ in range(batch)]))
    for part, begin in (("x", 0), ("y", 1)):
        write_npy(folder / f"{part}.npy", "<i4", "i", (size, length),
                  [word for i in range(size) for word in at[i][begin: begin + length]])
    model.data = f"tokens={folder / 'x.npy'},targets={folder / 'y.npy'}"
    lines, _ = model.train({"dp": 2}, "--checkpoint-dir", folder / "spikes", "--checkpoint-every", every,
                           "--spike-factor", 1.3, "--log-dir", folder / "spiked", steps=steps)
    check([line["step"] for line in lines] == [*range(1, bad + 1), *range(9, steps + 1)], f"no spike: {lines}")
    found = events(report(folder / "spiked"))
    check(found == [("9", "loss spike", "went back to the checkpoint of step 8; 2 batches of data were left out")],
          f"a spike gives events {found}")
    print("a loss spike is an event", flush=True)


def look_in_browser(page, folder):
    if not shutil.which("chromium"):
        print("chromium is not here: the page is not opened in a browser")
        return
    subprocess.run([sys.executable, PAGES / "open-page.py", page, folder / "browser", str(len(SECTIONS))], check=True)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        page = check_resume(folder)
        check_restart(folder)
        check_skips(folder)
        check_spike(folder)
        look_in_browser(page, folder)


if __name__ == "__main__":
    main()

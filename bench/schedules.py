#!/usr/bin/env python3
"""Draws the five pipeline schedules as their programs run: docs/images/schedules.svg, and a table of bubbles and
memory.

Usage: schedules.py [-o FILE.svg]. A GPT-2 of 16 equal layers, 4 stages, 8 micro-batches, is compiled for topology
cpu; time lines are those of `dtc simulate --trace` of the executable, instruction by instruction. Beside the
simulated bubble the table has that of the closed form if there is one: (p - 1) / (v m + p - 1) for p stages of v
chunks and m micro-batches of equal time. Embedding, head and transfers make the difference.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STAGES, MICRO_BATCHES = 4, 8
MODEL = {"model_type": "gpt2", "activation_function": "gelu_new", "tie_word_embeddings": True, "n_layer": 16,
         "n_embd": 256, "n_head": 8, "vocab_size": 512, "n_positions": 128, "embd_pdrop": 0.0, "attn_pdrop": 0.0,
         "resid_pdrop": 0.0}
# Each schedule is: title, schedule of --fix, chunks of a stage, whether the closed form gives its bubble.
SCHEDULES = [("GPipe", "gpipe", 1, True), ("1F1B", "1f1b", 1, True), ("Interleaved, 2 chunks a stage", "interleaved", 2,
                                                                      True),
             ("Zero-bubble H1", "zero-bubble", 1, False), ("ZB-V", "zero-bubble", 2, False)]
COLORS = {"forward": ["#7fb2e5", "#b9d6f2"], "backward": ["#7cc29a", "#b5dfc6"], "weights": ["#e3c067", "#f1dfae"],
          "other": ["#b9b4c7", "#b9b4c7"]}
WIDTH, ROW, MEMORY, LEFT = 1100, 22, 26, 70


class Failure(Exception):
    """The reason, in a line, why something could not be drawn."""


def run(*command):
    done = subprocess.run([str(part) for part in command], text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise Failure(f"dtc {command[1]}: {done.stderr.strip()}")
    return done.stdout


def simulate(schedule, chunks, folder):
    model, program, trace = (Path(folder) / name for name in ("config.json", "model.dte", "trace.json"))
    model.write_text(json.dumps(MODEL))
    dtc = ROOT / "build/bin/dtc"
    run(dtc, "compile", model, "--seq-len", 128, "--topology", "cpu", "--devices", STAGES, "--global-batch",
        MICRO_BATCHES, "--fix",
        f"dp=1,tp=1,pp={STAGES},schedule={schedule},virtual_stages={chunks},zero=0,micro_batch=1,recompute=none", "-o",
        program)
    about = json.loads(run(dtc, "simulate", program, "--trace", trace, "--format", "json"))
    return about, json.loads(trace.read_text())["traceEvents"]


class Stage:
    """A stage's compute stream, a box for each run of a task, and its memory over time."""

    def __init__(self, events, device):
        streams = [e["tid"] for e in events if e["ph"] == "M" and e["name"] == "thread_name" and e["pid"] == device]
        compute = min(streams)
        self.boxes = []  # begin, end, task, micro-batch
        for e in sorted((e for e in events if e["ph"] == "X" and e["pid"] == device and e["tid"] == compute),
                        key=lambda e: e["ts"]):
            of = e["args"]["task"], e["args"]["micro_batch"]
            if e["dur"] == 0 or e["cat"] == "transfer":
                continue
            if self.boxes and self.boxes[-1][2:] == of and e["ts"] - self.boxes[-1][1] < 0.5:
                self.boxes[-1] = (self.boxes[-1][0], e["ts"] + e["dur"], *of)
            else:
                self.boxes.append((e["ts"], e["ts"] + e["dur"], *of))
        self.memory = [(e["ts"], next(iter(e["args"].values()))) for e in events if e["ph"] == "C"
                       and e["pid"] == device]

    def end(self):
        return max(box[1] for box in self.boxes)

    def peak(self):
        return max(value for _, value in self.memory)


def color(task, first_chunk):
    phase = task.split(".")[0]
    shades = COLORS.get("weights" if phase.startswith("weight") else phase, COLORS["other"])
    return shades[0 if first_chunk else 1]


def draw_stage(out, stage, number, top, scale, most):
    chunks = sorted({box[2].split(".")[-1] for box in stage.boxes if box[2].startswith("forward")}, key=int)
    out.append(f'<text x="4" y="{top + 15}" class="l">stage {number}</text>')
    for begin, end, task, micro_batch in stage.boxes:
        x, width = LEFT + begin * scale, max(0.5, (end - begin) * scale)
        fill = color(task, task.split(".")[-1] == chunks[0])
        out.append(f'<rect x="{x:.2f}" y="{top}" width="{width:.2f}" height="{ROW - 4}" fill="{fill}"><title>{task}, '
                   f'micro-batch '
                   f'{micro_batch}: {begin / 1e3:.3f} to {end / 1e3:.3f} ms</title></rect>')
        if width > 9 and task.split(".")[0] in ("forward", "backward", "weight_gradients"):
            out.append(f'<text x="{x + width / 2:.2f}" y="{top + 13}" class="n">{micro_batch}</text>')
    base = top + ROW - 2 + MEMORY
    columns = {}  # the maximum within each two points of the picture
    for time, value in stage.memory:
        column = 2 * int((LEFT + time * scale) / 2)
        columns[column] = max(value, columns.get(column, 0))
    heights = [(x, f"{base - (MEMORY - 6) * value / most:.1f}") for x, value in sorted(columns.items())]
    kept = [at for at, before in zip(heights, [(0, "")] + heights) if at[1] != before[1]]
    points = [f"{LEFT},{base}"] + [f"{x},{y}" for x, y in kept] + [f"{LEFT + stage.end() * scale:.1f},{kept[-1][1]}",
                                                                   f"{LEFT + stage.end() * scale:.1f},{base}"]
    out.append(f'<polygon points="{" ".join(points)}" class="m"/>')
    out.append(f'<text x="4" y="{base - 2}" class="s">{stage.peak() / 2**20:.1f} MiB</text>')


def draw(panels, file):
    scale = (WIDTH - LEFT - 10) / max(stage.end() for _, stages in panels for stage in stages)
    most = max(stage.peak() for _, stages in panels for stage in stages)
    out, top = [], 24
    for title, stages in panels:
        out.append(f'<text x="{LEFT}" y="{top}" class="t">{title}</text>')
        top += 8
        for number, stage in enumerate(stages):
            draw_stage(out, stage, number, top, scale, most)
            top += ROW + MEMORY
        top += 30
    legend = [("forward", "forward"), ("backward", "backward, or its input's part"), ("weights", "the weights' part"),
              ("other", "gradients, update")]
    for index, (name, text) in enumerate(legend):
        x = LEFT + 230 * index
        out.append(f'<rect x="{x}" y="{top - 12}" width="14" height="14" fill="{COLORS[name][0]}"/>'
                   f'<text x="{x + 20}" y="{top}" class="l">{text}</text>')
    style = (
        "text{font-family:sans-serif;fill:#222}.t{font-size:14px;font-weight:bold}.l{font-size:12px}.s{font-size:10px;fill:#666}"
             ".n{font-size:10px;text-anchor:middle}.m{fill:#e9d3dc;stroke:#b0718b;stroke-width:0.7}")
    file.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{top + 16}" viewBox="0 0 '
                    f'{WIDTH} {top + 16}">\n'
                    f'<style>{style}</style>\n<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(out)
                    + "\n</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "docs/images/schedules.svg", metavar="FILE.svg")
    args = parser.parse_args()
    panels = []
    print("| schedule | step, simulated | predicted | bubble, simulated | of equal chunks | in use at most, by stage "
          "(MiB) |")
    print("|---|---|---|---|---|---|")
    for title, schedule, chunks, is_closed in SCHEDULES:
        with tempfile.TemporaryDirectory() as folder:
            about, events = simulate(schedule, chunks, folder)
        stages = [Stage(events, device) for device in range(STAGES)]
        bubble = about["bubble_fraction"]
        closed = f"{(STAGES - 1) / (chunks * MICRO_BATCHES + STAGES - 1):.1%}" if is_closed else "-"
        print(f"| {title} | {about['step_time_s'] * 1e3:.1f} ms | {about['predicted_step_time_s'] * 1e3:.1f} ms | "
              f"{bubble:.1%} | "
              f"{closed} | {', '.join(f'{stage.peak() / 2**20:.1f}' for stage in stages)} |")
        panels.append((f"{title}: a step takes {about['step_time_s'] * 1e3:.1f} ms, bubble {bubble:.1%}", stages))
    draw(panels, args.output)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"schedules.py: {failure}")

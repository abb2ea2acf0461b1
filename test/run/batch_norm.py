#!/usr/bin/env python3
"""Batch norm and its running statistics, without PyTorch (pytorch_export.py compares with it).

1. Any plan gives the losses, parameters and running statistics of one process: dp, tp, both, ZeRO, a pipeline,
   recomputation, emulated GPUs. So does a run that stops and goes on under another plan from its checkpoint; what
   'dtc checkpoint export' writes of one is what --dump-params writes.
2. Statistics of parts are of the samples of a rank and micro-batch: two ranks train as one with two micro-batches
   does, and not as one with all samples in one.
3. An evaluation normalises by the running statistics: its loss is that of the model with the formula of eval mode,
   and changes nothing.
4. Without momentum the running statistics are the means over steps.
5. In bf16 the statistics stay in f32, within the rounding of what they are of.
6. Several micro-batches are refused, with the pin and the option.
"""
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from dtc_tools import BIN, compare_steps, compare_tensors, dtc, read_safetensors, run, train, write_npy

BATCH, CLASSES, CHANNELS, STEPS = 8, 5, 4, 4
TOLERANCE = 2e-5  # sums of f32 in another order, over four steps
STATE = ("running_mean", "running_var", "num_batches_tracked")


def fail(what):
    sys.exit(f"FAILED: {what}")


def layer(norm):
    """Returns a block of a convolution and a batch norm beside a shortcut."""
    return f"""
  graph.func private @block(%x: !x) -> !x {{
    %k = graph.param "conv.weight" normal(0.0, 0.3) decay : tensor<{CHANNELS}x{CHANNELS}x3x3xf32>
    %c = graph.conv2d %x, %k padding [1, 1] : (!x, tensor<{CHANNELS}x{CHANNELS}x3x3xf32>) -> !x
{norm("c", "bn")}
    %r = graph.relu %y : !x
    %s = graph.add %x, %r : (!x, !x) -> !x
    graph.return %s : !x
  }}"""


def parameters(name, at=""):
    return f"""
    %w{at}, %b{at} = graph.param "{name}.weight" ones, "{name}.bias" zeros : !c, !c
    %m{at}, %v{at}, %n{at} = graph.param "{name}.running_mean" zeros frozen, "{name}.running_var" ones frozen,
      "{name}.num_batches_tracked" zeros frozen : !c, !c, tensor<f32>"""


def training(options, kind="!x", at=""):
    """Returns batch norm by the batch; `at` ends the names of its values."""
    return lambda x, name: f"""{parameters(name, at)}
    %y{at} = graph.batch_norm %{x}, %w{at}, %b{at} state %m{at}, %v{at}, %n{at} {options}
        : ({kind}, !c, !c, !c, !c, tensor<f32>) -> {kind}"""


def by_running(x, name):
    """Returns batch norm in eval mode, written out."""
    def wide(value):
        return f"graph.reshape %{value} : !c -> !wide"
    return f"""{parameters(name)}
    %e = graph.constant 1.0e-05 : tensor<f32>
    %ve = graph.add %v, %e : (!c, tensor<f32>) -> !c
    %rstd = graph.point rsqrt %ve : !c
    %slope = graph.multiply %w, %rstd : (!c, !c) -> !c
    %mw = {wide("m")}
    %sw = {wide("slope")}
    %bw = {wide("b")}
    %centred = graph.subtract %{x}, %mw : (!x, !wide) -> !x
    %scaled = graph.multiply %centred, %sw : (!x, !wide) -> !x
    %y = graph.add %scaled, %bw : (!x, !wide) -> !x"""


def model(norm):
    return f"""!x = tensor<?x{CHANNELS}x6x6xf32>
!c = tensor<{CHANNELS}xf32>
!wide = tensor<{CHANNELS}x1x1xf32>
module @normalised {{{layer(norm)}
  graph.func @loss(%images: tensor<?x3x6x6xf32>, %targets: tensor<?xi32>) -> tensor<f32> {{
    %k = graph.param "start.weight" normal(0.0, 0.4) decay : tensor<{CHANNELS}x3x3x3xf32>
    %h = graph.param "head.weight" normal(0.0, 0.5) decay : tensor<{CHANNELS}x{CLASSES}xf32>
    %x = graph.conv2d %images, %k padding [1, 1] : (tensor<?x3x6x6xf32>, tensor<{CHANNELS}x3x3x3xf32>) -> !x
    %z = graph.repeat 3 @block(%x) under "layers.{{}}" : (!x) -> !x
    %p = graph.reduce mean %z dims [2, 3] : !x -> tensor<?x{CHANNELS}xf32>
    %o = graph.linear %p, %h : (tensor<?x{CHANNELS}xf32>, tensor<{CHANNELS}x{CLASSES}xf32>) -> tensor<?x{CLASSES}xf32>
    %l = graph.cross_entropy %o, %targets mean : (tensor<?x{CLASSES}xf32>, tensor<?xi32>) -> tensor<f32>
    graph.return %l : tensor<f32>
  }}
}}
"""


def of_rows(options):
    """Returns a model of linear layers: batch norm of [samples, channels], and of [samples, channels, places]."""
    first, second = training(options, "!places", "_1"), training(options, "!rows", "_2")
    return f"""!x = tensor<?x12xf32>
!places = tensor<?x{CHANNELS}x3xf32>
!rows = tensor<?x{CHANNELS}xf32>
!c = tensor<{CHANNELS}xf32>
module @rows {{
  graph.func @loss(%images: tensor<?x3x6x6xf32>, %targets: tensor<?xi32>) -> tensor<f32> {{
    %k = graph.param "start.weight" normal(0.0, 0.4) decay : tensor<108x12xf32>
    %h = graph.param "head.weight" normal(0.0, 0.5) decay : tensor<{CHANNELS}x{CLASSES}xf32>
    %flat = graph.reshape %images : tensor<?x3x6x6xf32> -> tensor<?x108xf32>
    %x = graph.linear %flat, %k : (tensor<?x108xf32>, tensor<108x12xf32>) -> !x
    %apart = graph.reshape %x : !x -> !places
{first("apart", "first")}
    %r = graph.relu %y_1 : !places
    %p = graph.reduce mean %r dims [2] : !places -> !rows
{second("p", "second")}
    %o = graph.linear %y_2, %h : (!rows, tensor<{CHANNELS}x{CLASSES}xf32>)
        -> tensor<?x{CLASSES}xf32>
    %l = graph.cross_entropy %o, %targets mean : (tensor<?x{CLASSES}xf32>, tensor<?xi32>) -> tensor<f32>
    graph.return %l : tensor<f32>
  }}
}}
"""


def ranks_of(fix):
    ranks = 1
    for pair in filter(None, fix.split(",")):
        axis, value = pair.split("=")
        ranks *= int(value) if axis in ("dp", "tp", "pp") else 1
    return ranks


class Runs:
    def __init__(self, folder):
        self.folder, self.number = folder, 0
        numbers = random.Random(3)
        for name, samples in (("train", BATCH), ("other", 2 * BATCH)):
            write_npy(folder / f"{name}_images.npy", "<f4", "f", (samples, 3, 6, 6),
                      [numbers.uniform(-1, 2) for _ in range(samples * 108)])
            write_npy(folder / f"{name}_targets.npy", "<i4", "i", (samples,),
                      [numbers.randrange(CLASSES) for _ in range(samples)])

    def data(self, name="train"):
        return f"images={self.folder / name}_images.npy,targets={self.folder / name}_targets.npy"

    def compile(self, text, fix="", *flags, precision="f32"):
        self.number += 1
        source, program = self.folder / f"{self.number}.mlir", self.folder / f"{self.number}.dte"
        source.write_text(text)
        dtc("compile", source, "--topology", "cpu", "--devices", ranks_of(fix), "--global-batch", BATCH, "--precision",
            precision, "--lr-schedule", "constant", *(("--fix", fix) if fix else ()), *flags, "-o", program)
        return program

    def train(self, program, fix="", steps=STEPS, *flags):
        """Returns the losses of steps, and the parameters after the last."""
        dump = self.folder / "dump.safetensors"
        lines = train(program, ranks_of(fix), self.data(), steps, "--lr", 0.01, "--seed", 5, "--threads", 1,
                      "--dump-params", dump, *flags)
        return [line["loss"] for line in lines if "loss" in line], read_safetensors(dump)


def check_plans(runs, whole):
    losses, tensors = runs.train(runs.compile(whole))
    counted = [name for name in tensors if name.endswith(STATE)]
    if len(counted) != 9 or any(tensors[name][1][0] != STEPS for name in counted if name.endswith(STATE[2])):
        fail(f"one process keeps {counted}")
    for fix in ("dp=2", "tp=2", "dp=2,tp=2", "dp=2,zero=1", "dp=2,zero=2", "dp=2,zero=3", "pp=2", "dp=2,pp=2,zero=1",
                "dp=2,recompute=full", "recompute=selective"):
        compare_with(runs, whole, fix, losses, tensors)
    return losses, tensors


def compare_with(runs, text, fix, losses, tensors, *flags):
    what = " ".join((fix or "one process", *flags))
    found = runs.train(runs.compile(text, fix, *flags), fix)
    compare_steps(found[0], losses, TOLERANCE, f"{what}: loss")
    worst = compare_tensors(found[1], tensors, 20 * TOLERANCE, what, floor=0.05)
    print(f"{what}: within {worst:.1e}", flush=True)


def check_gpus(runs, images, *of_images):
    """Compares emulated GPUs with one process: batch norm of images, and of rows."""
    rows = of_rows("momentum 0.1")
    of_one = runs.train(runs.compile(rows))
    os.environ.update({"DTC_EMULATED_GPU": "1", "DTC_TUNING_MS": "0"})
    for fix in ("", "dp=2", "dp=2,zero=3"):
        compare_with(runs, rows, fix, *of_one, "--target", "simt")
    for fix in ("", "dp=2,tp=2"):
        compare_with(runs, images, fix, *of_images, "--target", "simt")
    del os.environ["DTC_EMULATED_GPU"], os.environ["DTC_TUNING_MS"]


def check_checkpoints(runs, whole, losses, tensors):
    kept, folder = runs.folder / "checkpoints", runs.folder / "exported"
    first, second = runs.compile(whole, "dp=2,zero=3"), runs.compile(whole, "dp=2,tp=2")
    head = runs.train(first, "dp=2,zero=3", 2, "--checkpoint-dir", kept, "--checkpoint-every", 2)
    tail = runs.train(second, "dp=2,tp=2", STEPS, "--checkpoint-dir", kept, "--checkpoint-every", 2, "--resume")
    compare_steps(head[0] + tail[0], losses, TOLERANCE, "stopped and resumed: loss")
    compare_tensors(tail[1], tensors, 20 * TOLERANCE, "stopped and resumed", floor=0.05)
    dtc("checkpoint", "export", kept, "-o", folder)
    compare_tensors(read_safetensors(folder / "model.safetensors"), tail[1], 0, "exported")


def check_parts(runs, whole):
    parts = model(training("momentum 0.1 parts"))
    two, cut = runs.train(runs.compile(parts, "dp=2"), "dp=2"), runs.train(runs.compile(parts, "micro_batch=4"))
    compare_steps(two[0], cut[0], TOLERANCE, "parts: loss", "two micro-batches")
    compare_tensors(two[1], cut[1], 20 * TOLERANCE, "parts", floor=0.05)
    one = runs.train(runs.compile(parts))
    if abs(one[0][0] - two[0][0]) < 1e-4:
        fail(f"parts have the loss of the whole: {one[0]}, {two[0]}")
    compare_steps(one[0], runs.train(runs.compile(whole))[0], TOLERANCE, "one part: loss", "the whole")


def check_evaluation(runs, whole, tensors):
    start = runs.folder / "dump.safetensors"
    runs.train(runs.compile(whole))
    kept = runs.folder / "kept.safetensors"
    start.rename(kept)
    losses = {}
    for name, text, fix in (("by state", whole, ""), ("on two ranks", whole, "dp=2"), ("written out", model(by_running),
                                                                                         "")):
        lines = train(runs.compile(text, fix), ranks_of(fix), runs.data(), 0, "--eval-data", runs.data("other"),
                      "--init", kept, "--threads", 1, "--dump-params", start)
        losses[name] = [line["eval_loss"] for line in lines]
        compare_tensors(read_safetensors(start), tensors, 20 * TOLERANCE, f"evaluated {name}", floor=0.05)
    for name in ("by state", "on two ranks"):
        compare_steps(losses[name], losses["written out"], TOLERANCE, f"evaluation {name}: loss", "the one written out")


def check_averages(runs):
    """The means over steps are those of each step alone, which momentum 1 keeps."""
    averaged = model(training(""))
    _, tensors = runs.train(runs.compile(averaged, "dp=2"), "dp=2", 3)
    last = runs.compile(model(training("momentum 1.0")))
    each = [runs.train(last, "", steps)[1] for steps in (1, 2, 3)]
    wanted = {name: (shape, [sum(step[name][1][at] for step in each) / 3 for at in range(len(values))])
              for name, (shape, values) in tensors.items() if name.endswith(STATE[:2])}
    compare_tensors({name: tensors[name] for name in wanted}, wanted, 20 * TOLERANCE, "means over steps", floor=0.05)


def check_bf16(runs, whole, tensors):
    _, found = runs.train(runs.compile(whole, precision="bf16"))
    names = [name for name in tensors if name.endswith(STATE)]
    compare_tensors({name: found[name] for name in names}, {name: tensors[name] for name in names}, 0.05, "bf16",
                    floor=0.2)


def check_refusal(runs, whole):
    source = runs.folder / "whole.mlir"
    source.write_text(whole)
    result = subprocess.run([BIN / "dtc", "plan", source, "--topology", "cpu", "--devices", "1", "--global-batch",
                             str(BATCH), "--fix", "micro_batch=4"], capture_output=True, text=True)
    wanted = ("--fix micro_batch=4 makes 2 micro-batches", "batch norm needs the statistics of the whole batch",
              'batch_norm="parts"')
    if result.returncode != 1 or any(words not in result.stderr for words in wanted):
        fail(f"several micro-batches end with {result.returncode}: {result.stderr}")
    plan = run([BIN / "dtc", "plan", source, "--topology", "cpu", "--devices", "2", "--global-batch", str(BATCH),
                "--format", "json"])
    if '"num_micro_batches":1,' not in plan.replace(" ", ""):
        fail("the planner cuts a batch that is needed whole")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        runs, whole = Runs(Path(scratch)), model(training("momentum 0.1"))
        losses, tensors = check_plans(runs, whole)
        check_gpus(runs, whole, losses, tensors)
        check_checkpoints(runs, whole, losses, tensors)
        check_parts(runs, whole)
        check_evaluation(runs, whole, tensors)
        check_averages(runs)
        check_bf16(runs, whole, tensors)
        check_refusal(runs, whole)
    print("batch norm is that of one device under every plan")


if __name__ == "__main__":
    main()

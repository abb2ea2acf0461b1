#!/usr/bin/env python3
"""State that takes a maximum over the samples of a step (graph.observe max).

1. Any plan gives the losses, parameters and maxima of one process.
2. The maxima of the first step are those of the inputs times the initial weights, computed here.
3. Several micro-batches are refused, and the planner makes none.
"""
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from dtc_tools import BIN, compare_steps, compare_tensors, dtc, read_safetensors, run, train, write_npy

BATCH, WIDTH, STEPS, KEPT = 8, 6, 4, 0.5
TOLERANCE = 2e-5  # sums of f32 in another order, over four steps
MODEL = f"""!x = tensor<?x{WIDTH}xf32>
!w = tensor<{WIDTH}x{WIDTH}xf32>
!c = tensor<{WIDTH}xf32>
module @peaks {{
  graph.func private @block(%x: !x) -> !x {{
    %w = graph.param "weight" normal(0.0, 0.6) decay : !w
    %peak = graph.param "peak" zeros frozen : !c
    %y = graph.linear %x, %w : (!x, !w) -> !x
    %size = graph.point abs %y : !x
    %largest = graph.reduce max %size dims [0] : !x -> !c
    %old = graph.detach %peak : !c
    %kept = graph.scale %old by {KEPT} : !c
    %next = graph.maximum %kept, %largest : (!c, !c) -> !c
    %z = graph.observe max %y, %peak, %next : !x, !c
    graph.return %z : !x
  }}
  graph.func @loss(%images: !x, %targets: !x) -> tensor<f32> {{
    %z = graph.repeat 4 @block(%images) under "layers.{{}}" : (!x) -> !x
    %d = graph.subtract %z, %targets : (!x, !x) -> !x
    %s = graph.multiply %d, %d : (!x, !x) -> !x
    %l = graph.reduce mean %s dims [0, 1] : !x -> tensor<f32>
    graph.return %l : tensor<f32>
  }}
}}
"""
PLANS = ("dp=2", "dp=4", "tp=2", "dp=2,tp=2", "dp=2,zero=1", "dp=2,zero=3", "pp=2", "dp=2,pp=2", "dp=2,recompute=full")


def fail(what):
    sys.exit(f"FAILED: {what}")


class Runs:
    def __init__(self, folder):
        self.folder, numbers = folder, random.Random(3)
        self.images = [numbers.uniform(-1, 1) for _ in range(BATCH * WIDTH)]
        targets = [numbers.uniform(-1, 1) for _ in range(BATCH * WIDTH)]
        for name, values in (("images", self.images), ("targets", targets)):
            write_npy(folder / f"{name}.npy", "<f4", "f", (BATCH, WIDTH), values)
        self.model = folder / "model.mlir"
        self.model.write_text(MODEL)

    def train(self, fix="", steps=STEPS):
        """Returns the losses of steps, and the parameters after the last."""
        ranks = 1
        for axis, value in (pair.split("=") for pair in filter(None, fix.split(","))):
            ranks *= int(value) if axis in ("dp", "tp", "pp") else 1
        program, dump = self.folder / "model.dte", self.folder / "dump.safetensors"
        dtc("compile", self.model, "--topology", "cpu", "--devices", ranks, "--global-batch", BATCH, "--lr-schedule",
            "constant", *(("--fix", fix) if fix else ()), "-o", program)
        lines = train(program, ranks, f"images={self.folder}/images.npy,targets={self.folder}/targets.npy", steps,
                      "--lr", 0.01, "--seed", 5, "--threads", 1, "--dump-params", dump)
        return [line["loss"] for line in lines if "loss" in line], read_safetensors(dump)


def check_first_step(runs):
    """A step sees the whole data set: the order of its samples changes no maximum."""
    weight = runs.train(steps=0)[1]["layers.0.weight"][1]
    peak = runs.train(steps=1)[1]["layers.0.peak"][1]
    for at in range(WIDTH):
        wanted = max(abs(sum(runs.images[sample * WIDTH + of] * weight[of * WIDTH + at] for of in range(WIDTH)))
                     for sample in range(BATCH))
        if abs(peak[at] - wanted) > TOLERANCE * wanted:
            fail(f"the first step keeps {peak[at]} of channel {at}, not {wanted}")


def check_refusal(runs):
    command = [BIN / "dtc", "plan", runs.model, "--topology", "cpu", "--devices", "2", "--global-batch", str(BATCH)]
    result = subprocess.run([*command, "--fix", "micro_batch=2"], capture_output=True, text=True)
    if result.returncode != 1 or "state that takes a maximum" not in result.stderr:
        fail(f"several micro-batches end with {result.returncode}: {result.stderr}")
    if '"num_micro_batches":1,' not in run([*command, "--format", "json"]).replace(" ", ""):
        fail("the planner cuts a batch that is needed whole")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        runs = Runs(Path(scratch))
        check_first_step(runs)
        losses, tensors = runs.train()
        if min(min(tensors[f"layers.{layer}.peak"][1]) for layer in range(4)) <= 0:
            fail("a layer keeps no maximum")
        for fix in PLANS:
            found = runs.train(fix)
            compare_steps(found[0], losses, TOLERANCE, f"{fix}: loss")
            worst = compare_tensors(found[1], tensors, 20 * TOLERANCE, fix, floor=0.05)
            print(f"{fix}: within {worst:.1e}", flush=True)
        check_refusal(runs)
    print("maxima are those of one device under every plan")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Convolutional networks train as PyTorch trains them, and as one device does under any plan.

Usage: convolution.py [--cases N] [--seed S]; the last line is the summary.
1. models/digits/convnet.mlir has the gradients of the first step and follows the curve that reference/make_convnet.py
   stored, on one process, data parallel, tensor parallel and both, with micro-batches; on emulated GPUs the first
   steps of that.
2. Random small networks (transposed convolutions, strides, padding, dilation, groups, both kinds of pooling, one
   output channel or many) train under random plans, half of them with ops split at random as any_split.py does, and a
   third of them on emulated GPUs: losses, gradients and parameters are those of one process.
"""
import json
import os
import random
import sys
import tempfile
from pathlib import Path

from any_plan import compare_runs, run_cases, run_steps
from any_split import change_splits
from dtc_tools import compare_steps, compare_tensors, dtc, read_safetensors, train
from inputs import compile_model, write_npy
from like_jax import CURVE_TOLERANCE, GRADIENT_TOLERANCE

HERE = Path(__file__).resolve().parent
DATA, DIGITS = HERE / "reference" / "data", HERE.parents[1] / "models" / "digits"
PLANS = [(1, ""), (1, "micro_batch=32"), (2, "dp=2"), (2, "tp=2"), (4, "dp=2,tp=2,zero=1,micro_batch=16")]
GPU_PLANS, GPU_STEPS = [(1, ""), (2, "dp=2,zero=3,micro_batch=16")], 2  # the emulator takes seconds for a step


def compile_digits(folder, curve, devices, fix, *target):
    a = curve["adamw"]
    return compile_model(DIGITS / "convnet.mlir", folder / "adamw.dte", devices, curve["batch"], fix, "--lr-schedule",
                         "constant", "--beta1", a["beta1"], "--beta2", a["beta2"], "--epsilon", a["epsilon"],
                         "--weight-decay", a["weight_decay"], "--clip-norm", a["clip"], *target)


def check_digits_gradients(folder, dte, curve, files, devices, fix):
    dump = folder / "gradients.safetensors"
    train(dte, devices, files, 1, "--seed", curve["seed"], "--init", DATA / "convnet.init.safetensors", "--threads", 1,
          "--dump-grads", dump)
    return compare_tensors(read_safetensors(dump), read_safetensors(DATA / "convnet.grad.safetensors"),
                           GRADIENT_TOLERANCE, f"gradients of convnet on {devices} ranks {fix}")


def check_digits_curve(dte, curve, files, devices, fix, length):
    steps = train(dte, devices, files, length, "--seed", curve["seed"], "--lr", curve["adamw"]["lr"],
                  "--init", DATA / "convnet.init.safetensors", "--threads", 1)
    worst = max(compare_steps([step[key] for step in steps], curve[key][:length], CURVE_TOLERANCE,
                              f"convnet on {devices} ranks {fix}: {key}", "PyTorch") for key in ("loss", "grad_norm"))
    return worst, steps[-1]["loss"]


def check_digits(folder):
    curve = json.loads((DATA / "convnet.curve.json").read_text())
    files = f"images={DIGITS / 'images.npy'},labels={DIGITS / 'labels.npy'}"
    for devices, fix in PLANS:
        dte = compile_digits(folder, curve, devices, fix)
        gradients = check_digits_gradients(folder, dte, curve, files, devices, fix)
        worst, last = check_digits_curve(dte, curve, files, devices, fix, len(curve["loss"]))
        print(f"convnet on {devices} ranks {fix}: gradients within {gradients:.1e}, curve within {worst:.1e}, last "
              f"loss {last:.4f}", flush=True)
    os.environ["DTC_EMULATED_GPU"] = "1"
    for devices, fix in GPU_PLANS:
        dte = compile_digits(folder, curve, devices, fix, "--target", "simt")
        gradients = check_digits_gradients(folder, dte, curve, files, devices, fix)
        worst, _ = check_digits_curve(dte, curve, files, devices, fix, GPU_STEPS)
        print(f"convnet on {devices} emulated GPUs {fix}: gradients within {gradients:.1e}, {GPU_STEPS} steps within "
              f"{worst:.1e}", flush=True)
    del os.environ["DTC_EMULATED_GPU"]


class Network:
    """A random network as text: its lines, and the image that the next layer takes."""

    def __init__(self, rng):
        self.rng, self.parameters, self.lines = rng, [], []
        self.inputs = [rng.choice([1, 2, 3, 4]), rng.choice([6, 9, 11]), rng.choice([7, 8, 10])]
        self.shape, self.value = self.inputs, "%images"
        for _ in range(rng.choice([1, 2, 3])):
            if rng.random() < 0.3:
                self.add_transposed()
            else:
                self.add_convolution()
            if min(self.shape[1:]) >= 3 and rng.random() < 0.6:
                self.add_pool()

    def type(self, shape=None):
        return "tensor<?x" + "".join(f"{size}x" for size in shape or self.shape) + "f32>"

    def define(self, text):
        self.value = f"%v{len(self.lines)}"
        self.lines.append(f"{self.value} = graph.{text}")

    def add_parameter(self, name, init, shape):
        kind = "tensor<" + "".join(f"{size}x" for size in shape) + "f32>"
        value = "%p" + str(len(self.parameters))
        self.parameters.append(f'{value} = graph.param "{name}" {init} : {kind}')
        return value, kind

    def window(self, kernel, most_stride, paddings, dilation):
        """Draws stride and padding; returns them and the size of the results."""
        stride = [self.rng.randint(1, most_stride) for _ in kernel]
        padding = [self.rng.choice(paddings(k)) for k in kernel]
        sizes = [(size + 2 * p - d * (k - 1) - 1) // s + 1
                 for size, k, s, p, d in zip(self.shape[1:], kernel, stride, padding, dilation)]
        return f"stride {stride} padding {padding}", sizes

    def add_convolution(self):
        rng, channels = self.rng, self.shape[0]
        groups = rng.choice([g for g in (1, 1, 2, 3, 4) if channels % g == 0])
        filters = groups * rng.choice([1, 2, 3, 4])
        kernel = [rng.choice([1, 2, 3]) for _ in range(2)]
        dilation = [rng.choice([1, 1, 2]) for _ in range(2)]
        moves, sizes = self.window(kernel, 2, lambda k: range(k), dilation)
        if min(sizes) < 1:
            return
        name = f"layer.{len(self.parameters)}"
        weight, weight_type = self.add_parameter(f"{name}.weight", "normal(0.0, 0.3) decay",
                                                 [filters, channels // groups, *kernel])
        bias, bias_type = self.add_parameter(f"{name}.bias", "normal(0.0, 0.1)", [filters])
        before, self.shape = self.type(), [filters, *sizes]
        self.define(f"conv2d {self.value}, {weight}, {bias} {moves} dilation {dilation} : "
                    f"({before}, {weight_type}, {bias_type}) -> {self.type()}")
        self.define(f"{rng.choice(['relu', 'silu'])} {self.value} : {self.type()}")

    def add_transposed(self):
        """Adds a transposed convolution, whose result has some rows and columns more than the least."""
        rng, filters = self.rng, self.shape[0]
        groups = rng.choice([g for g in (1, 1, 2, 3, 4) if filters % g == 0])
        kernel, stride = [rng.choice([1, 2, 3]) for _ in range(2)], [rng.choice([1, 2]) for _ in range(2)]
        dilation = [rng.choice([1, 1, 2]) for _ in range(2)]
        padding = [rng.choice(range(k)) for k in kernel]
        sizes = [(size - 1) * s - 2 * p + d * (k - 1) + 1 + rng.randrange(s)
                 for size, k, s, p, d in zip(self.shape[1:], kernel, stride, padding, dilation)]
        if min(sizes) < 1 or any(size + 2 * p < d * (k - 1) + 1
                                 for size, k, p, d in zip(sizes, kernel, padding, dilation)):
            return
        channels = rng.choice([1, 2, 3])
        weight, weight_type = self.add_parameter(f"layer.{len(self.parameters)}.weight", "normal(0.0, 0.3) decay",
                                                 [filters, channels, *kernel])
        before, self.shape = self.type(), [groups * channels, *sizes]
        self.define(f"conv_transpose2d {self.value}, {weight} stride {stride} padding {padding} dilation {dilation} : "
                    f"({before}, {weight_type}) -> {self.type()}")
        self.define(f"{rng.choice(['relu', 'silu'])} {self.value} : {self.type()}")

    def add_pool(self):
        kernel = [self.rng.choice([1, 2, 3]) for _ in range(2)]
        moves, sizes = self.window(kernel, 3, lambda k: range(k // 2 + 1), [1, 1])
        before, self.shape = self.type(), [self.shape[0], *sizes]
        self.define(f"{self.rng.choice(['max', 'avg'])}_pool2d {self.value} kernel {kernel} {moves} : {before} -> "
                    f"{self.type()}")

    def text(self):
        size = self.shape[0] * self.shape[1] * self.shape[2]
        self.define(f"reshape {self.value} : {self.type()} -> {self.type([size])}")
        weight, kind = self.add_parameter("scores.weight", "normal(0.0, 0.3) decay", [5, size])
        self.define(f"linear {self.value}, {weight} transposed : ({self.type([size])}, {kind}) -> {self.type([5])}")
        self.define(f"cross_entropy {self.value}, %labels mean : ({self.type([5])}, tensor<?xi32>) -> tensor<f32>")
        body = "".join(f"    {line}\n" for line in self.parameters + self.lines)
        return (f"module @net {{\n  graph.func @loss(%images: {self.type(self.inputs)}, %labels: tensor<?xi32>) -> "
                f"tensor<f32> {{\n"
                f"{body}    graph.return {self.value} : tensor<f32>\n  }}\n}}\n")


def run_net(folder, model, files, ranks, batch, seed, *how):
    dte = folder / "net.dte"
    os.environ["DTC_EMULATED_GPU"] = str(int("simt" in how))
    dtc("compile", model, *how, "--epsilon", 1e-3, "-o", dte)
    return run_steps(folder, dte, ranks, files, seed, 1e-2)


def run_case(index, seed):
    rng = random.Random(f"convolution {seed}/{index}")
    network = Network(rng)
    text = network.text()
    dp, tp, micro = *rng.choice([(2, 1), (1, 2), (2, 2), (1, 4)]), rng.choice([1, 2])
    batch, samples = dp * micro * rng.choice([1, 2]), 12
    what = f"case {index}: dp {dp} tp {tp} micro-batch {micro} batch {batch}\n{text}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = folder / "net.mlir"
        model.write_text(text)
        shape = [samples, *network.inputs]
        write_npy(folder / "x.npy", "<f4", "f", shape,
                  [rng.uniform(-1, 1) for _ in range(samples * shape[1] * shape[2] * shape[3])])
        write_npy(folder / "y.npy", "<i4", "i", [samples], [rng.randrange(5) for _ in range(samples)])
        files = f"images={folder / 'x.npy'},labels={folder / 'y.npy'}"
        machine = ["--topology", "cpu", "--devices", dp * tp, "--global-batch", batch]
        taken, how = 0, [*machine, "--fix", f"dp={dp},tp={tp},micro_batch={micro}"]
        if tp > 1 and rng.random() < 0.5:
            dtc("plan", model, *machine, "--fix", f"dp={dp},tp={tp}", "--format", "json", "-o",
                folder / "plan.json")
            plan = json.loads((folder / "plan.json").read_text())
            taken = change_splits(rng, model, None, plan, folder)
            what += json.dumps(plan["op_splits"])
            (folder / "plan.json").write_text(json.dumps(plan))
            how = ["--plan", folder / "plan.json"]
        if index % 3 == 2:
            how += ["--target", "simt"]
            what += " on emulated GPUs"
        found = run_net(folder, model, files, dp * tp, batch, index, *how)
        one = ["--topology", "cpu", "--devices", 1, "--global-batch", batch, "--fix", f"micro_batch={batch}"]
        return taken, compare_runs(found, run_net(folder, model, files, 1, batch, index, *one), what)


def main():
    if "--only" not in sys.argv:
        with tempfile.TemporaryDirectory() as folder:
            check_digits(Path(folder))
    results, match = run_cases(__doc__, 16, run_case, lambda results: f"{sum(taken for taken, _ in results)} splits "
                               f"changed, "
                               f"largest difference {max((worst for _, worst in results), default=0):.2e}")
    taken = sum(changes for changes, _ in results)
    sys.exit(0 if match and (taken or "--only" in sys.argv) else 1)


if __name__ == "__main__":
    main()

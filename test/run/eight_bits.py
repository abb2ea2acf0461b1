#!/usr/bin/env python3
"""Training in fp8.

1. A model of three layers has gradients whose sums are exact in f32, so that they have the same bits in any order.
   Formulas written out here give them from the rounding of numbers to formats of 8 bits, found by search. One
   rank, an emulated GPU and plans of every kind give these bits. The samples of one half have numbers that are
   subnormal by the scale of all samples, and would not be by their own: ranks that do not share a scale differ.
2. A GPT-2 and a Llama train as in bf16 and not by the same numbers. Plans train like one device.
3. A gradient that overflows leaves all parameters as they are, also where a product would not show it.
4. A run goes on from a checkpoint of fp8 to the same bits, and one of bf16 goes on in fp8.
5. `dtc verify` proves programs. Bad input ends with one line.
"""
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from dtc_tools import BIN, as_bytes, dtc, read_safetensors, train, write_npy, write_safetensors
from rounding import DRAWS, Compared, write_moved

WIDTH, TOKENS, BATCH = 32, 2, 4
LAYERS = f"""module @exact attributes {{graph.sequence_length = {TOKENS} : i64}} {{
  graph.func private @layer(%x: tensor<?x{TOKENS}x{WIDTH}xf32>) -> tensor<?x{TOKENS}x{WIDTH}xf32> {{
    %w = graph.param "w" zeros : tensor<{WIDTH}x{WIDTH}xf32>
    %y = graph.linear %x, %w
      : (tensor<?x{TOKENS}x{WIDTH}xf32>, tensor<{WIDTH}x{WIDTH}xf32>) -> tensor<?x{TOKENS}x{WIDTH}xf32>
    graph.return %y : tensor<?x{TOKENS}x{WIDTH}xf32>
  }}
  graph.func @loss(%x: tensor<?x{TOKENS}x{WIDTH}xf32>) -> tensor<f32> {{
    %v = graph.param "v" zeros : tensor<{WIDTH}x{WIDTH}xf32>
    %h = graph.repeat 2 @layer(%x) under "h.{{}}" : (tensor<?x{TOKENS}x{WIDTH}xf32>) -> tensor<?x{TOKENS}x{WIDTH}xf32>
    %z = graph.linear %h, %v
      : (tensor<?x{TOKENS}x{WIDTH}xf32>, tensor<{WIDTH}x{WIDTH}xf32>) -> tensor<?x{TOKENS}x{WIDTH}xf32>
    %l = graph.reduce mean %z dims [0, 1, 2] : tensor<?x{TOKENS}x{WIDTH}xf32> -> tensor<f32>
    graph.return %l : tensor<f32>
  }}
}}
"""
FORMATS = {"e4m3": (3, 7, 127), "e5m2": (2, 15, 124)}  # bits of fraction, bias, numbers from 0 on


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def numbers_of(form):
    fraction, bias, count = FORMATS[form]
    one = 1 << fraction
    return [math.ldexp(code % one + (one if code >= one else 0), max(code >> fraction, 1) - bias - fraction)
            for code in range(count)]


NUMBERS = {form: numbers_of(form) for form in FORMATS}


def nearest(form, magnitude):
    """Returns the nearest number of a format, that of the even code where two are as near."""
    return min(enumerate(NUMBERS[form]), key=lambda each: (abs(each[1] - magnitude), each[0] % 2))[1]


def rounded(form, matrix):
    """Rounds a matrix with one scale."""
    largest = max(abs(value) for row in matrix for value in row)
    scale = 2.0 ** math.floor(math.log2(NUMBERS[form][-1] / largest))
    return [[math.copysign(nearest(form, abs(value) * scale) / scale, value) for value in row] for row in matrix]


def as_bf16(matrix):
    def narrow(value):
        (bits,) = struct.unpack("<I", struct.pack("<f", value))
        return struct.unpack("<f", struct.pack("<I", (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000))[0]
    return [[narrow(value) for value in row] for row in matrix]


def product(a, b):
    columns = list(zip(*b))
    return [[math.fsum(x * y for x, y in zip(row, column)) for column in columns] for row in a]


def transposed(matrix):
    return [list(row) for row in zip(*matrix)]


def reference(x, weights, v):
    """Returns the loss, how far additions in f32 may round it, and the gradients of the layers' weights and of v."""
    saved = []
    for w in weights:
        saved.append((rounded("e4m3", x), rounded("e4m3", w)))
        x = as_bf16(product(*saved[-1]))
    z = as_bf16(product(x, v))
    count = len(z) * len(z[0])
    dz = [[1 / count] * len(z[0]) for _ in z]
    dv = product(transposed(x), dz)
    dx, gradients = as_bf16(product(dz, transposed(v))), []
    for qx, qw in reversed(saved):
        dy = rounded("e5m2", dx)
        gradients.insert(0, product(transposed(qx), dy))
        dx = as_bf16(product(dy, transposed(qw)))
    terms = [value / count for row in z for value in row]
    return math.fsum(terms), count * 2.0**-24 * math.fsum(map(abs, terms)), gradients, dv


def exact_numbers():
    """Returns samples, weights and v. Samples of the second half are small beside the first half's 8."""
    rng = random.Random(5)
    x = []
    for row in range(BATCH * TOKENS):
        if row < BATCH * TOKENS // 2:
            x.append([rng.choice([-1, 1]) * rng.randrange(16, 129) / 16 for _ in range(WIDTH)])
        else:
            x.append([rng.choice([-1, 1]) * rng.randrange(128, 256) * 2.0**-20 for _ in range(WIDTH)])
    x[0][0] = 8.0
    # One number in each row and column, so that a partial sum, which ranks round to bf16, is all of a sum or 0.
    def matrix(least, most, unit):
        order = rng.sample(range(WIDTH), WIDTH)
        return [[rng.randrange(least, most) / unit if order[row] == column else 0.0 for column in range(WIDTH)]
                for row in range(WIDTH)]
    weights, v = [matrix(64, 129, 64) for _ in range(2)], matrix(8, 24, 8)
    return x, weights, v


def compile_exact(folder, fix, *flags):
    dte = folder / f"exact-{abs(hash((fix, flags)))}.dte"
    ranks = math.prod(int(pin.split("=")[1]) for pin in fix.split(",") if pin.split("=")[0] in ("dp", "tp", "pp"))
    dtc("compile", folder / "exact.mlir", "--topology", "cpu", "--devices", ranks, "--global-batch", BATCH,
        "--precision", "fp8", "--fix", fix, "--clip-norm", 0, *flags, "-o", dte)
    return dte, ranks


EXACT_PLANS = ["dp=1,micro_batch=4", "dp=2,zero=0,micro_batch=2", "dp=2,zero=1,micro_batch=2",
               "dp=2,zero=2,micro_batch=2", "dp=2,zero=3,micro_batch=2", "dp=4,zero=3,micro_batch=1",
               "dp=1,tp=2,sp=0,micro_batch=4", "dp=1,tp=2,sp=1,micro_batch=4", "dp=1,tp=2,micro_batch=4,recompute=full",
               "dp=2,tp=2,zero=1,micro_batch=2", "dp=1,pp=2,schedule=gpipe,micro_batch=4",
               "dp=2,pp=2,zero=1,micro_batch=2,recompute=full"]


def flat(matrix):
    return [value for row in matrix for value in row]


def check_exact(folder):
    (folder / "exact.mlir").write_text(LAYERS)
    x, weights, v = exact_numbers()
    loss, rounding, gradients, dv = reference(x, weights, v)
    write_npy(folder / "x.npy", "<f4", "f", (BATCH, TOKENS, WIDTH), flat(x))
    write_safetensors(folder / "init.safetensors", {
        "v": ([WIDTH, WIDTH], flat(v)), **{f"h.{i}.w": ([WIDTH, WIDTH], flat(w)) for i, w in enumerate(weights)}})
    wanted = {"v": flat(dv), **{f"h.{i}.w": flat(gradient) for i, gradient in enumerate(gradients)}}
    plain = reference_of_bf16(x, weights, v)
    check(any(a != b for a, b in zip(wanted["h.0.w"], plain)), "numbers of 8 bits are those of bf16 here")
    for fix, *flags in [*((fix,) for fix in EXACT_PLANS), (EXACT_PLANS[0], "--target", "simt"),
                        (EXACT_PLANS[1], "--target", "simt")]:
        dte, ranks = compile_exact(folder, fix, *flags)
        dtc("verify", dte)
        dumped = folder / "gradients.safetensors"
        os.environ["DTC_EMULATED_GPU"] = str(int("simt" in flags))
        row, = train(dte, ranks, f"x={folder / 'x.npy'}", 1, "--init", folder / "init.safetensors", "--dump-grads",
                     dumped)
        found = {name: values for name, (_, values) in read_safetensors(dumped).items()}
        what = f"fp8 {fix} {' '.join(flags)}"
        check(abs(row["loss"] - loss) <= rounding, f"{what}: loss is {row['loss']}, wanted {loss} within {rounding}")
        for name, values in wanted.items():
            far = [(i, a, b) for i, (a, b) in enumerate(zip(found[name], values, strict=True)) if a != b]
            check(not far, f"{what}: {len(far)} elements of the gradient of '{name}' differ, first {far[:1]}")
        print(f"{what}: {sum(map(len, wanted.values()))} gradients have the bits of the formulas", flush=True)


def reference_of_bf16(x, weights, v):
    """Returns the gradient of the first layer's weight without 8 bits."""
    count = len(x) * len(v[0])
    dx = as_bf16(product([[1 / count] * len(v[0]) for _ in x], transposed(v)))
    dx = as_bf16(product(dx, transposed(weights[1])))
    return flat(product(transposed(x), dx))


def check_infinity(folder):
    """A gradient overflows in bf16 behind a finite loss. It meets inputs of 0, so that a rounding that saturates would
    leave no trace of it.
    """
    def diagonal(value):
        return [value if row == column else 0.0 for row in range(WIDTH) for column in range(WIDTH)]
    write_npy(folder / "zeros.npy", "<f4", "f", (BATCH, TOKENS, WIDTH), [0.0] * (BATCH * TOKENS * WIDTH))
    write_safetensors(folder / "large.safetensors", {
        "v": ([WIDTH, WIDTH], diagonal(3e38)), **{f"h.{i}.w": ([WIDTH, WIDTH], diagonal(512.0)) for i in range(2)}})
    for fix in EXACT_PLANS[:2]:
        dte, ranks = compile_exact(folder, fix)
        runs = [train(dte, ranks, f"x={folder / 'zeros.npy'}", steps, "--init", folder / "large.safetensors",
                      "--dump-params", folder / f"after{steps}.safetensors") for steps in (0, 1)]
        check(runs[1][0]["skipped_steps"] == 1 and runs[1][0]["loss"] == 0, f"{fix}: a gradient overflows: {runs[1]}")
        before, after = ((folder / f"after{steps}.safetensors").read_bytes() for steps in (0, 1))
        check(before == after, f"{fix}: a step with an infinite gradient changed parameters")


SEQUENCE, SAMPLES, STEPS = 16, 8, 20
GPT2 = {"model_type": "gpt2", "vocab_size": 96, "n_positions": SEQUENCE, "n_embd": 64, "n_layer": 2, "n_head": 4,
        "initializer_range": 0.08, "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
LLAMA = {"model_type": "llama", "vocab_size": 96, "max_position_embeddings": SEQUENCE, "hidden_size": 64,
         "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
         "hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "initializer_range": 0.08,
         "tie_word_embeddings": False}
PLANS = {"gpt2": ["dp=2,zero=1,micro_batch=4", "dp=1,tp=2,sp=1,micro_batch=8", "dp=2,tp=2,zero=2,micro_batch=4",
                  "dp=2,pp=2,zero=1,micro_batch=4,recompute=full"],
         "llama": ["dp=4,zero=3,micro_batch=2", "dp=1,tp=2,sp=0,micro_batch=8",
                   "dp=1,pp=2,schedule=gpipe,micro_batch=8"]}
ONE = f"dp=1,micro_batch={SAMPLES}"
# The loss after the last step, beside that of bf16.
NEAR_BF16 = 0.005
# Two orders of sums in f32, as a share of a number (any_plan.py).
EXACT = 1e-4


def compile_model(folder, name, fix, precision="fp8"):
    dte = folder / f"{name}-{abs(hash((fix, precision)))}.dte"
    ranks = math.prod(int(pin.split("=")[1]) for pin in fix.split(",") if pin.split("=")[0] in ("dp", "tp", "pp"))
    if not dte.exists():
        dtc("compile", folder / f"{name}.json", "--seq-len", SEQUENCE, "--topology", "cpu", "--devices", ranks,
            "--global-batch", SAMPLES, "--precision", precision, "--fix", fix, "--lr-schedule", "constant",
            "-o", dte)
    return dte, ranks


def losses(folder, dte, ranks, steps, *flags):
    rows = train(dte, ranks, as_bytes(folder / "text.bin"), steps, "--lr", 3e-3, *flags)
    check(not any(row["skipped_steps"] for row in rows), "steps were skipped")
    return [row["loss"] for row in rows]


def check_models(folder):
    rng = random.Random(3)
    (folder / "text.bin").write_bytes(bytes(rng.choice((32, 40, 41, 60, 90)) for _ in range(20000)))
    start, moved = folder / "start.safetensors", folder / "moved.safetensors"
    for name, config in (("gpt2", GPT2), ("llama", LLAMA)):
        (folder / f"{name}.json").write_text(json.dumps(config))
        curves = {precision: losses(folder, *compile_model(folder, name, ONE, precision), STEPS)
                  for precision in ("bf16", "fp8")}
        bf16, one = curves["bf16"], curves["fp8"]
        print(f"{name}: loss {one[0]:.4f} to {one[-1]:.4f}, in bf16 {bf16[0]:.4f} to {bf16[-1]:.4f}", flush=True)
        check(one[-1] < 0.5 * one[0] and abs(one[-1] - bf16[-1]) < NEAR_BF16 * bf16[-1] and one[0] != bf16[0],
              f"{name} trains to {one[-1]}, in bf16 to {bf16[-1]}")
        train(*compile_model(folder, name, ONE, "f32"), as_bytes(folder / "text.bin"), 0, "--dump-params", start)
        draws = []
        for draw in range(DRAWS):
            write_moved(start, moved, "bf16", draw)
            draws.append(losses(folder, *compile_model(folder, name, ONE), STEPS, "--init", moved))
        for plan in PLANS[name]:
            compared = Compared("bf16", EXACT)
            dte, ranks = compile_model(folder, name, plan)
            dtc("verify", dte)
            compared.numbers(losses(folder, dte, ranks, STEPS), one, draws, f"{name} {plan}: loss of step")
            print(f"{name} in fp8, {plan}: at most {compared.worst:.2f} of the bound", flush=True)


def check_checkpoints(folder):
    half = STEPS // 2
    for precision in ("fp8", "bf16"):
        dte = compile_model(folder, "gpt2", ONE, precision)
        losses(folder, *dte, half, "--checkpoint-dir", folder / f"saved-{precision}")
    fp8 = compile_model(folder, "gpt2", ONE)
    whole = losses(folder, *fp8, STEPS)
    found = losses(folder, *fp8, STEPS, "--checkpoint-dir", folder / "saved-fp8", "--resume")
    check(found == whole[half:], f"a run that goes on has losses {found}, wanted {whole[half:]}")
    found = losses(folder, *fp8, STEPS, "--checkpoint-dir", folder / "saved-bf16", "--resume")
    check(len(found) == STEPS - half and abs(found[-1] - whole[-1]) < NEAR_BF16 * whole[-1],
          f"a run of bf16 that goes on in fp8 has losses {found}, wanted {whole[half:]}")


def check_bad_input(folder):
    (folder / "odd.json").write_text(json.dumps({**GPT2, "n_embd": 40}))
    out = folder / "bad.dte"
    for arguments, wanted in (
            ([folder / "odd.json", "--topology", "cpu", "--devices", 1],
             "channels, which is no multiple of 16, as products in 8 bits need; use --precision bf16"),
            ([folder / "gpt2.json", "--topology", "dgx-a100-80g"],
             "--precision fp8: device 'A100-SXM4-80GB' of 'dgx-a100-80g' has no matrix products in 8 bits")):
        result = subprocess.run([BIN / "dtc", "compile", *map(str, arguments), "--seq-len", str(SEQUENCE),
                                 "--global-batch", str(SAMPLES), "--precision", "fp8", "-o", out],
                                capture_output=True, text=True)
        errors = [line for line in result.stderr.splitlines() if "error:" in line]
        check(result.returncode != 0 and len(errors) == 1 and wanted in errors[0] and not out.exists(),
              f"exit code {result.returncode}, {result.stderr}, wanted '{wanted}'")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        check_exact(folder)
        check_infinity(folder)
        check_models(folder)
        check_checkpoints(folder)
        check_bad_input(folder)


if __name__ == "__main__":
    main()

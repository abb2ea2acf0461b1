#!/usr/bin/env python3
"""Prints docs/worked-example.md: one linear layer from graph IR to machine code, with the IR of every stage.

  tools/worked-example.py [--bin build/bin]

The text stands in this file; the IR comes from dtc, dtc-opt and llvm-objdump. tools/gen-docs.sh writes the page and,
with --check, compares it. The plan and the processor are pinned, so that the page is the same on every machine.
"""
import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODEL = "docs/worked-example.mlir"
OBJDUMP = "/usr/lib/llvm-22/bin/llvm-objdump"
PINS = "dp=2,tp=2,pp=1,zero=0,micro_batch=4,sp=0,recompute=none,placement=megatron"
COLUMNS = 118


def run(*command):
    """Returns what a command prints; ends with its error if it fails."""
    ran = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=ROOT)
    if ran.returncode:
        sys.exit(f"error: {' '.join(map(str, command))}: {ran.stderr}")
    return ran.stdout


# Trimming


BREAKS = re.compile(r", (?=[%#a-z\"(])|\) (?=->|attributes|outs)| (?=ins\(|\{graph\.|: tensor|: \(|placement)")


def fold(line):
    """Breaks a long line, outside of brackets; continuations are indented by 6. Signatures get a line per argument."""
    indent = re.match(" *", line).group(0)
    if line.lstrip().startswith("graph.func") and len(line) > COLUMNS:
        parts = re.sub(r"(\}, )(?=%|tensor)|(\) )(?=-> \()", lambda at: at.group(0) + "\n", line).split("\n")
        return [part.rstrip() if at == 0 else indent + " " * 6 + part.rstrip() for at, part in enumerate(parts)]
    folded = []
    while len(line) > COLUMNS:
        breaks = [at.end() for at in BREAKS.finditer(line[:COLUMNS])
                  if at.end() > len(indent) + 6 and line.count("[", 0, at.end()) == line.count("]", 0, at.end())]
        if not breaks:
            break
        folded.append(line[:breaks[-1]].rstrip())
        line = indent + " " * 6 + line[breaks[-1]:]
    return folded + [line]


def elide(text):
    """Replaces attributes that no stage of the page needs by '...'."""
    text = re.sub(r"attributes \{kernel, [^}]*\}", "attributes {kernel, ...}", text)
    text = re.sub(r" attributes \{(?:dtc|exec)\.[^}]*\}", "", text)
    text = re.sub(r" key -?\d+$", " key ...", text, flags=re.M)
    text = re.sub(r"\{beta1 = [^}]*\}", "{...}", text)
    text = re.sub(r" +$", "", text, flags=re.M)
    return re.sub(r"(?<=\S)  +", " ", text)


def keep(text, *patterns):
    """Returns the lines that match any of the patterns; '...' stands for lines in between."""
    lines, skipped = [], False
    for line in text.splitlines():
        if any(re.search(pattern, line) for pattern in patterns):
            if skipped and lines:
                lines.append(re.match(" *", line).group(0) + "...")
            lines.append(line)
            skipped = False
        else:
            skipped = True
    return "\n".join(lines)


def braces(text, head):
    """Returns the first operation with a region whose first line contains `head`."""
    lines = text.splitlines()
    first = next(number for number, line in enumerate(lines) if head in line)
    indent = re.match(" *", lines[first]).group(0)
    last = next(number for number in range(first + 1, len(lines)) if lines[number].startswith(indent + "}"))
    return "\n".join(lines[first:last + 1])


def block(text, language="mlir"):
    """Returns a quoted block without common indentation, its long lines folded."""
    lines = elide(text).strip("\n").splitlines()
    margin = min(len(line) - len(line.lstrip()) for line in lines if line)
    folded = [part for line in lines for part in fold(line[margin:])]
    return "```" + language + "\n" + "\n".join(folded) + "\n```\n"


# The page


def machine_code(executable, kernel):
    """Returns the instructions of a kernel, without addresses."""
    image = executable.read_bytes()
    library = executable.with_suffix(".so")
    library.write_bytes(image[image.index(b"\x7fELF"):])
    printed = run(OBJDUMP, "-d", "--no-show-raw-insn", "--no-leading-addr", "--symbolize-operands",
                  f"--disassemble-symbols={kernel}", library)
    lines = printed[printed.index(f"<{kernel}>:"):].splitlines()
    lines = [re.sub(r"\s+# .*", "", line) for line in lines if line.strip() and "nop" not in line]
    lines = [re.sub(r"^\s+(\w+)\s*", lambda m: f"    {m.group(1):<13}", line).rstrip() for line in lines]
    return "\n".join(re.sub(r"(vbroadcastss +),", r"\1<constant>,", line) for line in lines)


def page(binaries, folder):
    """Returns the page as Markdown."""
    executable, temps = folder / "linear.dte", folder / "temps"
    run(binaries / "dtc", "compile", MODEL, "--topology", "cpu", "--devices", 4, "--global-batch", 8, "--fix", PINS,
        "--target", "cpu:x86-64-v3", "--save-temps", temps, "-o", executable)
    graph, shard, schedule = (
        (temps / name).read_text() for name in ("01-graph.mlir", "02-shard.mlir", "03-schedule.mlir"))
    buffers, llvm = (run(binaries / "dtc-opt", temps / "03-schedule.mlir", f"--dtc-lower-kernels=to={stage}")
                     for stage in ("buffers", "llvm"))
    program = braces(schedule, "exec.program @step")
    model = (ROOT / MODEL).read_text().split("\n", 1)[1]
    mesh = keep(graph, "shard.grid", "graph.parameter")
    update = keep(braces(shard, "graph.func @update"), "graph.func", "all_reduce ", "sum_squares",
                  "= graph.get @weight :", "graph.adamw.*8x8", "graph.set @weight,", "graph.return", r"^  \}$")
    memory = keep(program, "exec.program", "%gradients.0 =", "%weight = ", "%bias = ", "%x = ", "%target = ",
                  "%linear.0 = ", "%kernel_0.1 = ", "%grad_weight = ", "%grad_bias = ", "exec.parameter")
    tasks = [braces(program, f"exec.task @{task}") for task in ("forward", "backward", "loss", "update")]
    order = "\n".join([*tasks, keep(program, "exec.entry +train")])
    return f"""<!-- Written by tools/worked-example.py, which tools/gen-docs.sh runs; edit that. -->
# A worked example

This page follows one linear layer through the compiler, from graph IR to machine code, on 2 x 2 ranks: data
parallelism (dp) of 2 and tensor parallelism (tp) of 2. [architecture.md](architecture.md) explains the stages. The IR
is what dtc prints, shortened in four ways: only the functions and lines that the text is about are shown, `...`
stands for lines and attributes that are left out, long lines are broken, and runs of blanks are one blank.

## 1. The model

A model is a function from a batch to a loss, written for one logical device. `?` is the batch. This one is
[worked-example.mlir](worked-example.mlir): 8 inputs, 16 outputs, and the mean squared error.

{block(model)}
## 2. The plan

The planner chooses how the step is spread over devices. Here all its choices are pinned, and so is the processor that
the code is for:

```sh
dtc compile docs/worked-example.mlir --topology cpu --devices 4 --global-batch 8 --target cpu:x86-64-v3 \\
  --fix {PINS} \\
  --save-temps temps -o linear.dte
```

`--save-temps` writes the IR of stages 3, 4 and 5. `--print-after PASS` prints the IR after any single pass.
`--quick-code` halves the time that compiling takes, for a plan that is only tried.

## 3. The step on one logical device (passes/graph)

The graph phase gives the batch its size, differentiates the loss and adds the optimizer. `@microbatch` returns the
loss and the gradients, `@update` applies AdamW. All shapes are still global. The mesh and the placements come from
the plan: the weight is replicated over dp and its columns are split over tp. The factor 7.8125e-03 is 1 / (8 x 16),
which the mean divides by.

{block(mesh)}
{block(braces(graph, "graph.func @microbatch"))}
## 4. The step of one rank (passes/shard)

The partitioner rewrites every op to the shapes that a rank has: 4 of the 8 samples, and 8 of the 16 columns. No op of
the layer needs a collective in the forward pass, since a matrix product whose weight is split by columns gives whole
results, split in the same way. `graph.unfinished` marks partial sums, as a set of mesh axes: 1 is dp, 2 is tp, 3
both. `shard.all_slice` takes a rank's columns of the target and communicates nothing.

{block(braces(shard, "graph.func @microbatch"))}
`@update` finishes these sums. The gradients are summed over dp (`grid_axes = [0]`), the loss over both axes, and the
squares for the gradient norm over tp, since the ranks of tp hold different columns.

{block(update)}
## 5. Kernels, tasks and memory (passes/codegen, passes/schedule)

Elementwise ops become kernels: `@kernel_0` adds the bias and computes the squared error and its gradient in one pass.
Matrix products become calls of a library kernel (`exec.gemm`).

{block(braces(schedule, "graph.func private @kernel_0("))}
The schedule phase turns the step into a program: buffers with offsets into one arena, tasks of instructions, and
entries that say in which order the tasks run. The gradients of weight and bias share one bucket (`gradients.0`),
whose all-reduce runs on stream 1, ordered by events 0 and 1.

{block(memory)}
{block(order)}
## 6. Loops (passes/codegen)

A kernel becomes one `linalg.generic` over buffers. `%arg5` and `%arg6` bound the rows that a call computes, so that
the threads of a rank can share a kernel.

{block(keep(buffers, '^#map1? =') + chr(10) + braces(buffers, 'func.func @kernel_0('))}
## 7. LLVM

The loop over columns becomes vectors, here one of 8 elements for a row, in the LLVM dialect of MLIR. LLVM compiles
it.

{block(braces(llvm, "llvm.func internal @kernel_0_body("))}
## 8. Machine code

The executable holds one shared object with the machine code of all kernels. This is `@kernel_0` for `x86-64-v3`, as
`llvm-objdump` prints it without addresses: LLVM has inlined the body, and an iteration computes two rows of 8
columns. `%rdi` points to the array of buffer addresses; `%rdx` and `%rcx` are the bounds.

{block(machine_code(executable, "kernel_0"), "asm")}
## 9. The proof and the run

`dtc verify linear.dte` proves over the programs of all ranks, from the file alone, that their collectives match, that
the step ends and that every value is what it should be ([verify.md](verify.md)). All four ranks run the same program.
`dtrun linear.dte -n 4 --data x=x.npy,target=target.npy` trains it.
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=Path, default=ROOT / "build/bin", help="folder of dtc and dtc-opt")
    args = parser.parse_args()
    binaries = args.bin.resolve()
    for name in ("dtc", "dtc-opt"):
        if not (binaries / name).exists():
            sys.exit(f"error: {binaries / name} is missing; 'cmake --build --preset ci --target dtc dtc-opt' builds it")
    with tempfile.TemporaryDirectory() as folder:
        print(page(binaries, Path(folder)), end="")


if __name__ == "__main__":
    main()

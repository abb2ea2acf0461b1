"""Checks numbers of bench/gpu that are known from other sources."""
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, sys.argv[1] + "/bench/gpu")
import device
from contenders import Failure, OutOfTime, Ours, Process
from instructions import bytes_of, kind_of, sum_trace
from measure import key_of
from report import Row, batch_of
from settings import SETTINGS, token_flops


def instruction(op, details, **buffers):
    return {"op": op, "details": details, "buffers": [{"role": role, "bytes": size} for role, size in buffers.items()]}


# GPT-2 124M at 1024 tokens, vocabulary 50304, has 124 475 904 parameters and 0.86 GFLOP a token, as nanoGPT and llm.c
# count.
full, causal = token_flops(SETTINGS["gpt2-124m"].shape, 124475904)
assert full == 6 * (124475904 - 1024 * 768) + 12 * 12 * 768 * 1024, full
assert full - causal == 6 * 12 * 768 * 1024

# A copy moves its box twice, an embedding the rows that it looks up, and an accumulating gradient of an embedding
# reads and writes them.
assert bytes_of(instruction("copy", "box 8192x768 src_offset 0 dst_offset 0", src=37748736,
                            dst=12582912)) == 2 * 12582912
assert bytes_of(instruction("embedding", "rows 9 columns 4 tokens 8", table=144, ids=32, out=64)) == 96
assert bytes_of(instruction("embedding_grad", "rows 9 columns 4 tokens 8 bf16", grad=144, ids=32, dout=64)) == 96 + 256
assert bytes_of(instruction("launch", "kernel_1 range 6 6 blocks of 128 threads", a=10, b=20)) == 30
assert kind_of("launch", ["add", "gelu"]) == "activations" and kind_of("launch", ["add"]) == "pointwise"
assert kind_of("gemm", []) == "products" and kind_of("launch", ["adamw", "cast"]) == "optimizer"


# Two layers of one instruction add up within a step; the first step is no measure; the median of the others counts.
def event(step, micros):
    return {"ph": "X", "dur": micros, "args": {"task": "forward", "instruction": 0, "step": step}}


tasks = {"forward": [{"name": "copy", "kind": "copies", "blocks": None, "bytes": 100}]}
summed = sum_trace({"traceEvents": [event(1, 900), event(2, 10), event(2, 20), event(3, 30), event(3, 30), event(4, 50),
                                    event(4, 10)]}, tasks)
assert abs(summed["step_s"] - 60e-6) < 1e-12 and summed["kinds"]["copies"]["bytes"] == 200, summed
assert summed["kernels"][0]["runs"] == 2
try:
    sum_trace({"traceEvents": [{"ph": "X", "dur": 1, "args": {"task": "update", "instruction": 0, "step": 2}}]}, tasks)
    sys.exit("a trace of another program was taken")
except ValueError:
    pass

# 8 x 1024 tokens in 25 ms at 1 GFLOP a token are 327 680 tokens/s, a third of 989.4 TFLOP/s.
entry = {"batch": 8, "micro_batches": 1, "samples": 8, "recompute": "none", "sequence": 1024, "flops_full": 1e9,
         "flops_causal": 5e8,
         "contenders": {"dtc": {"turns": [{"steps": 10, "wall_s": 0.25}, {"steps": 5, "wall_s": 0.125},
                                          {"steps": 1, "wall_s": 9}]}}}
row = Row(entry, "dtc", 989.4e12)
assert abs(row.rate - 327680) < 1e-6 and abs(row.mfu_full
                                             - 0.33119) < 1e-5 and abs(row.mfu_causal * 2 - row.mfu_full) < 1e-12


# A step of four micro-batches has four times as many tokens; names list the unusual settings.
row = Row({**entry, "micro_batches": 4, "samples": 32}, "dtc", 989.4e12)
assert abs(row.rate - 4 * 327680) < 1e-6
for more, key, batch in [({}, "m/8", "8 x 1024"), ({"micro_batches": 4}, "m/8/x4", "4 x 8 x 1024"),
                         ({"recompute": "full"}, "m/8/full", "8 x 1024, recompute full")]:
    assert key_of({"model": "m", **entry, **more}) == key and batch_of({**entry, **more}) == batch

# The output of nvidia-smi (here one of Inputs/bin, with the older name of a field) becomes: most memory, highest
# temperature, every reason except 'idle'.
os.environ.pop("DTC_EMULATED_GPU", None)
assert device.about() == {"name": "NVIDIA H200", "driver": "580.159.03", "memory_mib": 143771.0, "power_limit_w": 700.0}
began, watch = time.monotonic(), device.Watch()
time.sleep(0.5)
state = watch.since(began)
watch.stop()
assert state["memory_mib"] == 5000 and state["temperature_c"] == 84 and state["slowed_by"] == "0x40", state
assert state["sm_mhz"] in (1500, 1980)

# A contender that hangs ends by its deadline, and one that dies reports the cause.
began = time.monotonic()
try:
    Process(["sleep", "60"], dict(os.environ)).line(began + 0.3)
    sys.exit("a program without output had a line")
except OutOfTime:
    assert time.monotonic() - began < 5
from contenders import Peer

try:
    Peer("one", ["sh", "-c", "echo no such module >&2; exit 1"], dict(os.environ), time.monotonic() + 5)
    sys.exit("a peer that ended was taken")
except Failure as failure:
    assert str(failure) == "one ended: no such module", failure

# Steps of a turn that warm up don't count: here each takes 1 s, and the others 0.05 s, or more on a busy machine.
with tempfile.TemporaryDirectory() as folder:
    program = Path(folder) / "dtrun"
    program.write_text('#!/bin/sh\nfor time in 1 1 1 0.05 0.05; do sleep $time; echo "{\\"step\\": 1, '
                       '\\"loss\\": 2, \\"step_time_s\\": $time}"; done\n')
    program.chmod(0o755)
    turn = Ours("program.dte", "tokens.bin", {**os.environ, "DTC_BIN": folder}).take_turn(2, time.monotonic() + 30)
    assert turn.step_s == [0.05, 0.05] and 0.08 < turn.wall_s < 1, turn
    program.write_text("#!/bin/sh\necho no GPU memory >&2; exit 1\n")
    try:
        Ours("program.dte", "tokens.bin", {**os.environ, "DTC_BIN": folder}).take_turn(2, time.monotonic() + 30)
        sys.exit("a dtrun that ended was taken")
    except Failure as failure:
        assert str(failure) == "dtrun ended with 1: no GPU memory", failure
print("figures are right")

"""Helpers of the run tests: call dtc and dtrun, read safetensors, compare. Standard library only."""
import array
import json
import math
import operator
import os
import struct
import subprocess
import sys
from pathlib import Path

BIN = Path(os.environ.get("DTC_BIN", Path(__file__).resolve().parents[2] / "build" / "bin"))


def run(command, timeout=300):
    """Runs a command; on failure prints its output and ends the test."""
    command = [str(part) for part in command]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
    if result.returncode != 0:
        sys.exit(f"FAILED ({result.returncode}): {' '.join(command)}\n{result.stdout[-2000:]}\n{result.stderr[-4000:]}")
    return result.stdout


OPTIMIZED_EACH = 3
compiled = 0  # programs so far


# Values of choices for which the planner would schedule a program each, which takes most of the time of `dtc compile`.
CHOSEN = {"zero": "0", "recompute": "none", "sp": "0"}


def is_quick(arguments):
    """Decides whether `dtc compile` leaves the code and the plan of a program as they come, which takes a third of the
    time.

    A test whose property is that of a plan asks for it by DTC_TEST_CODE=quick: run/CMakeLists.txt says which. The first
    of its programs is optimised, and every third one, so that programs of both kinds are compared with each other.
    """
    global compiled
    if os.environ.get("DTC_TEST_CODE") != "quick" or str(arguments[0]) != "compile":
        return False
    compiled += 1
    return compiled % OPTIMIZED_EACH != 1


def pins_for(arguments):
    """Returns the flags that pin what the pins of `dtc compile` leave open, of CHOSEN."""
    pins = [str(value) for flag, value in zip(arguments, arguments[1:]) if flag == "--fix"]
    if not pins:
        return []
    named = {pin.split("=")[0] for text in pins for pin in text.split(",")}
    chosen = [f"{key}={value}" for key, value in CHOSEN.items() if key not in named]
    return ["--fix", ",".join(chosen)] if chosen else []


def dtc(*arguments):
    return run([BIN / "dtc", *arguments, *(["--quick-code", *pins_for(arguments)] if is_quick(arguments) else [])])


def as_bytes(path):
    """Returns the argument of --data that takes the bytes of a file as tokens, for any vocabulary."""
    return f"bytes:{path}"


def rows_of(text):
    """Returns one dictionary for each step and evaluation that `dtrun --format json` printed; its lines on the data
    are left out.
    """
    rows = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return [row for row in rows if "step" in row]


def train(dte, ranks, data, steps, *arguments):
    """Runs dtrun and returns one dictionary per step."""
    out = run([BIN / "dtrun", dte, "-n", ranks, "--data", data, "--steps", steps, "--format", "json", *arguments])
    return rows_of(out)


def dump_gradients(folder, steps):
    """Returns the flags of dtrun that write the gradients of these steps, for read_gradients."""
    return "--dump-grads", folder / "gradients.safetensors", "--dump-grads-at", ",".join(map(str, steps))


def read_gradients(folder, steps):
    """Returns step -> gradients, in the form of read_safetensors, of a run with dump_gradients."""
    return {step: read_safetensors(folder / f"gradients.step{step}.safetensors") for step in steps}


def write_npy(path, descr, code, shape, values):
    """Writes a .npy file of version 1.0, by hand: the tests need no NumPy."""
    header = str({"descr": descr, "fortran_order": False, "shape": tuple(shape)})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
                     + array.array(code, values).tobytes())


def floats_of(dtype, data):
    """Returns the numbers of a tensor's bytes, as f32; None for a type other than f32, bf16 and f16."""
    if dtype == "BF16":  # the upper half of f32's bits
        wide = bytearray(2 * len(data))
        wide[2::4], wide[3::4] = data[0::2], data[1::2]
        data = bytes(wide)
    elif dtype == "F16":
        return array.array("f", struct.unpack(f"<{len(data) // 2}e", data))
    elif dtype != "F32":
        return None
    values = array.array("f")
    values.frombytes(data)
    return values


def read_safetensors(path):
    """Returns name -> (shape, array of floats); bf16 and f16 are widened to f32."""
    data = Path(path).read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8: 8 + size])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        values = floats_of(entry["dtype"], data[8 + size + begin: 8 + size + end])
        if values is None:
            sys.exit(f"{path}: '{name}' is {entry['dtype']}, wanted F32, BF16 or F16")
        tensors[name] = (entry["shape"], values)
    return tensors


def write_safetensors(path, tensors):
    """Writes `tensors`, name -> (shape, numbers), as f32."""
    header, data = {}, b""
    for name, (shape, values) in tensors.items():
        values = array.array("f", values).tobytes()
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


def relative_difference(found, wanted, floor=0.0):
    """Returns the largest |found - wanted| over the root mean square of wanted, or over `floor` if that is larger."""
    if not all(map(math.isfinite, found)):
        return math.inf
    # Maps of built-in functions take two thirds of the time of loops.
    scale = max(floor, math.sqrt(sum(map(operator.mul, wanted, wanted)) / max(1, len(wanted))))
    worst = max(map(abs, map(operator.sub, found, wanted)), default=0.0)
    return worst / scale if scale > 0 else worst


def compare_tensors(found, wanted, tolerance, what, floor=0.0):
    """Ends the test if a tensor differs by more than `tolerance`; returns the largest difference."""
    if sorted(found) != sorted(wanted):
        sys.exit(f"FAILED: {what}: tensors {sorted(set(found) ^ set(wanted))} are in one file only")
    worst = 0.0
    for name in sorted(wanted):
        if found[name][0] != wanted[name][0]:
            sys.exit(f"FAILED: {what}: '{name}' has shape {found[name][0]}, wanted {wanted[name][0]}")
        difference = relative_difference(found[name][1], wanted[name][1], floor)
        if difference > tolerance:
            sys.exit(f"FAILED: {what}: '{name}' differs by {difference:.3g} relative, wanted at most {tolerance:g}")
        worst = max(worst, difference)
    return worst


def compare_steps(found, wanted, tolerance, what, of="one device", floor=0.0):
    """Ends the test if a number of one step differs by more than `tolerance`, relative; returns the largest
    difference.

    Both are lists of one number for each step. `what` names the run and the number, `of` the run of `wanted`. Numbers
    below `floor` may differ as much as it.
    """
    if len(found) != len(wanted):
        sys.exit(f"FAILED: {what}: {len(found)} steps, {of} has {len(wanted)}")
    worst = 0.0
    for step, (a, b) in enumerate(zip(found, wanted), 1):
        if not abs(a - b) <= tolerance * max(abs(b), floor):  # true for NaN, too
            sys.exit(f"FAILED: {what} of step {step} is {a}, {of} has {b}")
        worst = max(worst, abs(a - b) / max(abs(b), floor) if b else 0.0)
    return worst

#!/usr/bin/env python3
"""Runs generated kernels on this machine's GPU and compares with a processor's results for the same operands.

Usage: kernels.py FOLDER: the output of dtc-write-twins. Needs Python and the driver alone: libcuda.so.1 launches the
kernels. With DTC_EMULATED_GPU=1 the driver is the emulated one of DTC_FAKE_DRIVER, default
build/test/dtc_fake_driver.so.

Results are poisoned before each launch, and bytes around every buffer must stay unchanged.
"""
import array
import ctypes
import json
import math
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "run"))
from dtc_tools import floats_of

ROOT = Path(__file__).resolve().parents[2]
TOLERANCE = {"f32": 1e-5, "bf16": 1e-2, "f16": 2e-3}
GUARD, GUARD_BYTE, POISON = 256, 0x55, 0xFF  # floating-point numbers of POISON are NaN
CODES = {"i32": "i", "i64": "q"}


class GpuError(Exception):
    """An error of the driver."""


class Gpu:
    """The first GPU, by the functions of its driver."""

    def __init__(self):
        self.open_driver()
        self.call("cuInit", ctypes.c_uint(0))
        device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(device), ctypes.c_int(0))
        name = ctypes.create_string_buffer(100)
        self.call("cuDeviceGetName", name, ctypes.c_int(len(name)), device)
        self.name = name.value.decode()
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def open_driver(self):
        if os.environ.get("DTC_EMULATED_GPU") == "1":
            path = os.environ.get("DTC_FAKE_DRIVER", str(ROOT / "build" / "test" / "dtc_fake_driver.so"))
            library = ctypes.CDLL(path)
            library.dtcFakeDriver.restype, library.dtcFakeDriver.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
            prototype = ctypes.CFUNCTYPE(ctypes.c_int)

            def find(name):
                address = library.dtcFakeDriver(name.encode())
                if not address:
                    raise GpuError(f"the emulated driver has no {name}")
                return prototype(address)
        else:
            library = ctypes.CDLL("libcuda.so.1")

            def find(name):
                return getattr(library, name)
        self.library, self.find, self.functions = library, find, {}

    def call(self, name, *arguments):
        """Calls a function of the driver; arguments are of ctypes, as functions of C take them."""
        function = self.functions.setdefault(name, None) or self.find(name)
        self.functions[name] = function
        function.argtypes = [type(argument) if isinstance(argument, ctypes._SimpleCData) else ctypes.c_void_p
                             for argument in arguments]
        given = [argument if isinstance(argument, ctypes._SimpleCData) or argument is None
                 else ctypes.cast(argument, ctypes.c_void_p)
                 for argument in arguments]
        error = function(*given)
        if error != 0:
            text = ctypes.c_char_p()
            if name != "cuGetErrorString":
                self.call("cuGetErrorString", ctypes.c_int(error), ctypes.byref(text))
            raise GpuError(f"{name}: error {error}, {text.value.decode() if text.value else 'no text'}")

    def allocate(self, size):
        """Allocates a buffer with guards on both sides; returns (address of the memory, of the buffer)."""
        memory = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(size + 2 * GUARD))
        self.call("cuMemsetD8_v2", memory, ctypes.c_ubyte(GUARD_BYTE), ctypes.c_size_t(size + 2 * GUARD))
        return memory.value, memory.value + GUARD

    def free(self, memory):
        self.call("cuMemFree_v2", ctypes.c_uint64(memory))

    def write(self, address, data):
        self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(address), ctypes.create_string_buffer(data, len(data)),
                  ctypes.c_size_t(len(data)))

    def read(self, address, size):
        data = ctypes.create_string_buffer(size)
        self.call("cuMemcpyDtoH_v2", data, ctypes.c_uint64(address), ctypes.c_size_t(size))
        return data.raw

    def poison(self, address, size):
        self.call("cuMemsetD8_v2", ctypes.c_uint64(address), ctypes.c_ubyte(POISON), ctypes.c_size_t(size))

    def load(self, code, symbol):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadDataEx", ctypes.byref(module), ctypes.create_string_buffer(code), ctypes.c_uint(0), None,
                  None)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, ctypes.create_string_buffer(symbol.encode()))
        return module, function

    def launch(self, function, blocks, threads, numbers):
        values = [ctypes.c_int64(number) for number in numbers]
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        sizes = [ctypes.c_uint(size) for size in (blocks, 1, 1, threads, 1, 1, 0)]
        self.call("cuLaunchKernel", function, *sizes, None, pointers, None)
        self.call("cuCtxSynchronize")


def numbers_of(kind, data):
    if kind in CODES:
        values = array.array(CODES[kind])
        values.frombytes(data)
        return values
    return floats_of(kind.upper(), data)


def difference(kind, found, wanted):
    """Returns the largest difference over the tolerance of a type; inf for a NaN.

    Differences are relative to the number or to the root mean square of all.
    """
    if kind in CODES:
        return 0.0 if found == wanted else math.inf
    scale = math.sqrt(sum(float(value) * value for value in wanted if math.isfinite(value)) / max(1, len(wanted)))
    worst = 0.0
    for a, b in zip(found, wanted):
        if a == b:
            continue
        if not (math.isfinite(a) and math.isfinite(b)):
            return math.inf
        worst = max(worst, abs(a - b) / max(scale, abs(b), 1e-30))
    return worst


class Cases:
    def __init__(self, folder):
        self.folder = folder
        self.cases = json.loads((folder / "cases.json").read_text())
        self.operands, self.results = (folder / "operands.bin").read_bytes(), (folder / "results.bin").read_bytes()

    def run(self, gpu, number):
        """Returns the largest difference of case `number` in units of its tolerance; raises GpuError if it does not
        run.
        """
        case = self.cases[number]
        module, function = gpu.load((self.folder / f"{number}.code").read_bytes(), case["symbol"])
        memories, buffers = [], []
        for tensor in [*case["operands"], *case["results"]]:
            memory, address = gpu.allocate(tensor["bytes"])
            memories.append((memory, tensor["bytes"]))
            buffers.append(address)
        for tensor, address in zip(case["operands"], buffers):
            gpu.write(address, self.operands[tensor["offset"]: tensor["offset"] + tensor["bytes"]])
        outputs = list(zip(case["results"], buffers[len(case["operands"]):]))
        for tensor, address in outputs:
            gpu.poison(address, tensor["bytes"])
        # One block more than there are units runs, and does nothing.
        gpu.launch(function, case["range"] + 1, case["threads"], [*buffers, *case["scalars"], case["range"]])
        worst = 0.0
        for tensor, address in outputs:
            wanted = numbers_of(tensor["type"], self.results[tensor["offset"]: tensor["offset"] + tensor["bytes"]])
            found = numbers_of(tensor["type"], gpu.read(address, tensor["bytes"]))
            apart = difference(tensor["type"], found, wanted)
            if case["exact"] and apart > 0:  # it only moves numbers
                apart = math.inf
            worst = max(worst, apart / TOLERANCE.get(tensor["type"], 1.0))
        for memory, size in memories:
            whole = gpu.read(memory, size + 2 * GUARD)
            if set(whole[:GUARD] + whole[GUARD + size:]) != {GUARD_BYTE}:
                raise GpuError("bytes beside a buffer were written")
            gpu.free(memory)
        gpu.call("cuModuleUnload", module)
        return worst


def run_all(folder, has_time=lambda: True):
    """Returns {"of", "ran", "matched", "worst": by type in units of its tolerance, "failed": {case: why}}."""
    gpu, cases = Gpu(), Cases(folder)
    about = {"gpu": gpu.name, "of": len(cases.cases), "ran": 0, "matched": 0, "worst": {}, "failed": {}}
    for number, case in enumerate(cases.cases):
        if not has_time():
            break
        about["ran"] += 1
        try:
            worst = cases.run(gpu, number)
        except GpuError as error:
            about["failed"][case["name"]] = str(error)
            break  # a fault ends the context
        kind = case["name"].rpartition(" ")[2]
        about["worst"][kind] = max(about["worst"].get(kind, 0.0), worst)
        if worst <= 1:
            about["matched"] += 1
        else:
            about["failed"][case["name"]] = f"differs by {worst:.3g} of what is allowed"
    return about


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: kernels.py FOLDER")
    about = run_all(Path(sys.argv[1]))
    for name, why in about["failed"].items():
        print(f"{name}: {why}")
    worst = ", ".join(f"{kind} {value:.2g}" for kind, value in about["worst"].items())
    print(f"{about['matched']} of {about['of']} kernels match a processor; largest difference over the tolerance: "
          f"{worst}")
    sys.exit(1 if about["failed"] or not about["matched"] else 0)


if __name__ == "__main__":
    main()

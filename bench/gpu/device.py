"""The GPU that is measured: whether there is one, its kind, and its clocks, power and memory during a run."""
import ctypes
import os
import shutil
import subprocess
import threading
import time

ABOUT = "name,driver_version,memory.total,power.limit"
# The reasons for lower clocks have two names, of newer and of older drivers.
STATES = [f"memory.used,clocks.sm,clocks.mem,power.draw,temperature.gpu,{name}.active"
          for name in ("clocks_event_reasons", "clocks_throttle_reasons")]
EVERY_MS = 200
IDLE = 0x1  # one of the reasons: the GPU has nothing to do


def is_emulated():
    return os.environ.get("DTC_EMULATED_GPU") == "1"


def why_no_gpu():
    """Returns the reason why there is no GPU; None if there is one, or an emulated one is asked for."""
    if is_emulated():
        return None
    try:
        cuda, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
    except OSError:
        return "there is no libcuda.so.1, the driver of NVIDIA's GPUs"
    if cuda.cuInit(0) != 0 or cuda.cuDeviceGetCount(ctypes.byref(count)) != 0 or count.value == 0:
        return "the driver finds no GPU"
    return None


def query(fields):
    """Returns values of the first GPU by nvidia-smi; None if it has no answer."""
    if not shutil.which("nvidia-smi"):
        return None
    command = ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits", "--id=0"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    except subprocess.TimeoutExpired:
        return None
    values = [value.strip() for value in done.stdout.splitlines()[0].split(",")] if done.stdout.strip() else []
    return values if done.returncode == 0 and len(values) == len(fields.split(",")) else None


def about():
    if is_emulated():
        return {"name": "emulated GPU"}
    values = query(ABOUT)
    if not values:
        return {"name": "a GPU that nvidia-smi does not describe"}
    return {"name": values[0], "driver": values[1], "memory_mib": number(values[2]), "power_limit_w": number(values[3])}


def number(text):
    try:
        return int(text, 16) if text.startswith("0x") else float(text)
    except ValueError:
        return None


def summarise(samples):
    """Summarises lists in the order of STATES: most memory, median clocks and power, highest temperature, every
    reason for lower clocks.
    """
    def column(index):
        return sorted(value for value in (sample[index] for sample in samples) if value is not None)

    def middle(index):
        return column(index)[len(column(index)) // 2] if column(index) else None

    reasons = 0
    for sample in samples:
        reasons |= int(sample[5] or 0)
    return {"memory_mib": max(column(0), default=None), "sm_mhz": middle(1), "memory_mhz": middle(2),
            "power_w": middle(3), "temperature_c": max(column(4), default=None), "slowed_by": hex(reasons & ~IDLE)}


class Watch:
    """Reads the state of the GPU until `stop`, which returns its summary; None without nvidia-smi."""

    def __init__(self):
        self.process, self.samples = None, []
        fields = None if is_emulated() else next((fields for fields in STATES if query(fields)), None)
        if fields:
            self.process = subprocess.Popen(
                ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits", "--id=0",
                 f"--loop-ms={EVERY_MS}"],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            self.reader = threading.Thread(target=self.read, daemon=True)
            self.reader.start()

    def read(self):
        for line in self.process.stdout:
            values = [number(value.strip()) for value in line.split(",")]
            if len(values) == 6:
                self.samples.append((time.monotonic(), values))

    def since(self, moment):
        found = [values for at, values in self.samples if at >= moment]
        return summarise(found) if found else None

    def memory_now(self):
        return self.samples[-1][1][0] if self.samples else None

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()

"""dtc and its peers: each takes turns of some steps, and ends by a deadline."""
import collections
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WARM_UP = 3  # steps of a turn that do not count: clocks rise, the graph is recorded
HERE = Path(__file__).resolve().parent

# `wall_s` is the time of `steps` steps from the end of one to the end of another; `step_s` are single ones, as the
# contender reports.
Turn = collections.namedtuple("Turn", "steps wall_s step_s loss details")


class Failure(Exception):
    """The cause of a contender's end, in a line."""


class OutOfTime(Exception):
    """The budget ended first."""


def last_line(file):
    file.seek(0)
    lines = [line.strip() for line in file.read().splitlines() if line.strip()]
    return lines[-1] if lines else "no message"


class Process:
    """A program whose lines of output are read until a deadline."""

    def __init__(self, command, environment, wants_input=False):
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [str(word) for word in command], stdin=subprocess.PIPE if wants_input else subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=self.errors, env=environment, start_new_session=True)
        self.rest = b""

    def line(self, deadline):
        """Returns the next line; None at the end of output."""
        while b"\n" not in self.rest:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                self.stop()
                raise OutOfTime
            some = os.read(self.process.stdout.fileno(), 1 << 16)
            if not some:
                return None
            self.rest += some
        line, _, self.rest = self.rest.partition(b"\n")
        return line.decode()

    def write(self, line):
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # the reader reports the reason

    def wait(self, deadline):
        try:
            return self.process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.stop()
            raise OutOfTime from None

    def stop(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


class Ours:
    """dtrun, which starts anew in every turn, so that a peer has the memory of the GPU in between."""
    name = "dtc"

    def __init__(self, program, data, environment):
        self.program, self.data, self.environment = program, data, environment

    def take_turn(self, steps, deadline, *flags):
        dtrun = Path(self.environment["DTC_BIN"]) / "dtrun"
        process = Process([dtrun, self.program, "--data", self.data, "--format", "json", "--steps", WARM_UP + steps,
                           *flags],
                          self.environment)
        lines, moments = [], []
        while (line := process.line(deadline)) is not None:
            if line.startswith('{"step"'):
                lines.append(json.loads(line))
                moments.append(time.monotonic())
        code = process.wait(deadline)
        if code != 0:
            raise Failure(f"dtrun ended with {code}: {last_line(process.errors)}")
        if len(lines) != WARM_UP + steps:
            raise Failure(f"dtrun printed {len(lines)} steps, wanted {WARM_UP + steps}")
        return Turn(steps, moments[-1] - moments[WARM_UP - 1], [line["step_time_s"] for line in lines[WARM_UP:]],
                    lines[-1]["loss"], {"first_loss": lines[0]["loss"]})

    def profile(self, steps, deadline, path):
        return self.take_turn(steps, deadline, "--profile", path)


class Peer:
    """A program that speaks the protocol of peer.py; it stays loaded, and releases the memory that it can between
    turns.
    """

    def __init__(self, name, command, environment, deadline):
        self.name = name
        self.process = Process(command, environment, wants_input=True)
        self.version = self.read(deadline)["version"]

    def read(self, deadline):
        line = self.process.line(deadline)
        if line is None:
            self.process.wait(deadline)
            raise Failure(f"{self.name} ended: {last_line(self.process.errors)}")
        answer = json.loads(line)
        if "failed" in answer:
            raise Failure(f"{self.name}: {answer['failed']}")
        return answer

    def ask(self, deadline, **request):
        self.process.write(json.dumps(request))
        return self.read(deadline)

    def prepare(self, batch, deadline):
        ready = self.ask(deadline, batch=batch, warm_up=WARM_UP)
        self.release(deadline)
        return ready

    def take_turn(self, steps, deadline):
        said = self.ask(deadline, steps=steps, warm_up=WARM_UP)
        self.release(deadline)
        details = {key: said[key] for key in ("allocated_bytes", "reserved_bytes") if key in said}
        return Turn(steps, said["wall_s"], said["step_s"], said["loss"], details)

    def release(self, deadline):
        return self.ask(deadline, release=True)

    def stop(self):
        self.process.stop()


def peer_command(python, flags, model, data, device):
    return [python or sys.executable, HERE / "peer.py", "--model", model, "--data", data, "--device", device, *flags]


def read_ceilings(python, environment, deadline):
    """Returns the copy bandwidth and matmul rate of this GPU, as PyTorch reaches them."""
    process = Process([python or sys.executable, HERE / "peer.py", "--ceilings"], environment)
    line = process.line(deadline)
    if line is None:
        process.wait(deadline)
        raise Failure(f"peer.py --ceilings ended: {last_line(process.errors)}")
    return json.loads(line)

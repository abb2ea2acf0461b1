"""Faults that end or slow a job are told apart: exhausted memory, a stdout that nobody reads, a rank that is slower
than others.

The memory test needs a cgroup of its own, in which the kernel kills; if none can be made, the test prints the reason
and leaves it out.
"""
import os
import re
import signal
import subprocess
import time
from pathlib import Path

from dtc_tools import BIN
from jobs import Job, fail


LITTLE = 80 << 10  # bytes: less than a rank's part of a checkpoint


class Endless(Job):
    """Returns a run that only a fault ends."""

    def __init__(self, folder, ranks, logs, *flags):
        super().__init__([BIN / "dtrun", folder / "a.dte", "-n", ranks, "--data", folder / "text.txt", "--steps",
                          1000000000, "--threads", 1, "--log-dir", logs, *flags])
        self.wait_for_steps(3)


def memory_group():
    """Returns a new cgroup that limits memory, and its limit's file; or None and the reason."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, kinds, path = line.split(":", 2)
        for base, limit in ((Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes") if kinds == "memory" else
                            (Path("/sys/fs/cgroup"), "memory.max"),):
            group = Path(f"{base}{path}") / f"dtc-{os.getpid()}"
            if kinds not in ("", "memory"):
                continue
            try:
                group.mkdir()
            except OSError as error:
                reason = f"making {group}: {error.strerror}"
                continue
            if (group / limit).exists():
                return group, group / limit
            group.rmdir()
            reason = f"{group.parent} does not limit memory"
    return None, reason


def run_out_of_memory(folder, saved, ranks_of, ranks, group, limit):
    """Returns whether the cause was named, and the messages."""
    with Endless(folder, ranks, folder / "short", "--checkpoint-dir", saved) as job:
        # A checkpoint takes memory, which this group now limits.
        keeper, process = ranks_of(job, folder / "a.dte", ranks)[1]
        for each in keeper, process:
            (group / "cgroup.procs").write_text(str(each))
        try:
            limit.write_text(str(LITTLE))
        except OSError as error:  # it has taken more meanwhile
            return False, str(error)
        os.kill(process, signal.SIGUSR2)
        if job.end(60) != 3:
            fail(f"memory that ran out gives exit code {job.code}\n{job.text()}")
        wanted = (r"rank 1 on host .* died \(signal 9, Killed\); memory ran out: "
                  r"the kernel's out-of-memory killer chose it")
        return bool(re.search(wanted, job.text())), job.text()


def check_out_of_memory(folder, ranks_of, ranks):
    for attempt in range(12):
        group, limit = memory_group()
        if not group:
            print(f"memory that runs out is not tested: {limit}")
            return
        try:
            told, said = run_out_of_memory(folder, folder / f"never-{attempt}", ranks_of, ranks, group, limit)
        finally:
            for _ in range(50):
                try:
                    group.rmdir()
                    break
                except OSError:
                    time.sleep(0.1)
        if told:
            return
        # If little memory is left, the kernel may kill the keeper, too, before it has told anybody.
    fail(f"memory that ran out is not told: {said}")


def check_lost_output(folder, ranks):
    """Checks that a closed reader of stdout ends the job, which saves before."""
    saved = folder / "saved"
    job = subprocess.Popen([str(word) for word in (
        BIN / "dtrun", folder / "a.dte", "-n", ranks, "--data", folder / "text.txt", "--steps", 1000000000, "--threads",
        1, "--checkpoint-dir", saved, "--checkpoint-every", 1000000000, "--restarts", 2)], stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True)
    for _ in range(3):
        job.stdout.readline()
    job.stdout.close()
    errors = job.stderr.read()
    job.wait(timeout=60)
    steps = sorted(path.name for path in saved.iterdir() if path.name.startswith("step-"))
    if len(steps) != 1 or "restart" in errors or job.returncode != -signal.SIGPIPE:
        fail(f"a lost stdout leaves {steps}, exit code {job.returncode}\n{errors}")
    if subprocess.run([str(BIN / "dtc"), "checkpoint", "verify", str(saved)], stdin=subprocess.DEVNULL,
                      capture_output=True).returncode:
        fail("the checkpoint of a lost stdout is not good")


def check_straggler(folder, ranks_of, ranks):
    """Checks that a rank that is stopped repeatedly is named while training goes on."""
    with Endless(folder, ranks, folder / "slow") as job:
        _, process = ranks_of(job, folder / "a.dte", ranks)[1]
        wanted = r"dtrun: rank 1 on host .* holds the others up: .* that costs (\d+) % of a step"
        end, stops = time.monotonic() + 60, []
        while not re.search(wanted, job.text()):
            if time.monotonic() > end or job.code is not None:
                fail(f"a slow rank is not named\n{job.text()}")
            os.kill(process, signal.SIGSTOP)
            begin = time.monotonic()
            time.sleep(0.4)
            os.kill(process, signal.SIGCONT)
            stops.append((begin, time.monotonic()))
            time.sleep(0.05)
        share = int(re.search(wanted, job.text())[1])
        # The report covers the last 3 s that were looked at. The rank is stopped for 90 % of them unless this test
        # had to wait for a processor.
        told = time.monotonic()
        least = min(stopped_share(stops, told - ago - 3, told - ago) for ago in (0, 0.5, 1, 1.5, 2))
        if not 70 * least <= share <= 100:
            fail(f"a slow rank that is stopped for {least:.0%} of the time costs {share} %\n{job.text()}")


def stopped_share(stops, begin, end):
    return sum(max(0, min(end, last) - max(begin, first)) for first, last in stops) / (end - begin)

"""Faults at random moments of runs of 4 to 8 ranks that start again by themselves (dtrun --restarts).

Ranks are on 2 to 4 hosts, two on each, which are network namespaces (namespaces.py); if none can be made, on one
host.

After any fault the run ends with code 0. Every loss, norm and learning rate that it printed, also of steps that ran
twice, every rank's log and the parameters at its end are those of an undisturbed run, to the bit.
"""
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

from dtc_tools import BIN, dtc
from jobs import Job, fail
from namespaces import Hosts, reason_to_skip

STEPS, EVERY, RESTARTS, RANKS_EACH = 60, 6, 3, 2
HANG = 2.0  # DTC_HANG_TIMEOUT
PLANS = {4: ["dp=2,tp=2", "pp=2,dp=2", "dp=4,zero=3"], 6: ["dp=3,pp=2"], 8: ["dp=4,tp=2", "pp=2,dp=2,tp=2"]}
KILLS = {"kill -9": signal.SIGKILL, "SIGSEGV": signal.SIGSEGV, "SIGSTOP": signal.SIGSTOP,
         "kill -9 of a keeper": signal.SIGKILL, "kill -9 of mpirun": signal.SIGKILL,
         "byte flipped, kill -9": signal.SIGKILL, "file cut, kill -9": signal.SIGKILL}
DISKS = {"crash in a checkpoint": "kill", "disk full": "full", "read-only": "readonly"}
REASONS = {"disk full": "No space left on device", "read-only": "Read-only file system"}
FAULTS = list(KILLS) + list(DISKS)
# The report of a fault comes within this number of seconds.
BOUNDS = {fault: HANG + 4 if fault == "SIGSTOP" else 5.0 for fault in FAULTS}
LIBRARY = Path(os.environ.get("DTC_DISK_FAULTS", BIN.parent / "lib" / "libdtc_disk_faults.so"))


class Program:
    """A program of a plan, and its training when nothing happens."""

    def __init__(self, folder, ranks, fix, hosts):
        self.folder, self.ranks = folder / f"{ranks}-{fix.replace(',', '-').replace('=', '')}", ranks
        self.hosts, self.name = hosts, f"{ranks} ranks, {fix}"
        self.folder.mkdir()
        source = Path(__file__).resolve().parents[1] / "fuzz" / "gpt2-tiny.json"
        plan = ["--topology", "cpu", "--devices", ranks, "--global-batch", 24 if ranks == 6 else 8]
        dtc("compile", source, *plan, "--fix", fix, "-o", self.folder / "a.dte")
        chance = random.Random(5)
        (self.folder / "text.txt").write_bytes(bytes(chance.randrange(256) for _ in range(40000)))
        job = subprocess.run(self.command(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300,
                             env=self.environment())
        if job.returncode:
            fail(f"{self.name}: {job.stderr}")
        self.lines = [values_of(line) for line in job.stdout.splitlines() if line.startswith('{"step"')]
        self.parameters = (self.folder / "parameters.safetensors").read_bytes()
        if [line[0] for line in self.lines] != list(range(1, STEPS + 1)):
            fail(f"{self.name}: steps {[line[0] for line in self.lines]}")

    def command(self, *flags):
        words = [str(word) for word in (BIN / "dtrun", self.folder / "a.dte", "-n", self.ranks, "--data",
                                        self.folder / "text.txt", "--steps", STEPS, "--threads", 1, "--format", "json",
                                        "--log-dir", self.folder / "logs", "--dump-params",
                                        self.folder / "parameters.safetensors", *flags)]
        return self.hosts.command(0, words) if self.hosts else words

    def environment(self):
        return dict(os.environ, **(self.hosts.environment(RANKS_EACH, self.ranks // RANKS_EACH) if self.hosts else {}))


def values_of(line):
    """Returns the values of a step's line that training decides."""
    step = json.loads(line)
    return tuple(step[key] for key in ("step", "loss", "grad_norm", "lr"))


class Run(Job):
    """A job that starts again by itself, with what it has printed so far."""

    def __init__(self, program, fault, chance):
        self.program, self.saved = program, program.folder / "checkpoints"
        for path in (self.saved, program.folder / "logs"):
            shutil.rmtree(path, ignore_errors=True)
        (program.folder / "parameters.safetensors").unlink(missing_ok=True)
        (program.folder / "struck").unlink(missing_ok=True)
        environment = dict(program.environment(), DTC_HANG_TIMEOUT=str(HANG))
        self.rank = chance.randrange(program.ranks)
        if fault in DISKS:
            # Rank 0 makes the folders, the marker and the names, the others a file each.
            self.rank = 0 if chance.random() < 0.5 else self.rank
            environment |= {"LD_PRELOAD": str(LIBRARY), "FAULT_DIR": str(self.saved), "FAULT_KIND": DISKS[fault],
                            "FAULT_RANK": str(self.rank),
                            "FAULT_AT": str(chance.randrange(1, 100 if self.rank == 0 else 30)),
                            "FAULT_COUNT": str(chance.randrange(1, 20)), "FAULT_ONCE": str(program.folder / "struck")}
            if fault == "crash in a checkpoint":
                environment["FAULT_COUNT"] = "1"
        super().__init__(program.command("--checkpoint-dir", self.saved, "--checkpoint-every", EVERY, "--restarts",
                                         RESTARTS),
                         f"{program.name}, {fault}", env=environment)

    def has_reached(self, step):
        """Waits until that step has been printed; returns False if the job ended first."""
        while len(self.steps) < step and self.code is None:
            time.sleep(0.002)
        return self.code is None


def spoil(path, cuts, chance):
    """Changes a byte, or cuts the end, of one file of the newest checkpoint; returns its step."""
    steps = sorted(path.glob("step-*"), key=lambda each: int(each.name[5:]))
    if len(steps) < 2:  # without a good checkpoint a run does not start
        return None
    file = chance.choice(sorted(steps[-1].iterdir()))
    data = bytearray(file.read_bytes())
    at = chance.randrange(len(data))
    if cuts:
        del data[at:]
    else:
        data[at] ^= 1 << chance.randrange(8)
    file.write_bytes(data)
    return int(steps[-1].name[5:])


def mpirun_of(job):
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, fields = stat.read_text().rsplit(")", 1)
        except OSError:  # it has ended meanwhile
            continue
        if name.endswith("(mpirun") and int(fields.split()[1]) == job:
            return int(stat.parent.name)
    raise ProcessLookupError(f"{job} has no mpirun")


def strike(run, fault, chance, ranks_of):
    """Causes the fault; returns its time, and the checkpoint that was damaged, or None if the job ended before."""
    if not run.has_reached(chance.randrange(1, STEPS * 9 // 10)):
        return None
    time.sleep(chance.uniform(0, 0.02))
    try:
        keeper, process = ranks_of(run, run.program.folder / "a.dte", run.program.ranks)[run.rank]
        target = keeper if fault == "kill -9 of a keeper" else process
        if fault == "kill -9 of mpirun":
            target = mpirun_of(run.pid)
        spoilt = spoil(run.saved, "cut" in fault, chance) if "," in fault else None
        now = time.time()
        os.kill(target, KILLS[fault])
    except (SystemExit, OSError, ProcessLookupError):
        return None
    return now, spoilt


def check(run, fault):
    """Checks that the run has trained as if nothing had happened; returns the number of steps that ran again."""
    program, what = run.program, f"{run.program.name}, {fault} of rank {run.rank}"
    # If the last checkpoint finds no space, everything else is written, and the exit code is 1.
    is_last = fault in ("disk full", "read-only") and "the last checkpoint was not written" in run.text()
    if run.code != is_last:
        fail(f"{what}: exit code {run.code}\n{run.text()}")
    lines = [values_of(line) for _, line in run.steps]
    for line in lines:
        if line != program.lines[line[0] - 1]:
            fail(f"{what}: {line}, wanted {program.lines[line[0] - 1]}\n{run.text()}")
    if sorted({line[0] for line in lines}) != list(range(1, STEPS + 1)):
        fail(f"{what}: steps are missing: {[line[0] for line in lines]}\n{run.text()}")
    for rank in range(program.ranks):
        log = (program.folder / "logs" / f"rank-{rank}.jsonl").read_text().splitlines()
        if [values_of(line)[0] for line in log] != list(range(1, STEPS + 1)) or (
                rank == 0 and [values_of(line) for line in log] != program.lines):
            fail(f"{what}: the log of rank {rank} has steps {[values_of(line)[0] for line in log]}\n{run.text()}")
    if (program.folder / "parameters.safetensors").read_bytes() != program.parameters:
        fail(f"{what}: other parameters\n{run.text()}")
    return len(lines) - STEPS


def run_moment(program, fault, chance, ranks_of):
    """Returns the seconds until the report, whether it is right, whether the damaged file was refused, and the steps
    that ran again.

    Each is None if it does not apply. Returns "late" or "start" for a fault after the run's end or before its first
    step.
    """
    run = Run(program, fault, chance)
    mark = program.folder / "struck"
    try:
        struck = strike(run, fault, chance, ranks_of) if fault in KILLS else None
        run.end(120)
    finally:
        run.stop()
    errors = run.text()
    if fault in DISKS and run.code == 1 and not run.steps and REASONS.get(fault, "-") in errors:
        return "start"  # refused before the first step: nothing is lost
    lost = check(run, fault)
    if (fault in KILLS and not struck) or (fault in DISKS and not mark.exists()):
        return "late"
    if fault in REASONS:
        # A fault in work that may be left undone costs nothing, and is not reported.
        return None, REASONS[fault] in errors if errors else None, None, lost
    begin = struck[0] if struck else mark.stat().st_mtime
    told = re.search(r"^dtrun: restart 1 of 3, (.*)$", errors, re.MULTILINE)
    if not told:
        fail(f"{program.name}, {fault} of rank {run.rank}: no restart\n{errors}")
    noticed = max(run.errors[0][0] - begin, 0.0)
    if noticed > BOUNDS[fault]:
        fail(f"{program.name}, {fault}: noticed after {noticed:.1f} s, wanted {BOUNDS[fault]} s\n{errors}")
    right = ("mpirun died" if fault == "kill -9 of mpirun" else f"rank {run.rank} ") in told[1]
    if not right:
        print(f"{program.name}, {fault} of rank {run.rank}:\n{errors}", file=sys.stderr)
    if (struck and struck[1] and (loaded := re.search(r"going on after step (\d+) ", errors)) and int(loaded[1])
        == struck[1]):
        fail(f"{program.name}, {fault}: step {struck[1]} was spoilt, and loaded\n{errors}")
    refused = f"step-{struck[1]} is not good" in errors if struck and struck[1] else None
    return noticed, right, refused, lost


def campaign(folder, moments, seed, ranks_of):
    reason = reason_to_skip()
    print("all ranks are on one host: " + reason if reason else f"{RANKS_EACH} ranks on each host")
    with nullcontext() if reason else Hosts(max(PLANS) // RANKS_EACH, folder, seed) as hosts:
        strike_all(folder, moments, seed, ranks_of, hosts)


def strike_all(folder, moments, seed, ranks_of, hosts):
    chance = random.Random(seed)
    programs, rows, missed = {}, {fault: [] for fault in FAULTS}, {"late": 0, "start": 0}
    for moment in range(moments):
        fault = FAULTS[(moment + seed) % len(FAULTS)]
        ranks = chance.choice(sorted(PLANS))
        fix = chance.choice(PLANS[ranks])
        if (ranks, fix) not in programs:
            programs[ranks, fix] = Program(folder, ranks, fix, hosts)
        for _ in range(9):
            result = run_moment(programs[ranks, fix], fault, chance, ranks_of)
            if not isinstance(result, str):
                rows[fault].append(result)
                print(f"{moment}: {programs[ranks, fix].name}, {fault}: {result}", file=sys.stderr, flush=True)
                break
            missed[result] += 1
    print_table(rows)
    print(f"{sum(map(len, rows.values()))} moments of {moments}; {missed['late']} more faults came after the run's "
          f"end, {missed['start']} before its first "
          "step, which was refused; all curves, logs and parameters are those of undisturbed runs, to the bit")
    if any(result[1] is False for results in rows.values() for result in results):
        fail("somebody else was named, or none")


def print_table(rows):
    """Prints the table; the share of rightly named faults is of those that were reported."""
    print(f"{'fault':22} {'trials':>6} {'noticed after: mean':>20} {'worst':>8} {'named rightly':>14} {'went on':>8} "
          f"{'steps lost: mean':>17} {'worst':>6}"
          "  refused of spoilt")
    for fault, results in rows.items():
        if not results:
            continue
        columns = [[each for each in column if each is not None] for column in zip(*results)]
        noticed, right, refused, lost = columns
        when = f"{sum(noticed) / len(noticed):18.2f} s {max(noticed):6.2f} s" if noticed else f"{'-':>20} {'-':>8}"
        print(f"{fault:22} {len(results):6} {when} {f'{sum(right)} of {len(right)}':>14} {len(results):8} "
              f"{sum(lost) / len(lost):17.1f} "
              f"{max(lost):6}  {f'{sum(refused)} of {len(refused)}' if refused else '-'}")

"""Faults at random moments of a job of four ranks: noticed in time, the right rank named, nothing left behind.

faults.py [--trials N] [--moments N] [--seed S]

A trial starts a job, waits for a random moment of its training, and does one thing to one rank: kill -9, SIGSEGV or
SIGSTOP of its process, or kill -9 of the keeper beside it. The script prints a table: fault, trials, noticed within
(mean, worst), ended, named rightly.
With --moments, faults also strike runs that start again by themselves (fault_moments.py).
The flight records of the last trial of each fault are read: PyTorch's keys, and the rank that is behind in them.
"""
import argparse
import json
import os
import pickle
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dtc_tools import BIN, dtc
from fault_causes import check_lost_output, check_out_of_memory, check_straggler
from fault_moments import campaign
from jobs import Job, fail

RANKS = 4
TIMEOUT = 3.0  # --timeout: a rank that is stopped for longer counts as hanging
# The faulty rank is named within this number of seconds after the fault.
BOUNDS = {"kill -9": 5.0, "SIGSEGV": 5.0, "SIGSTOP": TIMEOUT + 5.0, "kill -9 of a keeper": 5.0}
SAYS = {"kill -9": "died (signal 9, Killed)", "SIGSEGV": "died (signal 11, Segmentation fault)",
        "SIGSTOP": "is stopped by a signal", "kill -9 of a keeper": ""}
ENTRY_KEYS = {"record_id", "pg_id", "process_group", "collective_seq_id", "p2p_seq_id", "op_id", "is_p2p",
              "profiling_name", "input_sizes", "input_dtypes", "output_sizes", "output_dtypes", "time_created_ns",
              "time_discovered_started_ns", "time_discovered_completed_ns", "duration_ms", "timeout_ms", "state",
              "retired", "frames"}


def stat_of(process):
    """Returns the parent and the state of a process; None if there is none."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return None
    return int(fields[1]), fields[0]


def processes_of(dte):
    """Returns the processes whose command names the program, with their parents."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:  # it has ended meanwhile
            continue
        stat = stat_of(entry.name) if str(dte).encode() in words and words[0].endswith(b"dtrun") else None
        if stat and stat[1] != "Z":
            found[int(entry.name)] = stat[0]
    return found


def rank_of(process):
    variables = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    (value,) = [v for v in variables if v.startswith(b"OMPI_COMM_WORLD_RANK=")]
    return int(value.split(b"=")[1])


def start(folder, logs):
    return Job([BIN / "dtrun", folder / "a.dte", "-n", RANKS, "--data", folder / "text.txt", "--steps", 1000000000,
                "--threads", 1, "--timeout", TIMEOUT, "--log-dir", logs]).wait_for_steps(2)


def ranks_of(job, dte, ranks=RANKS):
    """Returns rank -> (keeper, process)."""
    processes = processes_of(dte)
    found = {}
    for process, parent in processes.items():
        if parent in processes and parent != job.pid and processes[parent] != job.pid:
            found[rank_of(process)] = (parent, process)
    if sorted(found) != list(range(ranks)):
        fail(f"found ranks {sorted(found)} among processes {processes}, wanted {ranks}")
    return found


def run_trial(folder, fault, chance):
    """Returns the seconds until the report and until the job's end, and whether the right rank was named."""
    with start(folder, folder / "logs") as job:
        time.sleep(chance.uniform(0, 0.5))
        ranks = ranks_of(job, folder / "a.dte")
        rank = chance.randrange(RANKS)
        keeper, process = ranks[rank]
        target = keeper if fault == "kill -9 of a keeper" else process
        number = {"SIGSEGV": signal.SIGSEGV, "SIGSTOP": signal.SIGSTOP}.get(fault, signal.SIGKILL)
        job.name = f"{fault} of rank {rank}"
        begin = time.time()
        os.kill(target, number)
        code = job.end(60)
        seconds = time.time() - begin
        noticed = job.errors[0][0] - begin if job.errors else seconds
        errors = job.text()
        if code != 3:
            fail(f"{job.name}: exit code {code}, wanted 3\n{errors}")
        left = list(processes_of(folder / "a.dte"))
        for _ in range(30):
            if left:
                time.sleep(0.1)
                left = list(processes_of(folder / "a.dte"))
        if left:
            fail(f"{job.name}: processes {left} are left\n{errors}")
        named = re.search(r"\brank (\d+) ", errors)
        is_right = bool(named) and int(named.group(1)) == rank and SAYS[fault] in errors
        if not is_right:
            print(f"{job.name}:\n{errors}", file=sys.stderr)
        if noticed > BOUNDS[fault]:
            fail(f"{job.name}: noticed after {noticed:.1f} s, wanted at most {BOUNDS[fault]} s\n{errors}")
        return noticed, seconds, is_right


def check_records(logs, fault):
    """Checks that all ranks have left a record in PyTorch's keys, and that groups have one order of collectives."""
    seen = {}
    for rank in range(RANKS):
        path = logs / f"flight-rank-{rank}.json"
        if not path.exists():
            fail(f"{fault}: there is no {path.name}")
        record = json.loads(path.read_text())
        if not {"version", "entries", "pg_config", "pg_status", "nccl_comm_state"} <= set(record):
            fail(f"{path.name} has {sorted(record)}")
        if not 0 < len(record["entries"]) <= 2000 or path.stat().st_size > 4 << 20:
            fail(f"{path.name} has {len(record['entries'])} entries in {path.stat().st_size} bytes")
        for entry in record["entries"]:
            if not ENTRY_KEYS <= set(entry):
                fail(f"{path.name} lacks {sorted(ENTRY_KEYS - set(entry))}")
            # PyTorch's analyser blames a group whose ranks do not include the caller.
            if rank not in json.loads(record["pg_config"][str(entry["pg_id"])]["ranks"]):
                fail(f"{path.name}: rank {rank} is not in {record['pg_config'][str(entry['pg_id'])]}")
            if entry["is_p2p"] or entry["process_group"][1] == "control":
                continue
            ranks = record["pg_config"][str(entry["pg_id"])]["ranks"]
            key = (entry["pg_id"], ranks, entry["collective_seq_id"])
            what = (entry["profiling_name"], entry["dtc"]["name"], entry["input_sizes"])
            if seen.setdefault(key, what) != what:
                fail(f"{path.name}: call {key} is {what}, another rank has {seen[key]}")
    if not seen:
        fail("no collective of a program is in the records")
    check_pickles(logs)


def check_pickles(logs):
    """Checks that the lines of docs/running.md make files that torchfrtrace reads, without their last line, which
    needs PyTorch.
    """
    text = (Path(__file__).parents[2] / "docs/running.md").read_text()
    lines = re.search(r"^mkdir -p logs/torch\n(.*\n)torchfrtrace ", text, re.M).group(0).rsplit("torchfrtrace", 1)[0]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "logs").symlink_to(logs.resolve())
        subprocess.run(["bash", "-euc", lines], cwd=folder, check=True)
        for rank in range(RANKS):
            made = pickle.loads((logs / "torch" / f"rank_{rank}").read_bytes())
            if made != json.loads((logs / f"flight-rank-{rank}.json").read_text()):
                fail(f"the pickle of rank {rank} is not its record")
        names = sorted(path.name for path in (logs / "torch").iterdir())
        if names != [f"rank_{rank}" for rank in range(RANKS)]:
            fail(f"torchfrtrace would read {names}")
        shutil.rmtree(logs / "torch")


def check_request(folder):
    """Checks that SIGUSR1 to the job writes a record of each rank, and that training goes on."""
    logs = folder / "asked"
    with start(folder, logs) as job:
        os.kill(job.pid, signal.SIGUSR1)
        for _ in range(100):
            if all((logs / f"flight-rank-{rank}.json").exists() for rank in range(RANKS)):
                break
            time.sleep(0.1)
        check_records(logs, "SIGUSR1")
        job.wait_for_steps(len(job.steps) + 20)
        os.kill(job.pid, signal.SIGTERM)
        if job.end(30) != 128 + signal.SIGTERM:
            fail(f"SIGTERM gives exit code {job.code}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=2, help="of each fault")
    parser.add_argument("--moments", type=int, default=0, help="of runs with --restarts, over all faults")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = Path(__file__).resolve().parents[1] / "fuzz" / "gpt2-tiny.json"
        plan = ["--topology", "cpu", "--devices", RANKS, "--global-batch", 8]
        dtc("plan", source, *plan, "--fix", "dp=2,tp=2", "-o", folder / "p.json")
        dtc("compile", source, *plan, "--plan", folder / "p.json", "-o", folder / "a.dte")
        (folder / "text.txt").write_bytes(bytes(chance.randrange(256) for _ in range(40000)))
        if arguments.trials:
            check_request(folder)
            check_lost_output(folder, RANKS)
            check_out_of_memory(folder, ranks_of, RANKS)
            check_straggler(folder, ranks_of, RANKS)
        rows, wrong = [], 0
        for fault in BOUNDS if arguments.trials else ():
            results = []
            for _ in range(arguments.trials):
                results.append(run_trial(folder, fault, chance))
                if fault != "kill -9 of a keeper":
                    check_records(folder / "logs", fault)
                for path in (folder / "logs").glob("flight-*"):
                    path.unlink()
            noticed, ended, right = (list(column) for column in zip(*results))
            wrong += len(results) - sum(right)
            rows.append((fault, len(results), sum(noticed) / len(noticed), max(noticed), max(ended), sum(right)))
        if arguments.moments:
            campaign(folder, arguments.moments, arguments.seed, ranks_of)
    if not rows:
        return
    print(f"{'fault':22} {'trials':>6} {'noticed after: mean':>20} {'worst':>8} {'ended: worst':>13} "
          f"{'named rightly':>14}")
    for fault, trials, mean, worst, ended, right in rows:
        print(f"{fault:22} {trials:6} {mean:18.2f} s {worst:6.2f} s {ended:11.2f} s {right:14}")
    if wrong:
        fail(f"{wrong} trials named another rank, or none")


if __name__ == "__main__":
    main()

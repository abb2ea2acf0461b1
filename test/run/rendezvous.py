"""Jobs that no MPI starts: ranks with the environment variables of torchrun and Kubernetes train over Gloo.

rendezvous.py [--torchrun PATH]

The variables are RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT. The numbers are those of the same program under dtrun
-n, to the bit. A rank that never comes is named within the deadline, one that is killed within seconds; strangers at
the port and another job there change nothing. --torchrun starts one more job by the real one.
"""
import argparse
import os
import random
import re
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from dtc_tools import BIN, dtc, run
from jobs import Job, fail

LAUNCHERS = ("OMPI_", "PMI", "SLURM_", "MASTER_", "TORCHELASTIC_", "DTC_", "DTRUN_")


def free_port():
    """Returns a free port below those that the system gives to connections (ip_local_port_range, from 32768 on).

    One of those may be another process's by the time that a rank listens there.
    """
    while True:
        port = random.SystemRandom().randrange(20000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
                return port
            except OSError:
                pass


class Ranks:
    """`ranks` of `size` processes of dtrun, each with the variables of one rank."""

    def __init__(self, folder, size, arguments, ranks=None, **variables):
        base = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHERS)}
        base |= {"WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1",
                 "DTC_JOB_ID": f"{folder} {random.random()}"} | variables
        base.setdefault("MASTER_PORT", str(free_port()))
        self.begin = time.monotonic()
        self.ranks = {rank: Job([BIN / "dtrun", *arguments], f"rank {rank} of {size}", cwd=folder,
                                env=base | {"RANK": str(rank)})
                      for rank in (range(size) if ranks is None else ranks)}

    def end(self, seconds=60):
        """Returns exit codes and the output of each rank, by rank."""
        try:
            codes = {rank: job.end(max(1, self.begin + seconds - time.monotonic())) for rank, job in self.ranks.items()}
        finally:
            for job in self.ranks.values():
                job.stop()
        return (codes, {rank: job.output() for rank, job in self.ranks.items()},
                {rank: job.text() for rank, job in self.ranks.items()})


def finish(job, what):
    """Checks that the job ends well, and that rank 0 alone prints."""
    codes, outputs, errors = job.end()
    if any(codes.values()) or any(errors.values()) or any(outputs[rank] for rank in outputs if rank):
        fail(f"{what}: exit codes {codes}\n{outputs}\n{errors}")
    return outputs[0]


def losses(lines):
    return re.findall(r'"(?:loss|grad_norm)": ?([^,}]*)', lines)


def check_bits(folder, ranks, dte):
    """Checks as many steps by both launchers: equal losses, norms and parameters.

    All of MPI's sums are made in order of rank, as Gloo's are.
    """
    arguments = [dte, "--data", "text.txt", "--steps", 6, "--format", "json", "--threads", 1, "--dump-params"]
    os.environ["DTC_PEER_BYTES"] = "0"
    wanted = losses(run([BIN / "dtrun", folder / dte, "-n", ranks, "--data", folder / "text.txt", *arguments[3:],
                         folder / "mpi"]))
    over_gloo = finish(Ranks(folder, ranks, [*arguments, "gloo"]), f"{ranks} ranks over Gloo")
    if len(wanted) != 12 or losses(over_gloo) != wanted:
        fail(f"{ranks} ranks: {wanted} by dtrun -n, {losses(over_gloo)} over Gloo")
    if (folder / "mpi").read_bytes() != (folder / "gloo").read_bytes():
        fail(f"{ranks} ranks: other parameters than by dtrun -n")
    # This setting chooses Gloo under another launcher.
    os.environ["DTC_COMM"] = "gloo"
    chosen = losses(run([BIN / "dtrun", folder / dte, "-n", ranks, "--data", folder / "text.txt", *arguments[3:],
                         folder / "chosen"]))
    del os.environ["DTC_COMM"], os.environ["DTC_PEER_BYTES"]
    if chosen != wanted or (folder / "chosen").read_bytes() != (folder / "mpi").read_bytes():
        fail(f"{ranks} ranks: DTC_COMM=gloo dtrun -n gives {chosen}, wanted {wanted}")


def check_missing(folder, dte):
    """Checks a job whose rank 2 never comes."""
    arguments = [dte, "--data", "text.txt", "--timeout", 2]
    job = Ranks(folder, 4, arguments, ranks=(0, 1, 3))
    codes, _, errors = job.end(20)
    seconds = time.monotonic() - job.begin
    host = socket.gethostname()
    wanted = (f"rank 0 on host '{host}' waited 2 s at port {{}}: rank 2 of 4 has not come; "
              f"here are ranks 1 and 3 on host '{host}'; ")
    if (set(codes.values()) != {3} or not re.search(re.escape(wanted).replace(r"\{\}", r"\d+"), errors[0])
        or seconds > 12):
        fail(f"rank 2 is missing: exit codes {codes} after {seconds:.1f} s\n{errors}")
    job = Ranks(folder, 2, arguments, ranks=(1,))
    codes, _, errors = job.end(20)
    if (codes != {1: 3} or "waited 2 s for rank 0: no rank 0 of this job is at '127.0.0.1' (MASTER_ADDR), ports " not
        in errors[1]):
        fail(f"rank 0 is missing: exit codes {codes}\n{errors}")


def child_of(process):
    for _ in range(200):
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        if children:
            return int(children[0])
        time.sleep(0.02)
    return fail(f"keeper {process} has no rank")


def check_killed(folder, dte, fault, rank):
    """Checks a rank that dies or hangs while it trains: its keeper and the others name it, and end with code 3."""
    job = Ranks(folder, 4, [dte, "--data", "text.txt", "--steps", 10**9, "--threads", 1, "--timeout", 3, "--log-dir",
                            "logs"])
    job.ranks[0].wait_for_steps(2)
    begin = time.monotonic()
    os.kill(child_of(job.ranks[rank].pid), fault)
    codes, _, errors = job.end()
    seconds = time.monotonic() - begin
    says = "died (signal 9, Killed)" if fault == signal.SIGKILL else "is stopped by a signal"
    text = "".join(errors.values())
    named = re.search(r"\brank (\d+) ", text)
    if set(codes.values()) != {3} or not named or int(named.group(1)) != rank or says not in text:
        fail(f"{fault!r} of rank {rank}: exit codes {codes}\n{text}")
    if seconds > (8 if fault == signal.SIGKILL else 15):
        fail(f"{fault!r} of rank {rank}: {seconds:.1f} s")
    return seconds


def check_strangers(folder, dte):
    """Checks a scanner at the port while ranks come, and two jobs that were given the same port."""
    port = free_port()
    variables = {"MASTER_PORT": str(port)}
    arguments = [dte, "--data", "text.txt", "--steps", 2]
    early = Ranks(folder, 2, arguments, ranks=(0,), **variables, DTC_JOB_ID="first")
    scanners = []
    while len(scanners) < 20:
        try:
            scanners.append(socket.create_connection(("127.0.0.1", port), timeout=1))
            scanners[-1].sendall(b"GET / HTTP/1.0\r\n\r\n" if len(scanners) % 2 else b"")
        except OSError:
            time.sleep(0.05)
    other = Ranks(folder, 2, arguments, **variables, DTC_JOB_ID="second")
    finish(other, "a second job of the port")
    late = Ranks(folder, 2, arguments, ranks=(1,), **variables, DTC_JOB_ID="first")
    early.ranks |= late.ranks
    finish(early, "a job with strangers")
    for scanner in scanners:
        scanner.close()


def check_plugin(folder, dte):
    """Checks the one line that is printed if Gloo is not here, and if a wrong name asks for it."""
    for variables, wanted in (({"DTC_GLOO_LIBRARY": "/nowhere.so"},
                               "loading the Gloo plugin libdtc_gloo.so: /nowhere.so (no such file); build target "
                               "dtc_gloo (which needs libgloo-dev) or set DTC_GLOO_LIBRARY"),
                              ({"DTC_COMM": "tcp"}, "environment variable DTC_COMM is 'tcp'; wanted mpi or gloo"),
                              ({"MASTER_PORT": "http"},
                               "reading the launch environment: MASTER_PORT is 'http'; wanted a port, 1 to 65535")):
        codes, _, errors = Ranks(folder, 2, [dte, "--data", "text.txt"], **variables).end()
        if codes != {0: 1, 1: 1} or errors[0] != f"dtrun: {wanted}\n":
            fail(f"{variables}: exit codes {codes}\n{errors}")


def check_torchrun(folder, dte, torchrun):
    """Checks the real torchrun, with the agent's store at MASTER_PORT and without."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHERS)}
    wanted = losses(finish(Ranks(folder, 4, [dte, "--data", "text.txt", "--steps", 6, "--format", "json"]),
                           "4 ranks over Gloo"))
    for flags in (["--standalone"], ["--master-port", str(free_port())]):
        done = subprocess.run([torchrun, *flags, "--nnodes", "1", "--nproc-per-node", "4", "--no-python",
                               str(BIN / "dtrun"), dte, "--data", "text.txt", "--steps", "6", "--format", "json"],
                              cwd=folder, env=clean, capture_output=True, text=True, timeout=120)
        if done.returncode or losses(done.stdout) != wanted:
            fail(f"torchrun {flags}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torchrun", help="start a job by this one, too")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = Path(__file__).resolve().parents[1] / "fuzz" / "gpt2-tiny.json"
        for ranks, fix in ((2, "pp=2"), (4, "dp=2,tp=2")):
            plan = ["--topology", "cpu", "--devices", ranks, "--global-batch", 8]
            dtc("plan", source, *plan, "--fix", fix, "-o", folder / "p.json")
            dtc("compile", source, *plan, "--plan", folder / "p.json", "-o", folder / f"{ranks}.dte")
        chance = random.Random(1)
        (folder / "text.txt").write_bytes(bytes(chance.randrange(256) for _ in range(40000)))
        for ranks in (2, 4):
            check_bits(folder, ranks, f"{ranks}.dte")
        check_plugin(folder, "2.dte")
        check_missing(folder, "4.dte")
        check_strangers(folder, "2.dte")
        killed = max(check_killed(folder, "4.dte", signal.SIGKILL, rank) for rank in (0, 2))
        stopped = check_killed(folder, "4.dte", signal.SIGSTOP, 1)
        print(f"2 and 4 ranks over Gloo: the bits of dtrun -n; a killed rank ends the job after {killed:.1f} s at "
              f"most, a stopped one after {stopped:.1f} s")
        if arguments.torchrun:
            check_torchrun(folder, "4.dte", arguments.torchrun)
            print("torchrun: the same losses, with its store at MASTER_PORT and without")


if __name__ == "__main__":
    main()

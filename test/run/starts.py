"""Starts of jobs on several hosts, which are network namespaces (namespaces.py): 6 ranks on 3 of them.

1. Over Gloo, ranks find each other by the hosts that mpirun and srun report; the test sets srun's variables itself.
2. Over MPI, all hosts name the rank that has never started, while MPI waits for it.

If namespaces cannot be made, prints the reason and exits.
"""
import os
import random
import re
import tempfile
from contextlib import ExitStack
from pathlib import Path

from dtc_tools import BIN, dtc
from jobs import Job, fail
from namespaces import NETWORK, Hosts, reason_to_skip

HOSTS, RANKS, STEPS = 3, 6, 3
EACH = RANKS // HOSTS


def training(folder):
    return [BIN / "dtrun", folder / "a.dte", "--data", folder / "text.txt", "--steps", STEPS, "--threads", 1,
            "--format", "json"]


def check_mpirun(hosts, folder):
    """Checks dtrun -n over Gloo, whose mpirun is on the first host."""
    environment = dict(os.environ, **hosts.environment(EACH), DTC_COMM="gloo")
    with Job(hosts.command(0, [*training(folder), "-n", RANKS]), "over Gloo by mpirun", env=environment) as job:
        if job.end(60) or job.said() or len(job.steps) != STEPS:
            fail(f"{job.name}: exit code {job.code}\n{job.output()}{job.text()}")
        return job.output()


def check_srun(hosts, folder, wanted):
    """Checks the ranks of a step of a plain srun, two on each node.

    Slurm offers no PMI, so that they take Gloo unasked; they give the same numbers.
    """
    step = {"SLURM_JOB_ID": str(os.getpid()), "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": str(RANKS),
            "SLURM_STEP_TASKS_PER_NODE": f"{EACH}(x{HOSTS})", "SLURM_STEP_NODELIST": f"{NETWORK}.[1-{HOSTS}]",
            "SLURM_DISTRIBUTION": "block"}
    with ExitStack() as stack:
        jobs = []
        for rank in range(RANKS):
            node = rank // EACH
            task = {"SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank % EACH), "SLURM_NODEID": str(node),
                    "SLURMD_NODENAME": f"{NETWORK}.{node + 1}"}
            jobs.append(stack.enter_context(Job(hosts.command(node, training(folder)), f"rank {rank} by srun",
                                                env=os.environ | step | task)))
        for job in jobs:
            if job.end(60) or job.text():
                fail(f"{job.name}: exit code {job.code}\n{job.text()}")
        numbers = [re.findall(r'"(?:loss|grad_norm)": ?([^,}]*)', lines) for lines in (wanted, jobs[0].output())]
    if len(numbers[0]) != 2 * STEPS or numbers[0] != numbers[1]:
        fail(f"by srun: {numbers[1]}, by mpirun {numbers[0]}")


def check_missing(hosts, folder):
    """Checks that if the last rank never starts, its neighbour misses one of their host, and that all hosts name the
    rank.
    """
    last = RANKS - 1
    command = ["mpirun", "-n", last, *training(folder), ":", "-n", 1, "sleep", 60]
    environment = dict(os.environ, **hosts.environment(EACH), DTC_START_TIMEOUT="4")
    with Job(hosts.command(0, command), "a rank that never starts", env=environment) as job:
        code, text = job.end(40), job.text()
    called = (rf"rank {last} of {RANKS} has not come to port \d+ of host 'h0'; here are rank 1 on host 'h0', "
              "ranks 2 and 3 on host 'h1', rank 4 on host 'h2';")
    here = ["ranks 0 and 1 of this host are here", "ranks 2 and 3 of this host are here",
            "1 of the 2 ranks of this host have not started dtrun, or ended"]
    for host, words in enumerate(here):
        if (not re.search(rf"rank {EACH * host} on host 'h{host}' waited 4 s starting MPI: {words}; {called}", text)
            or code != 3):
            fail(f"{job.name}: exit code {code}\n{text}\nwanted of h{host}: {words}; {called}")


def main():
    if reason := reason_to_skip():
        print(f"skipped: {reason}")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = Path(__file__).resolve().parents[1] / "fuzz" / "gpt2-tiny.json"
        dtc("compile", source, "--topology", "cpu", "--devices", RANKS, "--global-batch", 24, "--fix", "dp=3,pp=2",
            "-o", folder / "a.dte")
        chance = random.Random(1)
        (folder / "text.txt").write_bytes(bytes(chance.randrange(256) for _ in range(40000)))
        with Hosts(HOSTS, folder) as hosts:
            check_srun(hosts, folder, check_mpirun(hosts, folder))
            check_missing(hosts, folder)


if __name__ == "__main__":
    main()

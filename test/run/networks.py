"""Faults of networks: 6 ranks on 3 hosts, which are network namespaces behind a switch (namespaces.py).

networks.py [--trials N] [--seed S] [--comm gloo]      one cut of one link and no slow links with --trials 1

1. Slow links (1 MB/s, 100 kB/s), and links that lose 1, 3 and 5 % of their packets: training goes on, to the same
   bits.
2. A link that is cut at a random moment: the cut is noticed within 5 s, the host behind it or rank 0's own link is
   named, and with --restarts the job goes on when the link is there again, to the same bits.

Prints a table. If namespaces cannot be made, prints the reason and exits.
"""
import argparse
import os
import random
import re
import shutil
import tempfile
import time
from pathlib import Path

from dtc_tools import BIN, dtc
from fault_moments import values_of
from jobs import Job, fail
from namespaces import NETWORK, Hosts, reason_to_skip

HOSTS, RANKS, STEPS, EVERY, BOUND = 3, 6, 16, 4, 5.0


class Training(Job):
    """Returns a run on all hosts, which rank 0's mpirun starts."""

    def __init__(self, hosts, folder, what, *flags, **variables):
        command = [BIN / "dtrun", folder / "a.dte", "-n", RANKS, "--data", folder / "text.txt", "--steps", STEPS,
                   "--threads", 1, "--format", "json", "--dump-params", folder / "parameters.safetensors", *flags]
        super().__init__(hosts.command(0, command), what,
                         env=dict(os.environ, **hosts.environment(RANKS // HOSTS), **variables))

    def end_well(self):
        if self.end(180):
            fail(f"{self.name}: exit code {self.code}\n{self.text()}")


def check_same(job, folder, wanted, what):
    """Checks the curve and the parameters against the undisturbed run; returns the number of steps that ran again."""
    lines = [values_of(line) for _, line in job.steps]
    by_step = {line[0]: line for line in wanted[0]}
    for line in lines:
        if line != by_step[line[0]]:
            fail(f"{what}: {line}, wanted {by_step[line[0]]}\n{job.text()}")
    if {line[0] for line in lines} != set(by_step):
        fail(f"{what}: steps {[line[0] for line in lines]}\n{job.text()}")
    if (folder / "parameters.safetensors").read_bytes() != wanted[1]:
        fail(f"{what}: other parameters")
    return len(lines) - STEPS


def seconds_a_step(job):
    return (job.steps[-1][0] - job.steps[0][0]) / (len(job.steps) - 1)


def run_whole(hosts, folder, what, wanted, **variables):
    job = Training(hosts, folder, what, **variables)
    job.end_well()
    if job.said():
        fail(f"{what}: {job.text()}")
    if wanted:
        check_same(job, folder, wanted, what)
    return job


def run_cut(hosts, folder, host, chance, wanted):
    """Returns the seconds until the report, and the steps that ran again."""
    what, saved = f"link of h{host} cut", folder / "checkpoints"
    shutil.rmtree(saved, ignore_errors=True)
    job = Training(hosts, folder, what, "--checkpoint-dir", saved, "--checkpoint-every", EVERY, "--restarts", 3)
    try:
        step = chance.randrange(2, STEPS - 4)
        job.wait_for(lambda: len(job.steps) >= step, 120, f"step {step}")
        time.sleep(chance.uniform(0, 0.1))
        begin = time.time()
        hosts.links[host].cut.value = 1
        job.wait_for(job.said, 60, "its word on it")
        noticed = job.said()[0][0] - begin
        time.sleep(1)
        hosts.links[host].cut.value = 0
        job.end_well()
    finally:
        job.stop()
        hosts.links[host].cut.value = 0
    said = (f"nothing is heard of host 'h{host}', where ranks {2 * host} and {2 * host + 1} are" if host
            else "nothing is heard of any host but 'h0'")
    culprit = re.search(r"^dtrun: rank (\d) on host '(h\d)' .* is lost: its keeper .* gave no sign of life", job.text(),
                        re.MULTILINE)
    if said not in job.text() or not culprit or (host and culprit[2] != f"h{host}"):
        fail(f"{what}: wanted \"{said}\"\n{job.text()}")
    if "dtrun: restart 1 of 3" not in job.text():
        fail(f"{what}: no restart\n{job.text()}")
    if noticed > BOUND:
        fail(f"{what}: noticed after {noticed:.1f} s\n{job.text()}")
    return noticed, check_same(job, folder, wanted, what)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=1, help="of cuts")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--comm", choices=("mpi", "gloo"), default="mpi", help="what ranks talk through")
    arguments = parser.parse_args()
    if reason := reason_to_skip():
        print(f"skipped: {reason}")
        return
    os.environ |= {"DTC_COMM": arguments.comm, "MASTER_ADDR": f"{NETWORK}.1"}
    chance = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = Path(__file__).resolve().parents[1] / "fuzz" / "gpt2-tiny.json"
        dtc("compile", source, "--topology", "cpu", "--devices", RANKS, "--global-batch", 24, "--fix", "dp=3,pp=2",
            "-o", folder / "a.dte")
        (folder / "text.txt").write_bytes(bytes(chance.randrange(256) for _ in range(40000)))
        with Hosts(HOSTS, folder, arguments.seed) as hosts:
            job = run_whole(hosts, folder, "undisturbed", None)
            wanted = [values_of(line) for _, line in job.steps], (folder / "parameters.safetensors").read_bytes()
            print(f"{'fault':24} {'trials':>6} {'a step':>10} {'noticed after: mean':>20} {'worst':>8} "
                  f"{'steps lost':>11}")
            print(f"{'none':24} {1:6} {seconds_a_step(job) * 1000:7.0f} ms")
            for rate in (1e6, 1e5) if arguments.trials > 1 else ():
                hosts.links[1].rate.value = rate
                job = run_whole(hosts, folder, "slow link", wanted)
                print(f"{f'link of {rate / 1000:.0f} kB/s':24} {1:6} {seconds_a_step(job) * 1000:7.0f} ms")
            hosts.links[1].rate.value = 0
            for share in (0.01, 0.03, 0.05)[-1 if arguments.trials == 1 else 0:]:
                hosts.links[2].loss.value = share
                job = run_whole(hosts, folder, f"{share:.0%} lost", wanted)
                print(f"{f'{share:.0%} of packets lost':24} {1:6} {seconds_a_step(job) * 1000:7.0f} ms")
            hosts.links[2].loss.value = 0
            for host in range(HOSTS) if arguments.trials > 1 else (1,):
                noticed, lost = zip(*(run_cut(hosts, folder, host, chance, wanted) for _ in range(arguments.trials)))
                print(f"{f'link of h{host} cut':24} {len(noticed):6} {'':10} {sum(noticed) / len(noticed):18.2f} s "
                      f"{max(noticed):6.2f} s {sum(lost) / len(lost):11.1f}", flush=True)


if __name__ == "__main__":
    main()

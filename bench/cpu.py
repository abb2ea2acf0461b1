#!/usr/bin/env python3
"""Times training steps of GPT-2 124M, ResNet-18 at 32 x 32 or ViT-S at 224 x 224 against JAX and PyTorch in one run
(see bench/cpu.sh). The modules of images are exported by the package in python/, with the Python of the peers.

All contenders of a setting are bound to the same processors and take turns, a few steps each, for some rounds;
medians are over all of a contender's steps. dtrun starts anew in every round, and its first step is not counted;
peers are compiled and warm before the first round and stay loaded.
"""

import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from about import commit, machine

ROOT = Path(__file__).resolve().parent.parent
IMAGES = {
    "jax": ["images_jax.py"],
    "torch-eager": ["images_torch.py"],
    "torch-channels-last": ["images_torch.py", "--channels-last"],
    "torch-compile": ["images_torch.py", "--channels-last", "--compile"],
}
# model -> peer -> its program
PEERS = {
    "gpt2-124m": {
        "jax": ["gpt2_jax.py"],
        "torch-eager": ["gpt2_torch.py", "--adamw", "fused"],
        "torch-foreach": ["gpt2_torch.py", "--adamw", "foreach"],
        "torch-compile": ["gpt2_torch.py", "--compile"],
    },
    "resnet18": IMAGES,
    "vit-s": IMAGES,
}
TITLES = {"gpt2-124m": "GPT-2 124M, batch {batch} x 256 tokens",
          "resnet18": "ResNet-18, batch {batch} x 32 x 32 pixels",
          "vit-s": "ViT-S/16, batch {batch} x 224 x 224 pixels"}
BATCHES = {"gpt2-124m": 4, "resnet18": 32, "vit-s": 4}
SEQUENCE = 256
TICKS = os.sysconf("SC_CLK_TCK")


class Failure(Exception):
    """The cause of a contender's end, in a line."""


def note(text):
    print(text, file=sys.stderr, flush=True)


def cpu_seconds(pid):
    """Returns the user and system time of all threads of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def start(command, threads, **options):
    def tie():
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])

    environment = dict(os.environ, OMP_WAIT_POLICY="passive", OMP_NUM_THREADS=str(threads))
    return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, preexec_fn=tie,
                            env=environment, **options)


def last_line(file):
    file.seek(0)
    lines = [line.strip() for line in file.read().splitlines() if line.strip()]
    return lines[-1] if lines else "no message"


class Ours:
    def __init__(self, program, data, threads):
        self.name, self.program, self.data, self.threads, self.samples = "dtc", program, data, threads, []

    def take_turn(self, steps):
        command = [ROOT / "build/bin/dtrun", self.program, "--data", self.data, "--format",
                   "json", "--steps", str(steps + 1), "--threads", str(self.threads)]
        with tempfile.TemporaryFile("w+") as errors:
            process = start(command, self.threads, stderr=errors)
            used = None
            for line in process.stdout:
                if not line.startswith('{"step"'):
                    continue
                before, used = used, cpu_seconds(process.pid)
                if before is not None:
                    wall = json.loads(line)["step_time_s"]
                    self.samples.append({"wall_s": wall, "cpu_s": used - before})
            if process.wait() != 0:
                raise Failure(f"dtrun ended with {process.returncode}: {last_line(errors)}")

    def stop(self):
        pass


class Peer:
    def __init__(self, model, name, python, threads):
        self.name, self.samples = name, []
        script, *flags = PEERS[model][name]
        self.errors = tempfile.TemporaryFile("w+")
        size = ["--sequence", str(SEQUENCE)] if model == "gpt2-124m" else ["--model", model]
        self.process = start([python, ROOT / "bench/peers" / script, *flags, "--threads",
                              str(threads), "--batch", str(BATCHES[model]), *size],
                             threads, stdin=subprocess.PIPE, stderr=self.errors)
        self.version = self.read()["version"]

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            raise Failure(last_line(self.errors))
        return json.loads(line)

    def take_turn(self, steps):
        for _ in range(steps):
            self.process.stdin.write("step\n")
            self.process.stdin.flush()
            self.samples.append(self.read())

    def stop(self):
        self.process.kill()
        self.process.wait()


def summary(samples):
    walls, cpus = ([s[key] for s in samples] for key in ("wall_s", "cpu_s"))
    return {"wall_s": statistics.median(walls), "cpu_s": statistics.median(cpus),
            "fastest_wall_s": min(walls), "steps": len(samples), "wall_samples_s": walls,
            "cpu_samples_s": cpus}


def run_setting(threads, args, python, program, data, skipped, versions):
    """Returns the medians of each contender on `threads` threads."""
    with contextlib.ExitStack() as stack:
        contenders = [Ours(program, data, threads)]
        for name in (args.peers or PEERS[args.model]) if python else []:
            note(f"{name}, {threads} threads: starting")
            try:
                peer = Peer(args.model, name, python, threads)
            except Failure as failure:
                skipped[name] = str(failure)
                note(f"{name}: skipped: {failure}")
                continue
            stack.callback(peer.stop)
            versions[name] = peer.version
            contenders.append(peer)
        for turn in range(args.rounds):
            shift = turn % len(contenders)
            for contender in contenders[shift:] + contenders[:shift]:
                contender.take_turn(args.steps)
                note(f"round {turn + 1} of {args.rounds}, {contender.name}, {threads} threads: "
                     f"{contender.samples[-1]['wall_s']:.2f} s a step")
        return {contender.name: summary(contender.samples) for contender in contenders}


def find_python(model, skipped):
    given = os.environ.get("DTC_BENCH_PYTHON")
    found = given or ROOT / "build/bench-venv/bin/python"
    if Path(found).exists():
        return found
    reason = f"no Python at {found}; run bench/setup-peers.sh or set DTC_BENCH_PYTHON"
    skipped.update({name: reason for name in PEERS[model]})
    return None


def write_model(model, python, folder):
    """Returns the arguments of `dtc compile` for a model, and the data of dtrun."""
    if model == "gpt2-124m":
        return [ROOT / "models/configs/gpt2.json", "--seq-len", str(SEQUENCE)], "synthetic"
    if python is None:
        sys.exit(f"cpu.py: {model} is a module of PyTorch: run bench/setup-peers.sh or set DTC_BENCH_PYTHON")
    run_or_end([python, ROOT / "bench/peers/images_torch.py", "--model", model, "--batch", str(BATCHES[model]),
                "--export", folder], "exporting")
    return [f"{folder}/model.mlir"], f"images={folder}/images.npy,targets={folder}/targets.npy"


def run_or_end(command, what):
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"cpu.py: {what}: {done.stderr.strip()}")


def compile_program(model, python, folder):
    """Returns the program of a model and the data of dtrun."""
    program = Path(folder) / "model.dte"
    arguments, data = write_model(model, python, folder)
    run_or_end([ROOT / "build/bin/dtc", "compile", *arguments, "--topology", "cpu", "--devices", "1", "--global-batch",
                str(BATCHES[model]), "--fix", "micro_batch=" + str(BATCHES[model]), "-o", program], "compiling")
    return program, data


def label(model, threads):
    return f"{model}/{threads}-thread" + ("s" if threads > 1 else "")


def ratios_of(settings, clock):
    ratios = {}
    for name, contenders in settings.items():
        peers = [c[clock] for peer, c in contenders.items() if peer != "dtc"]
        if peers:
            ratios[name] = contenders["dtc"][clock] / min(peers)
    return ratios


def print_tables(result):
    about = result["machine"]
    print(TITLES[result["model"]].format(batch=BATCHES[result["model"]]) + ", f32, AdamW, one process; medians")
    print(f"{about['cpu']}, {about['cores']} cores, load {about['load_average']:.1f} at the start; "
          f"commit {result['commit']}")
    for peer, version in result["versions"].items():
        print(f"{peer}: {version}")
    for peer, reason in result["skipped"].items():
        print(f"{peer}: skipped: {reason}")
    for name, contenders in result["settings"].items():
        print(f"\n| {name} | wall s/step | fastest | cpu s/step | steps |")
        print("|---|---|---|---|---|")
        for contender, c in contenders.items():
            print(f"| {contender} | {c['wall_s']:.2f} | {c['fastest_wall_s']:.2f} | "
                  f"{c['cpu_s']:.2f} | {c['steps']} |")
        if name in result["ratios"]:
            print(f"\nours / best peer: wall {result['ratios'][name]:.3f}, "
                  f"cpu {result['cpu_ratios'][name]:.3f}")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=list(PEERS), default="gpt2-124m")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=2, help="counted steps of a turn")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--peers", nargs="*", help="those of the model by default")
    return parser.parse_args()


def main():
    args = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    skipped, versions, settings = {}, {}, {}
    about, began = machine(), time.time()
    python = find_python(args.model, skipped)
    with tempfile.TemporaryDirectory() as folder:
        program, data = compile_program(args.model, python, folder)
        for threads in args.threads:
            if threads > about["cores"]:
                skipped[label(args.model, threads)] = f"this machine offers {about['cores']} cores"
                continue
            settings[label(args.model, threads)] = run_setting(threads, args, python, program, data, skipped, versions)
    result = {"ratios": ratios_of(settings, "wall_s"), "cpu_ratios": ratios_of(settings, "cpu_s"),
              "model": args.model, "settings": settings, "versions": versions, "skipped": skipped, "machine": about,
              "commit": commit(), "seconds": time.time() - began}
    if args.format == "json":
        print(json.dumps(result))
    else:
        print_tables(result)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"cpu.py: {failure}")

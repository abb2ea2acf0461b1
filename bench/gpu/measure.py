#!/usr/bin/env python3
"""Measures the programs of prepare.py beside PyTorch on this machine's GPU: the half that needs a GPU and no dtc.

Usage: measure.py FOLDER --out RESULTS.json [--only MODEL[/BATCH]]... [--budget-seconds 540]

For each model and micro-batch dtc and its peers take turns on the same GPU, --rounds of them, each round begun by
another contender; a turn is about --turn-seconds of steps after 3 that do not count. Then dtrun --profile shows the
time of its kernels. RESULTS.json is written after every turn. A further call with the same file goes on with the
incomplete entries, and those that do not fit into the budget stay for the next one. The exit status is 0 if all is
measured, 3 if something is left for want of time, 1 if dtc ran no micro-batch of a model, 77 if there is no GPU.
"""
import argparse
import array
import json
import lzma
import os
import random
import shlex
import struct
import sys
import tempfile
import time
from pathlib import Path

import device
from contenders import Failure, Ours, OutOfTime, Peer, peer_command, read_ceilings
from instructions import read_trace, sum_trace
from settings import SETTINGS

sys.path.insert(1, str(Path(__file__).resolve().parents[2] / "tools"))
from pack_dtrun import unpack

LEFT, FAILED, SKIPPED = 3, 1, 77
PEERS = {"torch-compile": ["--mode", "default"], "torch-graphs": ["--mode", "reduce-overhead"],
         "torch-eager": ["--mode", "eager"], "torch-masters": ["--mode", "default", "--masters"]}
TOKENS = 4_000_000
PROFILED_STEPS = 5
# These are estimates for a model that has not been timed yet: start and compilation of a peer, start of dtrun.
PEER_SECONDS, DTRUN_SECONDS = 60, 10


def note(text):
    print(text, file=sys.stderr, flush=True)


def key_of(program):
    """Returns MODEL/BATCH, and unusual settings of the step: gpt2-124m/8, gpt2-124m/8/full, gpt2-124m/8/x4."""
    key = f"{program['model']}/{program['batch']}"
    if program["recompute"] != "none":
        key += f"/{program['recompute']}"
    return key + (f"/x{program['micro_batches']}" if program["micro_batches"] > 1 else "")


class Budget:
    def __init__(self, seconds):
        self.deadline = time.monotonic() + seconds

    def left(self):
        return self.deadline - time.monotonic()

    def want(self, seconds):
        if self.left() < seconds:
            raise OutOfTime


class Results:
    """The file that grows: a run for each call, an entry for each model and micro-batch."""

    def __init__(self, path, about):
        self.path = path
        self.value = {"schema": "dtc.bench-gpu/1", "runs": [], "measured": {}}
        if path.exists():
            self.value = json.loads(path.read_text())
            if self.value.get("schema") != "dtc.bench-gpu/1":
                sys.exit(f"measure.py: {path} is no file of measure.py; name another one by --out")
        self.value["runs"].append(about)
        self.run = len(self.value["runs"]) - 1

    def is_complete(self, key):
        return self.value["measured"].get(key, {}).get("complete", False)

    def begin(self, key, program):
        """Begins an entry anew, and keeps the incomplete one beside it: ratios are of one run only."""
        old = self.value["measured"].pop(key, None)
        if old and any(contender["turns"] for contender in old["contenders"].values()):
            self.value.setdefault("incomplete", []).append({key: old})
        about = {name: value for name, value in program.items() if name not in ("tasks", "file")}
        self.value["measured"][key] = {**about, "run": self.run, "contenders": {}, "complete": False}
        return self.value["measured"][key]

    def save(self):
        part = self.path.with_name(self.path.name + ".part")
        part.write_text(json.dumps(self.value))
        part.replace(self.path)


class Bench:
    def __init__(self, options, about, work):
        self.options, self.about, self.work = options, about, work
        self.budget, self.watch = Budget(options.budget_seconds), device.Watch()
        archive = options.folder / "dtrun.tar.xz"
        there = unpack(archive, work / "dtrun") if archive.exists() else {}
        self.environment = {**os.environ, **there}
        self.environment.setdefault("DTC_BIN", str(Path(__file__).resolve().parents[2] / "build" / "bin"))
        # Peers are this machine's own: the libraries that dtrun was linked with are not for them.
        self.peer_environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(work / "inductor")}
        self.results = Results(options.out, {
            "commit": about["commit"], "target": about["target"], "topology": about["topology"],
            "peak_flops": about["peak_flops"], "date": time.strftime("%Y-%m-%d"), "device": device.about(),
            "versions": {}, "ceilings": None, "failed": {}})
        self.seconds_of_turn = {}

    @property
    def run(self):
        return self.results.value["runs"][-1]

    def data_for(self, program):
        """Writes tokens for all of a vocabulary, or for the share of it that 16 bits reach.

        The peers read ids alone. Beside them is a file with llm.c's header, which tells dtrun that they have 16 bits,
        whatever the vocabulary.
        """
        words = min(program["vocabulary"], 1 << 16)
        path = self.work / f"tokens-{words}.bin"
        if not path.exists():
            generator = random.Random(words)
            ids = array.array("H", generator.choices(range(words), k=TOKENS)).tobytes()
            path.write_bytes(ids)
            path.with_suffix(".llmc").write_bytes(struct.pack("<256i", 20240520, 1, TOKENS, *[0] * 253) + ids)
        return path

    def measure_ceilings(self):
        if self.options.no_ceilings or self.options.peer_program:
            return
        try:
            self.budget.want(30)
            self.run["ceilings"] = read_ceilings(self.options.peer_python, self.peer_environment, self.budget.deadline)
        except (Failure, OutOfTime) as failure:
            self.run["failed"]["ceilings"] = str(failure) or "out of time"
        self.results.save()

    def start_peers(self, program, data):
        """Starts the peers and returns those that run; notes the reasons of the others."""
        peers = []
        wanted = [name for name in self.options.peers if name != "torch-graphs"
                  or program["model"].endswith("-launches")]
        for name in wanted:
            command = peer_command(self.options.peer_python, PEERS[name], program["model"], data,
                                   self.options.peer_device)
            if self.options.peer_program:
                command = [*shlex.split(self.options.peer_program), "--model", program["model"]]
            self.budget.want(PEER_SECONDS if not self.options.peer_program else 1)
            try:
                peers.append(Peer(name, command, self.peer_environment, self.budget.deadline))
                self.run["versions"][name] = peers[-1].version
            except Failure as failure:
                self.run["failed"][f"{program['model']}, {name}"] = str(failure)
                note(f"{program['model']}: {failure}")
        return peers

    def steps_of_turn(self, seconds):
        if self.options.steps:
            return self.options.steps
        return max(4, min(200, round(self.options.turn_seconds / seconds))) if seconds > 0 else 4

    def turn(self, entry, contender, steps):
        """Runs one turn and returns its samples with the state of the GPU; a contender that fails takes no further
        turn.
        """
        record = entry["contenders"].setdefault(contender.name, {"turns": []})
        if "failed" in record:
            return
        began, before = time.monotonic(), self.watch.memory_now()
        self.budget.want(self.seconds_of_turn.get((entry["model"], contender.name), DTRUN_SECONDS))
        try:
            taken = contender.take_turn(steps, self.budget.deadline)
        except Failure as failure:
            record["failed"] = str(failure)
            note(f"  {failure}")
            return
        self.seconds_of_turn[entry["model"], contender.name] = time.monotonic() - began
        record["turns"].append({"steps": taken.steps, "wall_s": taken.wall_s, "step_s": taken.step_s,
                                "loss": taken.loss, **taken.details, "memory_before_mib": before,
                                "gpu": self.watch.since(began)})
        note(f"  {contender.name}: {taken.wall_s / taken.steps * 1e3:.2f} ms a step, loss {taken.loss:.3f}")

    def measure(self, program, peers):
        key = key_of(program)
        entry = self.results.begin(key, program)
        note(f"{key}:")
        file = self.work / program["file"].removesuffix(".xz")
        file.write_bytes(lzma.decompress((self.options.folder / program["file"]).read_bytes()))
        ours = Ours(file, self.data_for(program).with_suffix(".llmc"), self.environment)
        contenders = [ours]
        for peer in peers:
            try:
                ready = peer.prepare(program["batch"], self.budget.deadline)
                entry["contenders"][peer.name] = {"turns": [], "compile_s": ready["seconds"],
                                                  "first_loss": ready["first_loss"]}
                contenders.append(peer)
            except Failure as failure:
                entry["contenders"][peer.name] = {"turns": [], "failed": str(failure)}
                note(f"  {failure}")
        for turn in range(self.options.rounds):
            shift = turn % len(contenders)
            for contender in contenders[shift:] + contenders[:shift]:
                self.turn(entry, contender, self.steps_of_turn(program["simulated_s"]))
                self.results.save()
        if "failed" not in entry["contenders"]["dtc"] and not self.options.no_profile:
            self.profile(entry, ours, program)
        entry["complete"] = True
        self.results.save()
        file.unlink()

    def profile(self, entry, ours, program):
        self.budget.want(self.seconds_of_turn.get((entry["model"], "dtc"), DTRUN_SECONDS))
        trace = self.work / "trace.json"
        try:
            ours.profile(self.options.steps or PROFILED_STEPS, self.budget.deadline, trace)
            entry["profile"] = sum_trace(read_trace(trace), program["tasks"])
        except (Failure, ValueError) as failure:
            entry["profile_failed"] = str(failure)
            note(f"  profile: {failure}")

    def measure_model(self, programs):
        """Measures all micro-batches of a model that are not complete; its peers stay loaded in between."""
        peers = []
        try:
            peers = self.start_peers(programs[0], self.data_for(programs[0]))
            for program in programs:
                self.measure(program, peers)
        finally:
            for peer in peers:
                peer.stop()
            self.results.save()

    def measure_all(self, programs):
        """Measures models in their order; returns the number that the time did not suffice for."""
        models = list(dict.fromkeys(program["model"] for program in programs))
        self.measure_ceilings()
        try:
            for model in models:
                self.measure_model([program for program in programs if program["model"] == model])
        except OutOfTime:
            note("the budget is used up; call again with the same --out for the rest")
        left = [key_of(program) for program in programs if not self.results.is_complete(key_of(program))]
        self.results.value["left"] = left
        self.results.save()
        return left


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", action="append", default=[], metavar="MODEL[/BATCH]",
                        help=f"of {', '.join(SETTINGS)}")
    parser.add_argument("--budget-seconds", type=float, default=540, help="the whole call is over by then (540)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--turn-seconds", type=float, default=2, help="of counted steps (2)")
    parser.add_argument("--steps", type=int, help="counted steps of a turn, in place of --turn-seconds")
    parser.add_argument("--peers", nargs="*", choices=list(PEERS), default=["torch-compile", "torch-graphs"],
                        help="torch-graphs, CUDA graphs by torch.compile, is for models named -launches alone; "
                        "torch-masters has bf16 "
                        "parameters with f32 masters in place of autocast")
    parser.add_argument("--peer-python", default=sys.executable, help="one with PyTorch")
    parser.add_argument("--peer-device", default="cuda")
    parser.add_argument("--peer-program", help="in place of peer.py: what speaks its protocol")
    parser.add_argument("--no-profile", action="store_true", help="leave out where the time of a step goes")
    parser.add_argument("--no-ceilings", action="store_true", help="leave out copy bandwidth and rate of products")
    return parser.parse_args()


def main():
    options = parse()
    try:
        about = json.loads((options.folder / "about.json").read_text())
    except OSError:
        sys.exit(f"measure.py: {options.folder} is no folder of prepare.py")
    if why := device.why_no_gpu():
        print(f"skipped: {why}")
        sys.exit(SKIPPED)
    keys = {key_of(program) for program in about["programs"]}
    for only in options.only:
        if only not in keys and only not in {key.partition("/")[0] for key in keys}:
            sys.exit(f"measure.py: --only names '{only}', the folder has {', '.join(sorted(keys))}")
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(options, about, Path(work))
        programs = [program for program in about["programs"]
                    if not options.only or program["model"] in options.only or key_of(program) in options.only]
        todo = [program for program in programs if not bench.results.is_complete(key_of(program))]
        left = bench.measure_all(todo)
        bench.watch.stop()
    measured = bench.results.value["measured"]
    failed = [key for key, entry in measured.items() if any("failed" in each for each in entry["contenders"].values())]
    print(f"{len(todo) - len(left)} of {len(todo)} measured, {options.out}"
          + (f"; left: {', '.join(left)}" if left else "")
          + (f"; failures in: {', '.join(failed)}" if failed else ""))
    # A micro-batch that does not fit is no failure of a model that has others.
    has_ours = {entry["model"] for entry in measured.values() if entry["contenders"].get("dtc", {}).get("turns")}
    sys.exit(LEFT if left else FAILED if any(program["model"] not in has_ours for program in programs) else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""People and other programs see how a run fares, and that nothing trains wrong in silence.

1. The times of a step add up to the step, shares of the run's time to 1; norms of blocks are those of the parameters
   that the run wrote, whatever the plan; TensorBoard's events have them all.
2. Prometheus reads the values of the log at --metrics-port; a port or an address that is unavailable ends the run
   before its first step.
3. On a terminal a view is drawn over itself, of one rank and of two; a pipe gets plain lines; a signal leaves the
   terminal tidy.
4. --check-replicas does not report a sound run, whatever the plan, and names the rank that has one flipped bit in its
   parameters.
5. Goodput is the job's: steps that run again as a rank was killed, and the time until they do, are told apart, and a
   resume goes on.
"""
import argparse
import fcntl
import json
import math
import os
import pty
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import urllib.error
import urllib.request
from pathlib import Path

from dtc_tools import BIN, dtc, read_safetensors, train

MODEL = {"model_type": "gpt2", "vocab_size": 61, "n_positions": 16, "n_embd": 24, "n_layer": 3, "n_head": 2,
         "initializer_range": 0.08}
SPENT = {"training", "start_up", "input_wait", "checkpoint", "evaluation", "lost", "lost_to_failures", "restarting",
         "other"}


def check(holds, message):
    if not holds:
        sys.exit(f"FAILED: {message}")


def close(a, b, tolerance=1e-5):
    return math.isclose(a, b, rel_tol=tolerance, abs_tol=1e-12)


def compiled(folder, fix, precision="f32", words=61):
    path, program = folder / "config.json", folder / f"{fix}-{precision}-{words}.dte"
    path.write_text(json.dumps({**MODEL, "vocab_size": words}))
    ranks = math.prod(int(value) for key, value in (part.split("=") for part in fix.split(","))
                      if key in ("dp", "tp", "pp"))
    if not program.exists():
        dtc("compile", path, "--seq-len", 16, "--topology", "cpu", "--devices", ranks, "--global-batch", 12,
            "--precision", precision, "--fix", fix, "-o", program)
    return program, ranks


def log_of(folder, rank=0):
    return [json.loads(line) for line in (folder / f"rank-{rank}.jsonl").read_text().splitlines()]


# 1. The record of a step.

def block_of(name):
    words = name.split(".")
    numbers = [i for i, word in enumerate(words) if word.isdigit()]
    return ".".join(words[: numbers[0] + 1] if numbers else words[:-1] or words)


def events_of(folder):
    """Returns (step, tag) -> value of TensorBoard's file, read by the rules of protobuf."""
    def varint(data, at):
        value = shift = 0
        while True:
            value |= (data[at] & 0x7F) << shift
            shift, at = shift + 7, at + 1
            if data[at - 1] < 0x80:
                return value, at

    def fields(data):
        at, found = 0, []
        while at < len(data):
            key, at = varint(data, at)
            if key & 7 == 0:
                value, at = varint(data, at)
            elif key & 7 == 2:
                size, at = varint(data, at)
                value, at = data[at: at + size], at + size
            else:
                size = 8 if key & 7 == 1 else 4
                value, at = data[at: at + size], at + size
            found.append((key >> 3, value))
        return found

    (path,) = folder.glob("events.out.tfevents.*")
    data, at, values = path.read_bytes(), 0, {}
    while at < len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        event = dict(fields(data[at + 12: at + 12 + size]))
        at += size + 16
        for number, value in fields(event.get(5, b"")):
            scalar = dict(fields(value))
            values[event[2], scalar[1].decode()] = struct.unpack("<f", scalar[2])[0]
    return values


def check_record(folder):
    norms = None
    for number, (fix, precision) in enumerate([("dp=2,tp=1", "f32"), ("dp=1,tp=2", "f32"), ("dp=2,tp=1,zero=3", "f32"),
                                               ("dp=1,tp=1,pp=2,micro_batch=3", "f32"), ("dp=2,tp=1", "f16")]):
        program, ranks = compiled(folder, fix, precision=precision)
        logs, dump = folder / f"log-{number}", folder / "p.safetensors"
        lines = train(program, ranks, "synthetic", 5, "--log-dir", logs, "--norms-every", 5, "--dump-params", dump)
        tensors = read_safetensors(dump)
        squares = {}
        for name, (_, values) in tensors.items():
            squares[block_of(name)] = squares.get(block_of(name), 0) + math.fsum(value * value for value in values)
        check(["param_norms" in line for line in lines] == [False] * 4 + [True],
              f"{fix}: norms are at other steps than 5")
        measured = lines[-1]["param_norms"]
        check({name: math.sqrt(square) for name, square in squares.items()}.keys() == measured.keys(),
              f"{fix}: blocks {list(measured)}")
        for block, square in squares.items():
            check(close(measured[block], math.sqrt(square)),
                  f"{fix}: {block} is {measured[block]}, wanted {math.sqrt(square)}")
        if precision == "f32":
            norms = norms or measured
            check(all(close(norms[block], measured[block], 1e-3) for block in norms),
                  f"{fix}: norms are not those of another plan")
        for rank in range(ranks):
            check_lines(f"{fix}, rank {rank}", log_of(logs, rank))
        check(all((line["goodput"]["lost"] > 0) == (line["skipped_steps"] > 0) for line in lines),
              f"{fix}: steps are lost and not skipped")
        check([{k: v for k, v in line.items() if k != "class_seconds"} for line in log_of(logs)] == lines,
              f"{fix}: the log is not what is printed")
        check_events(fix, events_of(logs), lines)
    print("a step's parts, norms of blocks and events are right", flush=True)


def check_lines(what, lines):
    for line in lines:
        parts = [line[key] for key in ("compute_s", "exposed_comm_s", "input_wait_s", "other_s")]
        check(all(part >= 0 for part in parts), f"{what}: parts are {parts}")
        check(close(sum(parts), line["step_time_s"], 1e-6),
              f"{what}: parts {parts} are not {line['step_time_s']} together")
        work = sum(line["class_seconds"][key] for key in ("kernel", "gemm", "attention", "embedding", "copy"))
        check(close(work, line["compute_s"]), f"{what}: compute_s is {line['compute_s']}, wanted {work}")
        goodput = line["goodput"]
        check(goodput.keys() == SPENT and close(sum(goodput.values()), 1, 1e-4), f"{what}: goodput is {goodput}")
        check(all(0 <= share <= 1 for share in goodput.values()) and goodput["start_up"] > 0,
              f"{what}: goodput is {goodput}")
        check(1 << 20 < line["resident_bytes"] < 1 << 34, f"{what}: resident_bytes is {line['resident_bytes']}")
        check(line["mfu"] is not None, f"{what}: the plan has a peak")
    check(lines[0]["input_wait_s"] > 0 and lines[0]["goodput"]["input_wait"] > 0,
          f"{what}: the first batch took no time")
    check(lines[-1]["goodput"]["training"] > 0, f"{what}: no training in {lines[-1]['goodput']}")


def check_events(what, events, lines):
    names = {"train/loss": "loss", "split/compute_s": "compute_s", "split/exposed_comm_s": "exposed_comm_s",
             "split/input_wait_s": "input_wait_s", "split/other_s": "other_s",
             "memory/resident_bytes": "resident_bytes", "speed/mfu": "mfu"}
    for line in lines:
        wanted = {tag: line[key] for tag, key in names.items()}
        wanted |= {f"goodput/{cause}": share for cause, share in line["goodput"].items()}
        wanted |= {f"param_norm/{block}": norm for block, norm in line.get("param_norms", {}).items()}
        for tag, value in wanted.items():
            check(close(events.get((line["step"], tag), math.nan), value), f"{what}: {tag} of step {line['step']} is "
                  f"{events.get((line['step'], tag))}, wanted {value}")


# 2. Prometheus.

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # this machine is reached without a proxy

SAMPLE = re.compile(
    r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)+)\})? (\S+)')


def parse(text):
    """Returns the samples of the text format 0.0.4, by its rules: each family once, HELP and TYPE before its samples.
    """
    samples, types = {}, {}
    check(text.endswith("\n"), "metrics have no line feed at their end")
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            check(name not in types and kind in ("gauge", "counter", "summary"), f"'{line}'")
            types[name] = kind
        elif line.startswith("# HELP "):
            check(line.split(" ")[2] not in types and len(line.split(" ")) > 3, f"'{line}'")
        else:
            match = SAMPLE.fullmatch(line)
            check(match, f"'{line}' is no sample")
            name = re.sub("_(sum|count)$", "", match[1]) if match[1] not in types else match[1]
            check(list(types)[-1] == name, f"'{line}' is not of its family")
            check((match[1], match[2]) not in samples, f"'{line}' is there twice")
            check(types[name] != "counter" or name.endswith("_total"), f"counter '{name}' is not named so")
            samples[match[1], match[2]] = float(match[3])
    return samples


def check_prometheus(folder):
    program, ranks = compiled(folder, "dp=2,tp=1")
    logs = folder / "metrics"
    run = subprocess.Popen([BIN / "dtrun", program, "-n", str(ranks), "--data", "synthetic", "--steps", "100000000",
                            "--metrics-port", "0", "--norms-every", "10", "--log-dir", logs], stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        match = re.fullmatch(r"dtrun: metrics are at (http://127\.0\.0\.1:\d+/metrics)\n", run.stderr.readline())
        check(match, "dtrun does not say where its metrics are")
        scrapes, deadline = [], time.time() + 60
        while time.time() < deadline and (len(scrapes) < 20 or ("dtc_slowest_rank", None) not in scrapes[-1]):
            with OPENER.open(match[1], timeout=10) as answer:
                check(answer.headers["Content-Type"].startswith("text/plain"), answer.headers["Content-Type"])
                scrapes.append(parse(answer.read().decode()))
            time.sleep(0.1)
        try:
            OPENER.open(match[1].replace("/metrics", "/"), timeout=10)
            check(False, "there is something at / as well")
        except urllib.error.HTTPError as error:
            check(error.code == 404, f"/ answers {error.code}")
        refuse_port(folder, program, int(match[1].split(":")[2].split("/")[0]))
    finally:
        run.send_signal(signal.SIGTERM)
        run.wait(60)
    by_step = {line["step"]: line for line in log_of(logs)}
    compared = [compare_scrape(sample, by_step[sample["dtc_step", None]], ranks) for sample in scrapes
                if ("dtc_step", None) in sample]
    check(len(compared) >= 10 and any(compared), f"{len(compared)} scrapes have a step, {sum(compared)} all ranks")
    print(f"{len(compared)} scrapes are what the log has", flush=True)


def compare_scrape(sample, line, ranks):
    """Compares a scrape with a line of the log; returns whether it had times of all ranks."""
    wanted = {("dtc_loss", None): line["loss"], ("dtc_grad_norm", None): line["grad_norm"],
              ("dtc_learning_rate", None): line["lr"], ("dtc_step_seconds", None): line["step_time_s"],
              ("dtc_mfu_ratio", None): line["mfu"], ("dtc_tokens_per_second", None): line["tokens_per_s"],
              ("dtc_skipped_steps_total", None): line["skipped_steps"],
              ("dtc_memory_planned_bytes", None): line["peak_memory_bytes"],
              ("dtc_memory_resident_bytes", None): line["resident_bytes"],
              ("dtc_step_part_seconds", 'part="compute"'): line["compute_s"],
              ("dtc_step_part_seconds", 'part="exposed_communication"'): line["exposed_comm_s"],
              ("dtc_step_part_seconds", 'part="input_wait"'): line["input_wait_s"],
              ("dtc_step_part_seconds", 'part="other"'): line["other_s"], ("dtc_run_ranks", None): ranks}
    wanted |= {("dtc_goodput_ratio", f'cause="{cause}"'): share for cause, share in line["goodput"].items()}
    wanted |= {("dtc_param_norm", f'block="{block}"'): norm for block, norm in line.get("param_norms", {}).items()}
    wanted |= {("dtc_rank_work_seconds", f'rank="{rank}"'): seconds
               for rank, seconds in enumerate(line["rank_work_s"] or [])}
    if line["slowest_rank"] is not None:
        wanted["dtc_slowest_rank", None] = line["slowest_rank"]
    for key, value in wanted.items():
        check(close(sample.get(key, math.nan), value),
              f"{key} of step {line['step']} is {sample.get(key)}, the log has {value}")
    check(abs(sample["dtc_last_step_timestamp_seconds", None] - time.time()) < 300,
          "the time of the last step is not now")
    return len(line["rank_work_s"] or []) == ranks


def refuse_port(folder, program, taken):
    for flags, words in [(["--metrics-port", taken], f"serving metrics at 127.0.0.1:{taken}: Address already in use"),
                         (["--metrics-port", 0, "--metrics-host", "192.0.2.7"],
                          "serving metrics at 192.0.2.7:0: Cannot assign requested address"),
                         (["--metrics-port", 0, "--metrics-host", "localhost"],
                          "it is no numeric IPv4 or IPv6 address")]:
        result = subprocess.run([str(part) for part in (BIN / "dtrun", program, "-n", 2, "--data", "synthetic",
                                                        "--steps", 1, *flags)],
                                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        check(result.returncode == 1 and words in result.stderr and "step" not in result.stdout
              and result.stderr.count("\n") == 1, f"{flags}: exit {result.returncode}\n{result.stdout}{result.stderr}")
    missing = subprocess.run([BIN / "dtrun", program, "-n", "2", "--data", "synthetic", "--steps", "1",
                              "--metrics-port", "0"],
                             stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                             env={**os.environ, "DTC_METRICS_LIBRARY": str(folder / "none.so")})
    check(missing.returncode == 1 and "loading the metrics plugin libdtc_metrics.so" in missing.stderr
          and missing.stderr.count("\n") == 1, f"without its plugin: exit {missing.returncode}\n{missing.stderr}")


# 3. The terminal.

class Screen:
    """A terminal of so many columns, as far as dtrun uses one; it never scrolls, so that all lines stay. `shown` has
    each drawing.
    """

    def __init__(self, columns):
        self.columns, self.lines, self.row, self.column, self.shown = columns, [""], 0, 0, []

    def feed(self, data):
        for part in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|[^\x1b]|\x1b", data):
            self.take(part)
        self.shown.append(self.text())

    def take(self, part):
        line = self.lines[self.row]
        if part == "\r":
            self.column = 0
        elif part == "\n":
            self.row += 1
            self.lines += [""] * (self.row + 1 - len(self.lines))
        elif part == "\x1b[K":
            self.lines[self.row] = line[: self.column]
        elif part == "\x1b[J":
            self.lines[self.row:] = [line[: self.column]]
        elif match := re.fullmatch(r"\x1b\[(\d+)A", part):
            self.row = max(0, self.row - int(match[1]))
            self.shown.append(self.text())  # a drawing ends so; several may come in one piece
        else:
            check(" " <= part <= "~", f"{part!r} goes to the terminal")
            if self.column == self.columns:
                self.take("\n"), self.take("\r")
                line = self.lines[self.row]
            self.lines[self.row] = line.ljust(self.column)[: self.column] + part + line[self.column + 1:]
            self.column += 1

    def text(self):
        return "\n".join(line.rstrip() for line in self.lines).rstrip("\n")


def on_terminal(command, columns, until=None, then=None, environment=None):
    """Runs a command on a terminal of its own; returns the screen and the exit code.

    When the screen shows `until`, `then` is called with the process.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
    before = termios.tcgetattr(theirs)
    process = subprocess.Popen([str(part) for part in command], stdin=theirs, stdout=theirs, stderr=theirs,
                               start_new_session=True, env={**os.environ, "TERM": "xterm", **(environment or {})})
    screen, deadline = Screen(columns), time.time() + 90
    os.set_blocking(ours, False)
    while time.time() < deadline:
        ended = process.poll() is not None
        try:
            data = os.read(ours, 1 << 16).decode()
        except BlockingIOError:
            if ended:
                break
            time.sleep(0.02)
            continue
        screen.feed(data)
        if until and until(screen.shown[-1]):
            until = None
            then(process)
    check(process.poll() is not None, f"{command} is still there after 90 s:\n{screen.text()}")
    check(termios.tcgetattr(theirs) == before, "the terminal is set otherwise than before")
    os.close(ours), os.close(theirs)
    return screen.shown, process.returncode


VIEW = re.compile(r"step \d+ of 400  \[#*\.*\]\s+\d+ %  \d+:\d\d left\nloss \d+\.\d+  grad norm \S+  lr \S+  \S+ "
                  r"tokens/s  MFU \S+ %\n"
                  r"step \S+ ms  compute \S+ %  comm \S+ %  input \S+ %  memory .*\n.*goodput \S+ %")


def check_terminal(folder):
    one, two = compiled(folder, "dp=1,tp=1"), compiled(folder, "dp=2,tp=1")
    for (program, ranks), columns in ((one, 100), (two, 100), (two, 40)):
        command = [BIN / "dtrun", program, "-n", ranks, "--data", "synthetic", "--steps", 400]
        shown, code = on_terminal(command, columns)
        views = [text for text in shown if re.search(r"step \d+ of 400", text)]
        check(code == 0 and views, f"{ranks} ranks: exit {code}, no view in\n{shown[-1]}")
        check(columns < 80 or VIEW.search(views[-1]), f"{ranks} ranks: the view is\n{views[-1]}")
        check(all(text.count(" of 400") == 1 for text in views), "a view is not drawn over the one before")
        check(re.fullmatch(r"gpt2: \d ranks? \(dp.*tokens a stepdata: random tokens, without an endstep +400  loss "
                           r".*%400 steps in .*loss [0-9.]+", shown[-1].replace("\n", "")),
              f"{ranks} ranks leave\n{shown[-1]}")
    plain = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                           timeout=60)
    check(plain.stdout.count("\n") == 403 and "\x1b" not in plain.stdout and " of 400" not in plain.stdout,
          "a pipe gets a view")
    for flags, environment in ((["--progress", "off"], {}), ([], {"TERM": "dumb"}), (["--format", "json"], {})):
        shown, code = on_terminal([BIN / "dtrun", two[0], "-n", 2, "--data", "synthetic", "--steps", 20, *flags], 400,
                                  environment=environment)
        check(code == 0 and not any(" of 20 " in text for text in shown) and len(shown[-1].splitlines()) >= 20,
              f"{flags}: {shown[-1]}")
    for (program, ranks), numbers in ((one, (signal.SIGINT,)), (two, (signal.SIGINT, signal.SIGTERM))):
        for number in numbers:
            shown, code = on_terminal([BIN / "dtrun", program, "-n", ranks, "--data", "synthetic", "--steps", 400000],
                                      100, lambda text: "of 400000" in text,
                                      lambda process, number=number: process.send_signal(number))
            check(code in (-number, 128 + number) and "of 400000" not in shown[-1],
                  f"{ranks} ranks, {number}: exit {code}\n{shown[-1]}")
            check(len(shown[-1].splitlines()) == ranks + 1, f"{ranks} ranks, {number}:\n{shown[-1]}")
    print("a terminal shows how a run fares, and is left tidy", flush=True)


# 4. Replicas.

def ranks_of(program):
    """Returns rank -> process, of those that train `program`; not their keepers."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            variables = (entry / "environ").read_bytes().split(b"\0")
            keeper = (entry / "comm").read_text().strip()
        except OSError:
            continue
        if str(program).encode() in words and keeper != "dtrun-keeper":
            for variable in variables:
                if variable.startswith(b"OMPI_COMM_WORLD_RANK="):
                    found[int(variable.split(b"=")[1])] = int(entry.name)
    return found


def flip(process, pattern):
    """Flips a bit of these bytes in any writable memory of a process; returns how often they were there."""
    times = 0
    with open(f"/proc/{process}/maps", encoding="ascii") as maps, open(f"/proc/{process}/mem", "r+b",
                                                                       buffering=0) as memory:
        for line in list(maps):
            begin, end = (int(word, 16) for word in line.split()[0].split("-"))
            if line.split()[1][:2] != "rw" or end - begin > 1 << 28:
                continue
            try:
                memory.seek(begin)
                data = memory.read(end - begin)
            except OSError:
                continue
            at = data.find(pattern)
            while at >= 0:
                try:
                    memory.seek(begin + at + 5)
                    memory.write(bytes([pattern[5] ^ 4]))
                except OSError:
                    return times  # it has been noticed
                times += 1
                at = data.find(pattern, at + 1)
    return times


def check_replicas(folder, generator):
    for fix in ("dp=2,tp=1,zero=3", "dp=2,tp=1,zero=1", "dp=1,tp=1,pp=2,micro_batch=3", "dp=2,tp=2"):
        program, ranks = compiled(folder, fix, precision="bf16" if "zero=1" in fix else "f32")
        lines = train(program, ranks, "synthetic", 3, "--check-replicas", 1, "--norms-every", 0)
        check(len(lines) == 3 and "param_norms" not in lines[-1], f"{fix}: {len(lines)} steps")
    for ranks, words in ((3, r"after step \d+ rank {odd} on host '\S+' has other bits of '{name}' than ranks (\d) on "
                          r"host '\S+' and (\d) on host"),
                         (2, r"after step \d+ ranks 0 on host '\S+' and 1 on host '\S+' have other bits of '{name}' "
                          r"than each other")):
        program, _ = compiled(folder, f"dp={ranks},tp=1,zero=0", words=16000)  # 1.5 MB: read in more than one piece
        odd = generator.randrange(ranks)
        dump = folder / "start.safetensors"
        train(program, ranks, "synthetic", 1, "--lr", 0, "--dump-params", dump, "--norms-every", 0)
        name = "transformer.wte.weight"
        _, values = next(tensor for key, tensor in read_safetensors(dump).items() if key == name)
        row = generator.randrange(len(values) - 16)
        run = subprocess.Popen([BIN / "dtrun", program, "-n", str(ranks), "--data", "synthetic", "--steps", "1000000",
                                "--lr", "0", "--check-replicas", "5", "--checkpoint-dir", folder / f"kept-{ranks}",
                                "--log-dir", folder / f"logs-{ranks}"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not run.stdout.readline().startswith("step     20"):
            check(run.poll() is None, f"{ranks} replicas: exit {run.returncode}")
        check(flip(ranks_of(program)[odd], values[row: row + 16].tobytes()) > 0,
              "the parameter is not where it was looked for")
        _, errors = run.communicate(timeout=60)
        wanted = words.format(odd=odd, name=name)
        check(run.returncode == 1 and re.search(wanted, errors) and errors.count("dtrun:") == 2
              and "flight records are in" in errors, f"{ranks} replicas, rank {odd}: exit {run.returncode}\n{errors}")
        check(not list((folder / f"kept-{ranks}").glob("step-*")), "a checkpoint was taken of replicas that differ")
    print("replicas that differ are named", flush=True)


# 5. Goodput over failures and resumes.

def seconds_of(line):
    return {cause: share * line["elapsed_s"] for cause, share in line["goodput"].items()}


def between(what, low, value, high):
    check(low <= value <= high, f"{what} is {value:.3f} s, wanted {low:.3f} to {high:.3f} s")


def check_goodput(folder):
    program, ranks = compiled(folder, "dp=2,tp=1", words=16000)
    # The kill is far from the job's end and from the next checkpoint: lines come late, in bursts.
    saved, logs, errors, steps, kill_at, slack = (folder / "goodput", folder / "goodput-logs", folder / "errors.txt",
                                                  160, 45, 0.6)
    flags = ["--threads", "1", "--checkpoint-dir", saved, "--checkpoint-every", "40", "--log-dir", logs]
    begin = time.monotonic()
    lines, times, killed = [], [], None
    with errors.open("w") as file, subprocess.Popen([BIN / "dtrun", program, "-n", str(ranks), "--data", "synthetic",
                                                     "--steps", str(steps), "--format", "json", "--restarts", "2",
                                                     *flags], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                                    stderr=file, text=True) as run:
        for line in run.stdout:
            row = json.loads(line)
            if "step" not in row:
                continue
            lines.append(row)
            times.append(time.monotonic() - begin)
            if len(lines) == 1:
                second = ranks_of(program)[1]
            if killed is None and lines[-1]["step"] == kill_at:
                os.kill(second, signal.SIGKILL)
                killed = times[-1]
    check(run.returncode == 0 and errors.read_text().count("dtrun: restart 1 of 2") == 1,
          f"exit {run.returncode}\n{errors.read_text()}")
    repeats = [i for i in range(1, len(lines)) if lines[i]["step"] <= lines[i - 1]["step"]]
    check(len(repeats) == 1, f"its steps are {[line['step'] for line in lines]}")
    (again,) = repeats
    kept = lines[again]["step"] - 1  # the step of the checkpoint
    found, computed = seconds_of(lines[-1]), [line["step_time_s"] - line["input_wait_s"] for line in lines]
    check(close(sum(found.values()), lines[-1]["elapsed_s"], 1e-4),
          f"goodput is {found}, of {lines[-1]['elapsed_s']} s")
    lost, rest = sum(computed[kept:again]), sum(computed[:kept] + computed[again:])
    # The window is from the line of the last step that is kept to the first line of the next start; other causes hold
    # what else happened in it.
    window = times[again] - (times[kept - 1] if kept else times[0] - computed[0])
    others = sum(found[cause] for cause in ("input_wait", "checkpoint", "other")) + lines[again]["step_time_s"]
    between("lost_to_failures", 0.95 * lost - 0.05, found["lost_to_failures"], window + slack)
    between("restarting", 0.02, found["restarting"], times[again] - killed + slack)
    between("what the failure took", window - others - slack, found["lost_to_failures"] + found["restarting"],
            window + slack)
    between("training", 0.9 * rest - slack, found["training"], 1.1 * rest + slack)
    between("start_up", 0.01, found["start_up"], times[0] + slack)
    between("elapsed_s", times[-1] - times[0] - slack, lines[-1]["elapsed_s"], times[-1] + slack)
    other = seconds_of(log_of(logs, 1)[-1])
    between("restarting, by rank 1", found["restarting"] - slack, other["restarting"], found["restarting"] + slack)
    check_resumed_goodput(folder, program, ranks, steps, flags, found)
    print(f"of {lines[-1]['elapsed_s']:.2f} s {found['training']:.2f} s are training, {found['lost_to_failures']:.2f} "
          f"s were lost with {again - kept} "
          f"steps to a failure and {found['restarting']:.2f} s to starting again, and a resume knows", flush=True)


def check_resumed_goodput(folder, program, ranks, steps, flags, before):
    manifest = folder / "goodput" / f"step-{steps}" / "manifest.json"
    spent = json.loads(manifest.read_text())["spent_s"]
    check(spent.keys() == SPENT and all(spent[cause] >= 0.99 * before[cause] for cause in SPENT),
          f"the checkpoint has {spent}, not {before}")
    time.sleep(1)  # this time counts for nobody
    begin = time.monotonic()
    last = train(program, ranks, "synthetic", steps + 20, "--resume", *flags)[-1]
    took, found = time.monotonic() - begin, seconds_of(last)
    between("elapsed_s of a resume", sum(spent.values()), last["elapsed_s"], sum(spent.values()) + took)
    for cause in ("lost_to_failures", "restarting"):
        between(f"{cause} of a resume", 0.999 * spent[cause], found[cause], 1.001 * spent[cause])
    for cause in ("training", "start_up"):
        check(found[cause] > spent[cause], f"{cause} of a resume is {found[cause]}, the checkpoint has {spent[cause]}")


PARTS = ("record", "prometheus", "terminal", "replicas", "goodput")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=PARTS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.only in (None, "record"):
            check_record(Path(folder))
        if arguments.only in (None, "prometheus"):
            check_prometheus(Path(folder))
        if arguments.only in (None, "terminal"):
            check_terminal(Path(folder))
        if arguments.only in (None, "replicas"):
            check_replicas(Path(folder), random.Random(arguments.seed))
        if arguments.only in (None, "goodput"):
            check_goodput(Path(folder))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Runs the table of bad inputs, bad-inputs/*.txt. Each must end with the stated exit code and lines, write nothing on
stdout, and neither make nor change a file.

bad_inputs.py [--only TEXT] [--update]      --only: entries that contain this; --update: writes what was printed

An empty line ends an entry, whose lines are:
    < gpt2.json bad.json        bad.json is a copy of a good file (see Good below); what follows changes it
    > bad.json                  or it is empty
    ~ "n_head": 4 => "n_head": 5    replaces this once in the text
    | text                      adds a line; with escapes of Python
    * N text                    adds this N times
    - N                         keeps the first N bytes; all but the last N if N is negative
    ^ N 00ff                    puts these bytes at N
    ! mesh.pp = 3               sets a value of JSON or of the manifest of a .dte, or removes it without "= value";
                                hashes follow
    & mkdir d                   runs this in the folder before
    $ dtc plan bad.json         the command; environment variables may stand before it, and "> /dev/full" behind it
    1 bad.json:6:13: error: ...  the exit code and the first line of stderr; <*> stands for anything
    bad.json:6:13: note: ...    the lines that follow
"""
import argparse
import json
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dtc_tools import BIN, dtc, run, write_npy

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TABLE = HERE / "bad-inputs"
REHASH = BIN.parent / "test" / "dtc-rehash"


def make_good(folder):
    """Writes the good files that entries change, by name."""
    copies = {
        "gpt2.json": "test/fuzz/gpt2-tiny.json",
        "llama.json": "models/configs/llama-3-8b.json",
        "mixtral.json": "models/configs/mixtral-8x7b.json",
        "deepseek.json": "models/configs/deepseek-v3.json",
        "digits.mlir": "models/digits/digits.mlir",
        "convnet.mlir": "models/digits/convnet.mlir",
        "gpt2.mlir": "models/gpt2.mlir",
        "plan.json": "test/fuzz/seeds/plan.json",
        "images.npy": "models/digits/images.npy",
        "labels.npy": "models/digits/labels.npy",
        "h100.toml": "topologies/dgx-h100.toml",
        "mixed.toml": "topologies/mixed-a100-h100.toml",
        "tpu.toml": "topologies/tpu-v4.toml",
        "curves.toml": "test/calibrate/Inputs/gpu-curves.toml",
        "stack.toml": "stacks/megatron-core.toml",
        "node.xml": "test/topology/Inputs/a100-pairs.xml",
        "problem.json": "test/solver/Inputs/tiny.json",
        "tokens.bin": "test/run/reference/data/tokens.bin",
    }
    for name, source in copies.items():
        shutil.copyfile(ROOT / source, folder / name)
    cpu = ["--topology", "cpu", "--global-batch", 4]
    dtc("compile", folder / "gpt2.json", *cpu, "--target", "cpu:x86-64-v3", "-o", folder / "one.dte")
    dtc("compile", folder / "gpt2.json", *cpu, "--devices", 2, "--fix", "tp=2", "-o", folder / "two.dte")
    dtc("compile", folder / "digits.mlir", "--topology", "cpu", "--global-batch", 8, "-o", folder / "digits.dte")
    (folder / "text.txt").write_bytes(bytes(range(32, 127)) * 20)
    (folder / "llmc.bin").write_bytes(struct.pack("<256i", 20240520, 1, 400, *[0] * 253) + bytes(800))
    (folder / "data.bin").write_bytes(bytes(4000))
    tokens = struct.pack("<200H", *[7] * 200)
    index = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, 1, 2) + struct.pack("<iqqq", 200, 0, 0, 1)
    (folder / "mega.bin").write_bytes(tokens)
    (folder / "mega.idx").write_bytes(index)
    write_npy(folder / "floats.npy", "<f4", "f", (64, 8, 8), [0.0] * 4096)
    run([BIN / "dtrun", folder / "one.dte", "--data", folder / "text.txt", "--steps", 2, "--checkpoint-dir",
         folder / "saved", "--dump-params", folder / "init.safetensors"])


class Entry:
    def __init__(self, file, lines):
        self.file = file
        self.steps = []  # (sigil, rest of the line)
        self.command = ""
        self.wanted = []  # lines, with the exit code in front of the first
        for line in lines:
            if line[0].isdigit() and self.command or line.startswith("  "):
                self.wanted.append(line)
            elif line.startswith("$ "):
                self.command = line[2:]
            elif line[0] in "<>~|*-^!&#":
                self.steps.append((line[0], line[2:]))
            else:
                sys.exit(f"{file.name}: no line of an entry: {line}")

    def text(self):
        steps = [f"{sigil} {rest}".rstrip(" ") if sigil != "|" else f"| {rest}" for sigil, rest in self.steps]
        return "\n".join([*steps, f"$ {self.command}", *self.wanted])


def read_table():
    entries = []
    for file in sorted(TABLE.glob("*.txt")):
        for block in re.split(r"\n\n+", file.read_text().strip("\n")):
            entries.append(Entry(file, block.split("\n")))
    return entries


def follow(tree, path):
    for key in path:
        tree = tree[int(key) if isinstance(tree, list) else key]
    return tree


def set_value(text, change):
    """Sets or removes a value of JSON. `change` is PATH = VALUE, or PATH alone; a dot in a key is written as a slash.
    """
    tree = json.loads(text)
    path, _, value = change.partition(" = ")
    keys = [key.replace("/", ".") for key in path.strip().split(".")]
    place, last = follow(tree, keys[:-1]), keys[-1]
    last = int(last) if isinstance(place, list) else last
    if value:
        place[last] = json.loads(value)
    else:
        del place[last]
    return json.dumps(tree, indent=1)


def change_program(path, change):
    """Changes the manifest of a .dte in the same way, through flatc and its schema; what follows the manifest keeps
    its offset.
    """
    data = path.read_bytes()
    (size,) = struct.unpack_from("<Q", data, 32)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "m.bin").write_bytes(data[64:64 + size])
        schema = str(ROOT / "runtime" / "format" / "dte.fbs")
        flatc = ["flatc", "-o", name, "--strict-json", "--defaults-json"]
        run([*flatc, "--json", "--raw-binary", schema, "--", folder / "m.bin"])
        (folder / "m.json").write_text(set_value((folder / "m.json").read_text(), change))
        run([*flatc, "--binary", "--force-defaults", schema, folder / "m.json"])
        manifest = (folder / "m.bin").read_bytes()
    first = 4096 * (1 + (63 + size) // 4096)
    if 64 + len(manifest) > first:
        sys.exit(f"the manifest of {path.name} has no room for '{change}'")
    path.write_bytes(data[:32] + struct.pack("<Q", len(manifest)) + data[40:64]
                     + manifest.ljust(first - 64, b"\0") + data[first:])
    run([REHASH, path])


def apply(step, path):
    sigil, rest = step
    data = path.read_bytes()
    if sigil == "~":
        old, _, new = rest.partition(" =>")
        old, new = (part.encode().decode("unicode_escape") for part in (old, new.removeprefix(" ")))
        old, new = old.encode("latin-1"), new.encode("latin-1")
        if old not in data:
            sys.exit(f"'{old}' is not in {path.name}")
        path.write_bytes(data.replace(old, new, 1))
    elif sigil == "|":
        path.write_bytes(data + rest.encode().decode("unicode_escape").encode("latin-1") + b"\n")
    elif sigil == "*":
        count, _, text = rest.partition(" ")
        path.write_bytes(data + text.encode().decode("unicode_escape").encode("latin-1") * int(count))
    elif sigil == "-":
        path.write_bytes(data[:int(rest)])
    elif sigil == "^":
        at, _, changed = rest.partition(" ")
        new, place = bytes.fromhex(changed), int(at) % len(data)
        path.write_bytes(data[:place] + new + data[place + len(new):])
    elif path.suffix == ".dte":
        change_program(path, rest)
    else:
        path.write_text(set_value(data.decode(), rest))
        if path.name == "manifest.json":
            run([REHASH, path.parent])


def prepare(entry, good, folder):
    for name in good.iterdir():
        (folder / name.name).symlink_to(name)
    path = None
    for sigil, rest in entry.steps:
        if sigil == "&":
            subprocess.run(rest, shell=True, cwd=folder, check=True)
        elif sigil == "<":
            base, _, name = rest.partition(" ")
            path = folder / (name or base)
            if path.is_symlink():
                path.unlink()
            (shutil.copytree if (good / base).is_dir() else shutil.copyfile)(good / base, path)
        elif sigil == ">":
            path = folder / rest
            path.unlink(missing_ok=True)
            path.write_bytes(b"")
        elif sigil != "#":
            apply((sigil, rest), path)


def snapshot(folder):
    """Returns the names, sizes and times of the files in a folder; entries may have made devices and pipes."""
    found = {}
    for place, folders, files in os.walk(folder):
        for name in folders + files:
            info = os.lstat(os.path.join(place, name))
            found[os.path.relpath(os.path.join(place, name), folder)] = (info.st_size, info.st_mtime_ns if name in files
                else 0)
    return found


def execute(entry, good):
    """Returns the printed lines, with the exit code in front of the first, and the other faults of a run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(entry, good, folder)
        before = snapshot(folder)
        command, _, target = entry.command.partition(" > ")
        words = shlex.split(command)
        environment = {key: value for key, value in os.environ.items() if not key.startswith("DTC_")}
        environment["OMP_NUM_THREADS"] = environment["OPENBLAS_NUM_THREADS"] = "1"
        while "=" in words[0]:
            key, _, value = words.pop(0).partition("=")
            environment[key] = value
        out = open(target, "wb") if target else subprocess.PIPE
        words[0] = str(BIN / words[0])
        try:
            result = subprocess.run(words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=out,
                                    stderr=subprocess.PIPE, timeout=60)
        except subprocess.TimeoutExpired:
            return ["- no end in 60 s"], ["it does not end"]
        lines = result.stderr.decode(errors="replace").splitlines()
        printed = [f"{result.returncode} {lines[0] if lines else ''}"] + ["  " + line for line in lines[1:]]
        faults = []
        # This command reports the faults of a checkpoint on stdout.
        if not target and result.stdout and words[1:3] != ["checkpoint", "verify"]:
            faults.append(f"stdout has {result.stdout[:200]!r}")
        if (after := snapshot(folder)) != before:
            faults.append(
                f"files changed: {[key for key in after.keys() | before.keys() if after.get(key) != before.get(key)]}")
        return printed, faults


def agrees(wanted, printed):
    if len(wanted) != len(printed):
        return False
    return all(re.fullmatch(".*".join(map(re.escape, want.split("<*>"))), line) for want, line in zip(wanted, printed))


def update(entries):
    for file in sorted({entry.file for entry in entries}):
        file.write_text("\n\n".join(entry.text() for entry in entries if entry.file == file) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    entries = read_table()
    chosen = [entry for entry in entries if options.only in f"{entry.file.stem}: {entry.text()}"]
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        good = Path(name) / "good"
        good.mkdir()
        make_good(good)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(lambda entry: execute(entry, good), chosen))
    for entry, (printed, faults) in zip(chosen, results):
        if not agrees(entry.wanted, printed):
            if options.update:
                entry.wanted = printed
            else:
                faults.append("printed\n" + "\n".join(printed))
        if faults:
            failures += 1
            print(f"{entry.file.name}:\n{entry.text()}\n=> " + "\n=> ".join(faults) + "\n")
    if options.update:
        update(entries)
    print(f"{len(chosen)} bad inputs, {failures} not as the table says")
    return 1 if failures else 0


sys.exit(main())

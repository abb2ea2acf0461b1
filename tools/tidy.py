#!/usr/bin/env python3
"""Runs clang-tidy 14 with the checks of .clang-tidy on C++ files: the given ones, or recently changed ones.

tools/tidy.py [--build build] [--commits 3] [--max-files 12] [FILE.cpp...]

Without files: the .cpp files changed in the last commits and in the work tree, at most --max-files. A file of the
compiler takes some 10 s, hence the limit. Checks walk all that a file includes. A file needs little of the compiler's
precompiled header, so it is left out at first: with it, a file took three times as long. A file that does not compile
without it is checked a second time with it.
"""
import argparse
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def git(*args):
    done = subprocess.run(["git", *args], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else None


def changed_files(commits):
    """Returns tracked files that differ from HEAD~commits; of a shorter or shallow history, from its first commit."""
    for back in range(commits, 0, -1):
        files = git("diff", "--name-only", "--diff-filter=d", f"HEAD~{back}", "--")
        if files is not None:
            return files
    return git("ls-files") or []


def for_clang_14(command, has_header):
    """Returns the compile command without what only clang 22 or ccache understands, with the precompiled header as
    text or without.

    CMake's PCH flags are: -Xclang -include-pch -Xclang X.pch -Xclang -include -Xclang cmake_pch.hxx. The last four
    words stay if the header does, as -Xclang: a plain -include would find the .pch of clang 22 beside the header.
    """
    args = shlex.split(command)
    while args and (os.path.basename(args[0]) in ("env", "ccache") or "=" in args[0]):
        args.pop(0)
    kept, i = [], 0
    while i < len(args):
        if args[i : i + 2] == ["-Xclang", "-include-pch"]:
            i += 4 if has_header else 8
        elif args[i] == "-Xclang" and args[i + 1] in ("-fno-pch-timestamp", "-fpch-instantiate-templates"):
            i += 2
        elif args[i] in ("-fpch-instantiate-templates", "-Winvalid-pch", "-Werror"):
            i += 1
        else:
            kept.append(args[i])
            i += 1
    return ["clang++-14", *kept[1:], "-Wno-unknown-warning-option", "-Wno-unknown-attributes"]


def alone(entry):
    """Returns the entries of the sources that a unity file includes (cmake/unity.py), each with its command; else the
    file's own.
    """
    file = Path(entry["directory"], entry["file"])
    if file.parent.name != "Unity":
        return [entry]
    sources = re.findall(r'^#include "(.*)"', file.read_text(), re.M)
    return [{**entry, "file": source, "command": entry["command"].replace(entry["file"], source)} for source in sources]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", help="build folder that holds compile_commands.json")
    parser.add_argument("--commits", type=int, default=3, help="how far back to look for changed files")
    parser.add_argument("--max-files", type=int, default=12)
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()

    commands = ROOT / options.build / "compile_commands.json"
    if not commands.exists():
        sys.exit(f"tidy.py: '{commands}' does not exist; configure first: cmake --preset default")
    entries = {}
    for entry in json.loads(commands.read_text()):
        for each in alone(entry):
            entries.setdefault(os.path.realpath(os.path.join(each["directory"], each["file"])), each)

    names = options.files or [name for name in changed_files(options.commits) if name.endswith(".cpp")]
    paths = [os.path.realpath(ROOT / name) for name in names]
    for path in paths:
        if options.files and path not in entries:
            sys.exit(f"tidy.py: '{path}' is not compiled in '{options.build}'; configure, or name another --build")
    files = [path for path in paths if path in entries]
    if not options.files:
        files = files[: options.max_files]

    def check(path):
        for folder in folders:
            done = subprocess.run(["clang-tidy-14", "--quiet", "-p", folder, path], capture_output=True, text=True)
            if "[clang-diagnostic-error]" not in done.stdout:
                break
        return path, done

    bad = 0
    with tempfile.TemporaryDirectory() as without, tempfile.TemporaryDirectory() as with_header:
        folders = without, with_header
        for folder in folders:
            database = [{**entries[path], "arguments": for_clang_14(entries[path]["command"], folder == with_header)}
                        for path in files]
            for entry in database:
                del entry["command"]
            Path(folder, "compile_commands.json").write_text(json.dumps(database))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for path, done in pool.map(check, files):
                if done.returncode != 0 or ": warning: " in done.stdout:
                    bad += 1
                    print(done.stdout.strip())
                    print(done.stderr.strip() if done.returncode != 0 else "", flush=True)
    print(f"tidy.py: {len(files)} files checked, {bad} with findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

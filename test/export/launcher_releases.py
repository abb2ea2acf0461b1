#!/usr/bin/env python3
"""Checks the schemas of launchers/ and the exports against the packages of the launchers' releases.

pip downloads the packages, without installing anything; tools/launcher-schemas.py extracts the flags and fields that
each defines.

launcher_releases.py             the releases that exports are written for: the extracted schema is the stored one, byte
                                 for byte, against which check_exports.py checks all exports
launcher_releases.py --newest    the newest releases that pip finds today: counts the plans whose exports they take, and
                                 names the flag or field of one that does not load

ctest runs the first (export.releases), and the second if DTC_TEST_NEWEST is 1: its result depends on what others
release. Launchers whose package cannot be downloaded in time are skipped. The exit code is 1 if a schema differs or
an export does not load, and 77 if nothing was checked.

-o FOLDER    keeps the extracted schemas

DTC_BIN names the folder of dtc.
"""
import argparse
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from check_exports import VERSIONS

HERE = Path(__file__).resolve().parent
# This maps a launcher to the launchers and packages that its schema is extracted from. Megatron-Core's package has
# Megatron-LM's training code.
PACKAGES = {
    "megatron-lm": {"megatron-lm": "megatron-core"},
    "megatron-bridge": {"megatron-lm": "megatron-core", "megatron-bridge": "megatron-bridge"},
    "torchtitan": {"torchtitan": "torchtitan"},
    "deepspeed": {"deepspeed": "deepspeed"},
    "maxtext": {"maxtext": "maxtext"},
}
FIRST = "torchtitan"  # the smallest package: if it cannot be downloaded, there is no network
SOURCES_ALONE = {"deepspeed"}  # packages without wheels
PYTHON = "3.12"  # version of the wheels: the newest releases need it
SKIPPED = 77  # exit code
SECONDS_OF_FIRST, SECONDS_OF_EACH = 20, 60


def say(what):
    print(f"launcher_releases.py: {what}", flush=True)


def download(package, version, folder, seconds):
    """Returns the file that pip downloads of a package, a wheel or an archive of sources.

    Takes the newest version if `version` is empty. Prints the reason and returns None if the download fails.
    """
    folder.mkdir()
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
               "--retries", "0", "--timeout", "3", "-d", folder, package + (f"=={version}" if version else "")]
    if package not in SOURCES_ALONE:
        command += ["--only-binary=:all:", "--python-version", PYTHON]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        say(f"pip did not download {package} in {seconds} s")
        return None
    if done.returncode != 0:
        say(f"pip can't download {package}: {(done.stderr.strip().splitlines() or ['it said nothing'])[-1]}")
        return None
    return next(folder.iterdir(), None)


def extract(launcher, files, folder):
    """Returns the file of a launcher's schema; prints the reason and returns None if the extractor cannot read the
    package.
    """
    folder.mkdir(parents=True, exist_ok=True)
    named = [f"{name}={files[package]}" for name, package in PACKAGES[launcher].items()]
    command = [sys.executable, HERE.parent.parent / "tools/launcher-schemas.py", *named, "-o", folder]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        say(f"{launcher}: its schema can't be extracted: "
            f"{(done.stderr.strip().splitlines() or ['nothing was said'])[-1]}")
        return None
    return next(folder.glob(f"{launcher}-*.json"))


def is_stored(launcher, schema):
    """Returns whether the extracted schema is the stored one; prints the first line that differs."""
    stored = HERE / "launchers" / f"{launcher}-{VERSIONS[launcher][0]}.json"
    found, wanted = schema.read_bytes(), stored.read_bytes()
    if found == wanted:
        return True
    lines = enumerate(zip(found.split(b"\n"), wanted.split(b"\n")), 1)
    number = next((number for number, (a, b) in lines if a != b), min(found.count(b"\n"), wanted.count(b"\n")) + 1)
    say(f"{stored.name} is not what the release {VERSIONS[launcher][0]} says: line {number} differs; extract it by "
        f"tools/launcher-schemas.py")
    return False


def check(launcher, files, is_newest, folder):
    """Returns the report on a launcher, and whether it passed; None if one of its packages is missing.

    `files` are futures of the packages.
    """
    files = {package: files[package].result() for package in PACKAGES[launcher].values()}
    absent = [package for package, file in files.items() if file is None]
    if absent:
        return f"skipped {launcher}: there is no {' and no '.join(absent)}", None
    schema = extract(launcher, files, folder / launcher)
    if schema is None:
        return f"{launcher} is not checked further", False
    if not is_newest and is_stored(launcher, schema):
        return f"launcher_releases.py: {schema.name} is what is stored", True
    counted = subprocess.run([sys.executable, HERE / "check_exports.py", "--count", launcher, schema],
                             capture_output=True, text=True)
    return (counted.stdout + counted.stderr).strip(), is_newest and counted.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--newest", action="store_true", default=os.environ.get("DTC_TEST_NEWEST") == "1")
    parser.add_argument("-o", "--output", type=Path, help="keep the schemas here")
    options = parser.parse_args()
    versions = {package: "" if options.newest else VERSIONS[name][0] for packages in PACKAGES.values()
                for name, package in packages.items()}
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(len(versions)) as downloads, ThreadPoolExecutor(
        2) as checks:
        folder = Path(scratch)
        first = downloads.submit(download, FIRST, versions[FIRST], folder / FIRST, SECONDS_OF_FIRST)
        if first.result() is None:
            say("nothing was checked")
            return SKIPPED
        files = {package: first if package == FIRST
                 else downloads.submit(download, package, version, folder / package, SECONDS_OF_EACH)
                 for package, version in versions.items()}
        kept = options.output or folder / "schemas"
        # deepspeed takes longest to download
        launchers = sorted(PACKAGES, key=lambda launcher: launcher == "deepspeed")
        results = dict(zip(launchers, checks.map(lambda launcher: check(launcher, files, options.newest, kept),
                                                 launchers)))
    for words, _ in results.values():
        print(words)
    checked = [launcher for launcher, (_, is_good) in results.items() if is_good is not None]
    failed = [launcher for launcher in checked if not results[launcher][1]]
    say(f"{len(checked)} of {len(PACKAGES)} launchers were checked" + (f"; failed: {', '.join(failed)}" if failed
                                                                       else ""))
    return 1 if failed else 0 if checked else SKIPPED


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Holds exports against the newest releases of their launchers, as pip finds them today: downloads each package without installing it,
extracts what it says of its own flags and fields (tools/launcher-schemas.py), and counts the plans whose exports it takes. Wants the
network, and is no part of the tests: where a package can't be had it is skipped, and said so. Exits with 1 where an export does not
load, or where nothing could be checked.

  test/export/newest-releases.py [-o FOLDER]    FOLDER keeps the schemas

DTC_BIN names the folder of dtc.
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Launcher -> the packages that its schema is extracted from. Megatron-Core's has Megatron-LM's training code.
PACKAGES = {
    "megatron-lm": {"megatron-lm": "megatron-core"},
    "megatron-bridge": {"megatron-lm": "megatron-core", "megatron-bridge": "megatron-bridge"},
    "torchtitan": {"torchtitan": "torchtitan"},
    "deepspeed": {"deepspeed": "deepspeed"},
    "maxtext": {"maxtext": "maxtext"},
}
SOURCES_ALONE = {"deepspeed"}  # packages without wheels
PYTHON = "3.12"  # that wheels are asked for: the newest releases want it


def download(package, folder):
    """Returns the file that pip downloads of a package, a wheel or an archive of sources; None, and says why, where it can't."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "-d", folder]
    of_wheels = ["--only-binary=:all:", "--python-version", PYTHON]
    done = subprocess.run([*pip, *([] if package in SOURCES_ALONE else of_wheels), package], capture_output=True, text=True)
    if done.returncode != 0:
        print(f"newest-releases.py: {package}: {(done.stderr.strip().splitlines() or ['pip said nothing'])[-1]}")
        return None
    return max(folder.iterdir(), key=lambda path: path.stat().st_mtime, default=None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, help="keep the schemas here")
    options = parser.parse_args()
    checked, failed = 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        files = {}
        for package in {package for packages in PACKAGES.values() for package in packages.values()}:
            folder = Path(scratch) / package
            folder.mkdir()
            files[package] = download(package, folder)
        schemas = options.output or Path(scratch) / "schemas"
        schemas.mkdir(exist_ok=True, parents=True)
        for launcher, packages in PACKAGES.items():
            absent = [package for package in packages.values() if files[package] is None]
            if absent:
                print(f"newest-releases.py: skipped {launcher}: pip can't download {', '.join(absent)}")
                continue
            named = [f"{name}={files[package]}" for name, package in packages.items()]
            extract = [sys.executable, HERE.parent.parent / "tools/launcher-schemas.py", *named, "-o", schemas]
            done = subprocess.run(extract, capture_output=True, text=True)
            if done.returncode != 0:
                print(f"newest-releases.py: {launcher}: {done.stderr.strip()}")
                failed += 1
                continue
            schema = max(schemas.glob(f"{launcher}-*.json"), key=lambda path: path.stat().st_mtime)
            failed += subprocess.run([sys.executable, HERE / "check_exports.py", "--count", launcher, schema]).returncode != 0
            checked += 1
    print(f"newest-releases.py: {checked} of {len(PACKAGES)} launchers were checked")
    return 1 if failed or checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main())

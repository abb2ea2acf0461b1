#!/usr/bin/env python3
"""Writes what text-fuzz starts from: texts of each kind in this repository, behind the byte that says which.

  write_text_corpus.py FOLDER
"""
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

KINDS = {
    "m": ["models/*.mlir", "models/digits/*.mlir", "test/dialects/graph/*.mlir"],
    "c": ["models/configs/*.json"],
    "t": ["topologies/*.toml", "test/topology/*.toml"],
    "x": ["test/topology/Inputs/*.xml"],
    "s": ["stacks/*.toml", "test/stack/*.toml"],
    "p": ["test/fuzz/seeds/plan*.json"],
    "r": ["test/solver/Inputs/*.json"],
}


def main():
    folder = Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)  # what earlier runs added would make this one another
    folder.mkdir(parents=True)
    for kind, patterns in KINDS.items():
        files = [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
        assert files, patterns
        for path in files:
            (folder / f"{kind}-{path.parent.name}-{path.name}").write_bytes(kind.encode() + path.read_bytes())


main()

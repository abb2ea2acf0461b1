#!/usr/bin/env python3
"""Compares the pairs "stack key" of LIST with the figures that stack files mark [fit]: check-fitted.py LIST FOLDER...

Each pair's figure is marked in the stack, or in the one that it extends; and each mark is of a pair of LIST, of the
stack itself or of one that takes the figure from it.
"""
import re
import sys
import tomllib
from pathlib import Path

listed = {tuple(line.split()) for line in open(sys.argv[1])}
stacks = {}  # name -> (the name of the extended stack, {key: whether it is marked})
for folder in sys.argv[2:]:
    for path in Path(folder).glob("*.toml"):
        text = path.read_text()
        marks, above = {}, ""
        for line in text.splitlines():
            if line.startswith("#"):
                above += line
                continue
            if found := re.match(r"(\w+) = [^#]*(#.*)?$", line):
                marks[found[1]] = "[fit]" in (found[2] or "") + above
            above = ""
        tables = [key for table in tomllib.loads(text).values() if isinstance(table, dict) for key in table]
        stacks[path.stem] = (tomllib.loads(text).get("extends", "").removesuffix(".toml"),
                             {k: marks[k] for k in tables})


def said_by(stack, key):
    while key not in stacks[stack][1]:
        stack = stacks[stack][0]
    return stack


mistakes = []
covered = set()
for stack, key in sorted(listed):
    source = said_by(stack, key)
    covered.add((source, key))
    if not stacks[source][1][key]:
        mistakes.append(f"FittedConstants.cpp names {key} of {stack}, which {source}.toml does not mark [fit]")
marked = {(stack, key) for stack, (_, keys) in stacks.items() for key, is_fit in keys.items() if is_fit}
for stack, key in sorted(marked - covered):
    mistakes.append(f"{stack}.toml marks {key} [fit], which FittedConstants.cpp does not name")
for mistake in mistakes:
    print(mistake, file=sys.stderr)
print(f"{len(marked)} figures are fitted")
sys.exit(bool(mistakes))

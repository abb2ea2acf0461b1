"""Checks that docs/stacks.md explains the figures of a stack as 'dtc stack show' does.

usage: check-figures.py SHOWN.txt STACKS.md
"""
import re
import sys
from pathlib import Path

table, shown = "", []
for line in Path(sys.argv[1]).read_text().splitlines():
    if heading := re.fullmatch(r"\[(\w+)\]", line):
        table = heading.group(1)
    elif table and len(cells := re.split(r" {2,}", line.strip())) == 4 and cells[0] != "key":
        shown.append((f"{table}.{cells[0]}", cells[3]))
documented = re.findall(r"^\| `(\w+\.\w+)` \| [^|]+ \| (.+) \|$", Path(sys.argv[2]).read_text(), re.MULTILINE)
assert len(shown) > 60, shown
assert sorted(shown) == sorted(documented), "docs/stacks.md differs:\n" + "\n".join(
    f"{key}: {meaning}" for key, meaning in sorted(set(shown) ^ set(documented)))

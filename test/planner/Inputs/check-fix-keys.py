"""Checks that docs/planner.md lists the keys of --fix as 'dtc plan --help' does.

usage: check-fix-keys.py HELP.txt PLANNER.md
"""
import re
import sys
from pathlib import Path

helped = re.findall(r"^ +(\w+)=(.+?); (.+)$", Path(sys.argv[1]).read_text(), re.MULTILINE)
documented = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+) \|$", Path(sys.argv[2]).read_text(), re.MULTILINE)
assert len(helped) >= 17, helped
assert helped == documented, "docs/planner.md should have\n" + "\n".join(f"| `{k}` | {v} | {m} |" for k, v, m in helped)

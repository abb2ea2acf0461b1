"""Checks that the lines of README.md's first plan are printed by its command, in their order.

usage: readme-plan.py README.md
"""
import re
import shlex
import subprocess
import sys
import tempfile

readme = open(sys.argv[1]).read()
block = re.search(r"```\n\$ (dtc plan .*)\n((?:.*\n)*?)```", readme)
with tempfile.TemporaryDirectory() as folder:
    printed = subprocess.run(shlex.split(block[1]), cwd=folder, capture_output=True, text=True, check=True).stdout
    open(folder + "/plan.html").close()
lines = iter(printed.splitlines())
shown = [line for line in block[2].splitlines() if line and line != "..."]
missing = [line for line in shown if not any(line == other for other in lines)]
print(f"{len(shown)} lines of README.md, {len(missing)} that are not printed there")
for line in missing[:1]:
    print("not printed, or not in its place:", line)
    print(printed)

"""Runs the console commands of a tutorial, one by one in an empty folder; the first that fails ends it.

usage: run-tutorial.py PAGE.md ROOT    ROOT: the source tree, which the folder has as "dtc"
"""
import os
import re
import subprocess
import sys
import tempfile

page = open(sys.argv[1]).read()
commands = [line[2:] for block in re.findall(r"```console\n(.*?)```", page, re.S) for line in block.splitlines()]
with tempfile.TemporaryDirectory() as folder:
    os.symlink(sys.argv[2], os.path.join(folder, "dtc"))
    for command in commands:
        done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{command}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")
print(f"{len(commands)} commands")

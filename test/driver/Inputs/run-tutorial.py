"""Runs the console commands of a tutorial, one by one in an empty folder; the first that fails ends it.

usage: run-tutorial.py PAGE.md MODELS    MODELS: the folder that {models} stands for
"""
import re
import subprocess
import sys
import tempfile

page = open(sys.argv[1]).read()
commands = [line[2:].replace("{models}", sys.argv[2])
            for block in re.findall(r"```console\n(.*?)```", page, re.S) for line in block.splitlines()]
with tempfile.TemporaryDirectory() as folder:
    for command in commands:
        done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{command}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")
print(f"{len(commands)} commands")

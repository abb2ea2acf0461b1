"""Checks a page of 'dtc plan --report' as text: check-page.py PAGE.html PLAN.json"""
import json
import re
import sys

from pages import checked_page

text = open(sys.argv[1], encoding="utf-8").read()
plan = json.load(open(sys.argv[2]))
page = checked_page(text)
assert page.sections == ["time-of-a-step", "pipeline", "memory", "candidates", "mesh", "tensors", "decided",
                         "again"], page.sections
words = " ".join(page.words)
for axis in ("tp", "cp", "dp", "pp"):
    shows = f"mesh-{axis}" in page.ids
    assert shows == (plan["mesh"][axis] > 1), axis
for name in plan["tensors"]:
    pattern = re.sub(r"\.\d+\.", ".*.", name, count=1)
    assert pattern in words or name in words, name
# Every task of the step is drawn if there are few.
if plan["num_micro_batches"] * 2 <= 140:
    tasks = len(re.findall(r'class="task-[fbw]', text)) - len(re.findall(r'rx="2" class="task-[fbw]', text))
    assert tasks == 2 * plan["mesh"]["pp"] * plan["num_micro_batches"], tasks

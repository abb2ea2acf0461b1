"""Checks a page of 'dtc plan --report' as text: check-page.py PAGE.html PLAN.json"""
import html.parser
import json
import re
import sys

text = open(sys.argv[1], encoding="utf-8").read()
plan = json.load(open(sys.argv[2]))
void = {"meta", "link", "br", "rect", "line", "path", "circle"}


class Page(html.parser.HTMLParser):
    """Open elements, ids and the text of sections."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.refers, self.sections, self.words = [], [], [], [], []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        assert tag not in ("script", "iframe", "img", "object"), tag
        assert not any(name.startswith("on") for name in given), given
        for name in ("href", "src"):
            assert given.get(name, "data:").startswith("data:"), given
        if "id" in given:
            self.ids.append(given["id"])
        self.refers += given.get("aria-labelledby", "").split()
        if tag == "section":
            self.sections.append(given["id"])
        for value in given.values():
            assert "nan" not in value.lower().split() and "inf" not in value.lower().split(), given
        self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag):
        while self.open and self.open[-1] != tag and self.open[-1] in void:
            self.open.pop()
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data):
        self.words.append(data)


page = Page()
page.feed(text)
page.close()
assert not page.open, page.open
assert len(page.ids) == len(set(page.ids))
assert set(page.refers) <= set(page.ids)
assert page.sections == ["time-of-a-step", "pipeline", "memory", "candidates", "mesh", "tensors", "decided",
                         "again"], page.sections
assert not re.search(r"https?:|url\(|@import", text)
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

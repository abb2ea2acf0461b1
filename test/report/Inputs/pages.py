"""Reads a page of dtc as text, and checks what all pages promise."""
import html.parser
import re

VOID = {"meta", "link", "br", "rect", "line", "path", "circle"}


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
        while self.open and self.open[-1] != tag and self.open[-1] in VOID:
            self.open.pop()
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data):
        self.words.append(data)


def checked_page(text):
    """Returns the page, after a check that it is whole, loads nothing and has each id once."""
    page = Page()
    page.feed(text)
    page.close()
    assert not page.open, page.open
    assert len(page.ids) == len(set(page.ids))
    assert set(page.refers) <= set(page.ids)
    assert not re.search(r"https?:|url\(|@import", text)
    return page

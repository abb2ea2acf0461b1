#!/usr/bin/env python3
"""Checks that comments are plain technical English, folder by folder.

  tools/check-english.py [--root DIR] [--table] [FOLDER...]

For every folder (the named ones, or all), counts the comments that open with a dependent or prepositional clause ("What
is left", "Of all ranks"), the public declarations of headers that have a docstring, lines that are too long, words of
comments and names of code that docs/glossary.md refuses. Prints file:line of each fault of a folder that is over a
limit, and exits with 1.
--table prints the shares of every folder. test/tools/check_english_test.py tests this file.
"""
import argparse
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

OPENINGS_LIMIT = 0.04  # share of the comments of a folder that may open with a clause
DOCSTRINGS_LIMIT = 0.95  # share of the public declarations that need a docstring
CODE_COLUMNS, DOC_COLUMNS = 100, 120

CPP = {".h", ".cpp", ".c", ".cu", ".cuh", ".td", ".def", ".inc"}
HASH = {".py", ".sh", ".cmake"}

OPENING = re.compile(
    r"(?:what|of|whether|where|wherever|which|those|that|how|why|who|whom|whose|likewise|else|each that|"
    r"by|from|as|with|without|along|among|between|beyond|through|until)\b", re.I)
# These openings belong to ordinary sentences that begin with one of these words.
PLAIN = re.compile(r"(?:that is|as a result|by default|as long as|until then|which is why)\b", re.I)
# These comments address a tool.
MARKERS = re.compile(r"(?:namespace\b|NOLINT|clang-format|IWYU|end namespace|=====|-----|RUN:|CHECK)")


def comments_of(lines, mark):
    """Returns (line, text) of every comment: a block of whole lines, or the end of a line of code."""
    found, column, last = [], None, -1
    for number, line in enumerate(lines, 1):
        at = comment_column(line, mark)
        if at is None:
            continue
        text = line[at:].lstrip(mark[0] + "!<").strip()
        owns_line = not line[:at].strip()
        if owns_line and last == number - 1 and at == column:  # the block goes on
            if not found[-1][1]:
                found[-1] = (number, text)
        else:
            found.append((number, text))
        column, last = at, number
    return [(number, text) for number, text in found if text and not MARKERS.match(text)]


def comment_column(line, mark):
    """Returns the index at which the comment of a line begins, or None. Marks inside of strings do not count."""
    quote = None
    index = 0
    while index < len(line):
        char = line[index]
        if quote:
            if char == "\\":
                index += 1
            elif char == quote:
                quote = None
        elif char == '"' or char == "'" and not (index and line[index - 1].isalnum()):
            quote = char
        elif line.startswith(mark, index) and (mark == "//" or index == 0 or line[index - 1].isspace()):
            return None if mark == "#" and line.startswith("#!") else index
        index += 1
    return None


def docstrings_of(text):
    """Returns (line, first words) of the docstrings of a Python file."""
    pattern = re.compile(r'^(?:[ \t]*(?:def|class)\b[^\n]*(?:\n[ \t]+[^\n]*?)??:\n[ \t]*|(?:#[^\n]*\n)*)"""(.*?)"""',
                         re.M | re.S)
    return [(text.count("\n", 0, match.start(1)) + 1, match.group(1).strip()) for match in pattern.finditer(text)]


def opens_with_clause(comment):
    """True if the comment opens with a dependent or prepositional clause."""
    text = comment.lstrip("-*`( ")
    return bool(OPENING.match(text)) and not PLAIN.match(text)


# Declarations

TYPE = re.compile(r"(?:template <.*> ?)?(?:struct|class|enum(?: class)?) (?:\[\[nodiscard\]\] )?(\w+)[^;=()]*\{")
FUNCTION = re.compile(r"(?:[\w:<>,&*\[\]~ .-]+?[ &*>])?(~?\w+|operator[^\w\s(]+)\(")
NOT_FUNCTION = re.compile(
    r"(?:return|if|for|while|switch|else|static_assert|assert|using|typedef|friend|case|#|\}|:|\"|DTC_\w+\()")
SPECIAL = re.compile(r"= (?:default|delete)\b|\boverride\b|operator ?(?:==|!=|<=>|<|=)|^(?:explicit )?~")
ACCESSOR = re.compile(r"\) (?:const )?(?:noexcept )?\{ return \*?&?[\w.]+(?:\.size\(\)|\.get\(\))?; \}")


def declarations_of(lines):
    """Returns (line, name, is_documented) of the types and functions that a header declares publicly.

    Left out: private and protected members, overrides, constructors and special members, and accessors that return a
    member. A docstring is a comment on the lines before a declaration, or behind it.
    """
    found = []
    scopes = []  # a stack of open braces: ("namespace" | "type" | "body", name, is_public)
    statement, first = "", 0
    documented, fresh_comment = False, False
    for number, line in enumerate(lines, 1):
        at = comment_column(line, "//")
        code = (line if at is None else line[:at]).strip()
        if not code:
            if at is not None:
                fresh_comment = True
            elif not statement:
                fresh_comment = False
            continue
        if code.startswith("#") or code.endswith("\\"):
            fresh_comment = False
            continue
        if not statement:
            first, documented = number, fresh_comment
        fresh_comment = False
        documented = documented or at is not None
        statement = (statement + " " + code).strip()
        access = re.match(r"(public|private|protected):$", statement)
        if access and scopes:
            scopes[-1] = (*scopes[-1][:2], access.group(1) == "public")
            statement = ""
            continue
        if re.match(r"template <[^{};]*>$", statement) or not re.search(r"[;{}]\s*$|\{.*\}|:$", statement):
            if statement.endswith(")") and statement.isupper():
                statement = ""
            continue
        is_visible = all(kind != "body" and public for kind, _, public in scopes)
        name = None
        if is_visible:
            name = declared(statement, [scope[1] for scope in scopes])
        if name:
            found.append((first, name, documented))
        opened = statement.count("{") - statement.count("}")
        if opened > 0:
            if re.match(r"(?:inline )?namespace\b|extern \"C\"", statement):
                kind = ("namespace", None, not re.match(r"namespace (detail|\{)", statement))
            elif TYPE.match(statement):
                kind = ("body" if statement.startswith("enum") else "type", TYPE.match(statement).group(1),
                        not statement.startswith("class") and "> class " not in statement)
            else:
                kind = ("body", None, False)
            scopes += [kind] + [("body", None, False)] * (opened - 1)
        elif opened < 0:
            del scopes[max(len(scopes) + opened, 0):]
        statement = ""
    return found


def declared(statement, scopes):
    """Returns the name that a statement declares and that needs a docstring, or None."""
    if match := TYPE.match(statement):
        return match.group(1)
    plain = re.sub(r"^template <[^()]*?> ?(?=\w)", "", statement)
    plain = re.sub(r"\[\[\w+\]\] ?", "", plain)
    if NOT_FUNCTION.match(plain) or SPECIAL.search(plain.split("{")[0]) or ACCESSOR.search(plain):
        return None
    match = FUNCTION.match(plain)
    before = plain[:match.start(1)] if match else ""
    if not match or "=" in before or "{" in before or match.group(1) in scopes or not before.strip():
        return None
    return match.group(1)


# Words and names

NAMES_TITLE = "## Names that code does not use"
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def words_of(root):
    """Returns (pattern, advice) of the table in docs/glossary.md: the rows whose third column has patterns."""
    table = root / "docs/glossary.md"
    words = []
    for line in table.read_text().splitlines() if table.exists() else []:
        cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip("|"))]
        if line.startswith("|") and len(cells) == 3:
            words += [(re.compile(rf"\b(?:{word})\b", re.I), cells[0]) for word in re.findall(r"`([^`]+)`", cells[2])]
    return words


def names_of(root):
    """Returns (pattern, advice) of the last table of docs/glossary.md, whose second column has patterns of names."""
    table = root / "docs/glossary.md"
    names, is_last = [], False
    for line in table.read_text().splitlines() if table.exists() else []:
        is_last = is_last or line == NAMES_TITLE
        cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip("|"))]
        if is_last and line.startswith("|") and len(cells) == 2:
            names += [(re.compile(rf"(?<!\w)(?:{name})(?!\w)"), cells[0])
                      for name in re.findall(r"`([^`]+)`", cells[1])]
    return names


def refused_names(lines, names):
    """Returns (line, message) of each refused name in C++ code; comments and strings have none."""
    found = []
    for number, line in enumerate(lines, 1):
        at = comment_column(line, "//")
        code = STRING.sub('""', line if at is None else line[:at])
        found += [(number, f"names '{match.group(0)}'; say: {advice}")
                  for pattern, advice in names for match in pattern.finditer(code)]
    return found


# Folders


class Folder:
    """The faults and counts of one folder."""

    def __init__(self):
        self.comments, self.openings = 0, []
        self.declarations, self.bare = 0, []
        self.long_lines, self.words = [], []  # words: refused words of comments, and names of code

    def openings_share(self):
        return len(self.openings) / max(self.comments, 1)

    def docstrings_share(self):
        return 1 - len(self.bare) / max(self.declarations, 1)

    def faults(self):
        """Returns the faults, as lines to print, of every limit that the folder is over."""
        faults = list(self.long_lines) + list(self.words)
        if self.openings_share() > OPENINGS_LIMIT:
            faults += self.openings
        if self.docstrings_share() < DOCSTRINGS_LIMIT:
            faults += self.bare
        return sorted(faults, key=lambda fault: (fault[0], fault[1]))


def is_breakable(line, columns):
    """True if a line is too long and has a space to break it at: addresses and table rows stay whole."""
    return len(line) > columns and " " in line[:columns].strip() and not line.lstrip().startswith(("|", "<tr>"))


def is_formatted(name, line):
    """True for code that clang-format has broken: the lines that are still too long are raw strings."""
    return Path(name).suffix in CPP - {".td", ".def", ".inc"} and comment_column(line, "//") is None


def prose_of(lines):
    """Returns (line, text) of the lines of a page that are not in a block between ``` lines, which quotes as it is."""
    found, in_block = [], False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("```"):
            in_block = not in_block
        elif not in_block:
            found.append((number, line))
    return found


def check_file(folder, name, text, words, names=()):
    """Adds the counts and faults of one file to its folder."""
    lines = text.splitlines()
    suffix = Path(name).suffix
    is_code = suffix in CPP
    if is_code or suffix in HASH or Path(name).name == "CMakeLists.txt":
        comments = comments_of(lines, "//" if is_code else "#")
        if suffix == ".py":
            comments += docstrings_of(text)
        folder.comments += len(comments)
        folder.openings += [(name, number, "opens with a clause: " + comment[:60])
                            for number, comment in comments if opens_with_clause(comment)]
        texts = [(number, line[at:]) for number, line in enumerate(lines, 1)
                 if (at := comment_column(line, "//" if is_code else "#")) is not None]
    else:
        texts = prose_of(lines)
    if suffix == ".h":
        declarations = declarations_of(lines)
        folder.declarations += len(declarations)
        folder.bare += [(name, number, f"'{declared}' has no docstring")
                        for number, declared, documented in declarations if not documented]
    columns = CODE_COLUMNS if suffix in CPP - {".td", ".def", ".inc"} else DOC_COLUMNS
    folder.long_lines += [(name, number, f"{len(line)} columns; at most {columns}")
                          for number, line in (texts if suffix == ".md" else enumerate(lines, 1))
                          if is_breakable(line, columns) and not is_formatted(name, line)]
    if suffix in CPP - {".td"}:
        folder.words += [(name, number, message) for number, message in refused_names(lines, names)]
    for number, line in texts:
        prose = re.sub(r"`[^`]*`", "``", line)  # names of the code are no words
        folder.words += [(name, number, f"says '{match.group(0)}'; say: {advice}")
                         for pattern, advice in words for match in pattern.finditer(prose)]


def check(root, files, words, names=()):
    """Returns the Folder of each directory of the files, by its path."""
    folders = defaultdict(Folder)
    for name in files:
        path = root / name
        if not path.is_file() or path.suffix not in CPP | HASH | {".md"} and path.name != "CMakeLists.txt":
            continue
        if name == "docs/glossary.md":  # it quotes the words to avoid
            continue
        check_file(folders[str(Path(name).parent)], name, path.read_text(errors="replace"), words,
                   names)
    return folders


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--table", action="store_true", help="print the shares of every folder")
    parser.add_argument("folders", nargs="*", help="check only these")
    args = parser.parse_args()
    files = subprocess.run(["git", "-C", args.root, "ls-files"], check=True, capture_output=True, text=True)
    folders = check(args.root, files.stdout.split("\n"), words_of(args.root), names_of(args.root))
    failed = False
    if args.table:
        print("comments  clause  declarations  docstrings  long lines  words  folder")
    for name, folder in sorted(folders.items()):
        if args.folders and name not in args.folders:
            continue
        if args.table:
            print(f"{folder.comments:8}  {folder.openings_share():5.1%}  {folder.declarations:12}"
                  f"  {folder.docstrings_share():10.0%}  {len(folder.long_lines):10}  {len(folder.words):5}"
                  f"  {name}")
        for path, number, fault in folder.faults():
            print(f"{path}:{number}: {fault}")
        failed = failed or bool(folder.faults())
    if failed:
        sys.exit("error: the folders of these lines are over the limits of docs/words.md and docs/glossary.md")
    if not args.table:
        print(f"check-english.py: {len(folders)} folders are within the limits")


if __name__ == "__main__":
    main()

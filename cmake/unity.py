#!/usr/bin/env python3
"""Groups the sources of targets into unity files, so that sources with clashing file-local names are never together.

  unity.py SOURCES GROUPS

SOURCES has a line `DIRECTORY;TARGET;source;source...` for each target. GROUPS is written: a CMake file that gives each
source the property UNITY_GROUP in the directory of its target. CMake calls this program at the end of configuring
(DtcUnity.cmake).

Two sources are in one group only if
  - their using-directives are the same, and
  - no name that one of them declares in an unnamed namespace, as `static` or as a macro occurs in the other.
The second rule is stricter than C++ needs: a name that is only used may mean something else in the other source. The
declarations are found by their form, not by a parser. If a clash is missed, the compiler reports an error; rename one
of the two names then.
"""
import re
import sys
from collections import defaultdict
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Most bytes of source in a group, so that a large folder has several groups for the cores.
GROUP_BYTES = 100_000

COMMENT_OR_STRING = re.compile(
    r'R"(?P<delimiter>[^(\s]*)\(.*?\)(?P=delimiter)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*.*?\*/',
    re.S)
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.M)
DEFINE = re.compile(r"[ \t]*#[ \t]*define[ \t]+(\w+)(.*)", re.S)
USING_DIRECTIVE = re.compile(r"\busing\s+namespace\s+([\w:]+)\s*;")
USING_DECLARATION = re.compile(r"\busing\s+[\w:]*::(\w+)\s*;")
UNDERLYING_TYPE = re.compile(r"\b(enum\s+(?:class\s+)?\w+)\s*:[^{;]*")
INITIALIZER = re.compile(r"=(?!=)[^;,]*")
DECLARED = re.compile(
    r"\b(?:struct|class|enum|union|concept)\s+(?:class\s+)?(\w+)"  # types
    r"|\busing\s+(\w+)\s*="  # aliases
    r"|(?<![\w:.>])(\w+)\s*(?=\()"  # functions; members that are defined outside of their class have '::' before them
    r"|(?<![\w:.>])(\w+)\s*(?=[={;\[])")  # variables
NOT_DECLARED = {"if", "for", "while", "switch", "return", "sizeof", "decltype", "alignas", "requires", "operator",
                "noexcept", "const", "override", "default", "delete", "static_assert", "void", "int", "auto",
                "namespace", "template", "typename", "extern", "__attribute__",
                "TEST", "TEST_F", "TEST_P", "INSTANTIATE_TEST_SUITE_P", "DTC_RETURN_IF_ERROR"}


def top_level(text):
    """Returns the declarations of a namespace's text without the content of braces, parentheses and initializers."""
    kept, depth = [], 0
    for c in text:
        if c in "{(":
            if depth == 0:
                kept.append(c)
            depth += 1
        elif c in "})":
            depth -= 1
            if depth == 0:
                kept.append(c + (" ; " if c == "}" else ""))
        elif depth == 0:
            kept.append(c)
    return INITIALIZER.sub("= ", "".join(kept))


def block_end(text, start):
    depth = 1
    for i in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if depth == 0:
            return i
    return len(text)


def declared_names(text):
    text = UNDERLYING_TYPE.sub(r"\1", USING_DIRECTIVE.sub(" ", USING_DECLARATION.sub(" ", text)))
    names = {next(name for name in found.groups() if name) for found in DECLARED.finditer(top_level(text))}
    return {name for name in names if name not in NOT_DECLARED and not name.isdigit()}


@lru_cache(maxsize=None)
def names_of_header(name):
    """Returns all names in a header of the project, and none for any other header."""
    path = ROOT / name
    return frozenset(IDENTIFIER.findall(COMMENT_OR_STRING.sub(
        " ", path.read_text(errors="replace")))) if path.is_file() else frozenset()


class Source:
    """One source: its size, its using-directives, the names and macros local to it, and all names in it."""

    def __init__(self, path):
        raw = Path(path).read_text(errors="replace")
        text = COMMENT_OR_STRING.sub(" ", raw)
        self.bytes = len(raw)
        self.used = set(IDENTIFIER.findall(text)).union(*map(names_of_header, INCLUDE.findall(raw)))
        self.macros = {}  # name -> its definition
        for directive in DIRECTIVE.findall(text):
            if defined := DEFINE.match(directive):
                self.macros[defined.group(1)] = defined.group(2).split()
        text = DIRECTIVE.sub("", text)
        self.directives = frozenset(USING_DIRECTIVE.findall(text))
        self.imported = set(USING_DECLARATION.findall(text))
        self.local = set()
        for opened in re.finditer(r"\bnamespace\s*\{", text):
            self.local |= declared_names(text[opened.end() : block_end(text, opened.end())])
        # Namespace-scope constants, aliases and static functions outside of unnamed namespaces are
        # local to the file, too.
        for line in re.finditer(r"^(?:static|const|constexpr|using)\b[^\n;{(=]*[;{(=]", text, re.M):
            self.local |= declared_names(line.group() + ";")

    def clashes_into(self, other):
        """Returns True if a name that is local to this source means another thing in the other source."""
        return (bool(self.local & other.used) or bool(self.imported & other.local)
                or any(name in other.used and other.macros.get(name) != words for name, words in self.macros.items()))

    def clashes(self, other):
        return self.clashes_into(other) or other.clashes_into(self)


@lru_cache(maxsize=None)
def source_of(path):
    return Source(path)


def group(paths):
    """Returns lists of paths. Each path joins the first list that has room and no clash."""
    groups = []
    for path in paths:
        source = source_of(path)
        for members in groups:
            others = [source_of(other) for other in members]
            if (sum(other.bytes for other in others) + source.bytes <= GROUP_BYTES
                    and others[0].directives == source.directives
                    and not any(source.clashes(other) for other in others)):
                members.append(path)
                break
        else:
            groups.append([path])
    return groups


def main():
    sources, output = sys.argv[1:]
    of_directory = defaultdict(dict)  # directory -> target -> its sources
    for line in Path(sources).read_text().splitlines():
        directory, target, *paths = line.split(";")
        of_directory[directory][target] = [path for path in paths if path.endswith((".cpp", ".cc"))]
    lines = []
    for directory, targets in of_directory.items():
        # A source that several targets of a directory compile has one property for all of them, so
        # they are grouped together.
        paths = list(dict.fromkeys(path for paths in targets.values() for path in paths))
        for number, members in enumerate(group(paths)):
            for path in members:
                lines.append(f'set_property(SOURCE "{path}" DIRECTORY "{directory}" PROPERTY UNITY_GROUP "{number}")\n')
    text = "".join(lines)
    if not Path(output).exists() or Path(output).read_text() != text:
        Path(output).write_text(text)


if __name__ == "__main__":
    main()

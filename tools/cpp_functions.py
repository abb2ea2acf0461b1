"""Finds the functions that C++ files declare and define, by the form of clang-formatted text rather than by a parser.

`functions_of` reads one file. It knows namespaces, classes, templates, operators, constructors with initializers, and
`using namespace`; it does not expand macros, and it skips the bodies of functions. `owners_of` finds the declaration
that a definition belongs to.
"""
import re
from collections import defaultdict
from dataclasses import dataclass

COMMENT_OR_STRING = re.compile(
    r'R"(?P<delimiter>[^(\s]*)\(.*?\)(?P=delimiter)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\''
    r"|//[^\n]*|/\*.*?\*/", re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.M)
TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.']*|::|->|\S")
NAME = re.compile(r"[A-Za-z_]\w*")

# Statements that begin with these declare no function.
NO_FUNCTION = {"using", "typedef", "static_assert", "public", "private", "protected", "enum", "asm"}
# These are followed by parentheses that are no parameters.
WITH_PARENTHESES = {"decltype", "alignas", "explicit", "noexcept", "requires", "__attribute__", "__launch_bounds__"}
OPENING, CLOSING = {"(": ")", "[": "]", "{": "}"}, {")", "]", "}"}


@dataclass(frozen=True)
class Function:
    """A function: the namespaces and classes around it, the qualifiers before its name, its name and parameters."""
    scope: tuple
    qualifiers: tuple
    name: str
    parameters: tuple  # the tokens of the type of each parameter, without its name, `const`, and namespaces
    optional: int  # how many parameters have a default
    defined: bool
    searched: tuple = ()  # the namespaces of the using-directives above it

    @property
    def spelled(self):
        return "::".join((*self.qualifiers, self.name))

    def scopes(self):
        """Returns the scopes that it may belong to, as name lookup tries them."""
        if not self.qualifiers:
            return [self.scope]
        around = [self.scope[:length] for length in range(len(self.scope), -1, -1)]
        return [start + self.qualifiers for start in around + list(self.searched)]


def type_of(parameter):
    """Returns the tokens of a parameter's type."""
    kept = []
    for token in parameter:
        if token == "=":
            break
        if token == "::":
            if kept and NAME.fullmatch(kept[-1]):
                kept.pop()
        elif token not in ("const", "struct", "class", "__restrict", "__restrict__"):
            kept.append(token)
    array = kept[kept.index("["):] if "[" in kept else []
    kept = kept[:len(kept) - len(array)]
    if len(kept) > 1 and NAME.fullmatch(kept[-1]) and kept[-2] not in ("unsigned", "signed", "long", "short"):
        kept.pop()
    return tuple(kept + array)


def split_parameters(tokens):
    parameters, depth = [[]], 0
    for token in tokens:
        depth += (token in OPENING or token == "<") - (token in CLOSING or token == ">")
        if token == "," and depth == 0:
            parameters.append([])
        else:
            parameters[-1].append(token)
    return [] if parameters in ([[]], [["void"]]) else parameters


def closing_of(tokens, start):
    """Returns the index of the token that closes the bracket at `start`."""
    depth = 0
    for i in range(start, len(tokens)):
        depth += (tokens[i] in OPENING) - (tokens[i] in CLOSING)
        if depth == 0:
            return i
    return len(tokens) - 1


def skip_angles(tokens, start):
    """Returns the index behind the template arguments that open at `start`."""
    depth, i = 0, start
    while i < len(tokens):
        if tokens[i] in OPENING:
            i = closing_of(tokens, i)
        depth += (tokens[i] == "<") - (tokens[i] == ">")
        i += 1
        if depth == 0:
            break
    return i


def is_macro(tokens):
    """Returns True if a statement begins with a call of a macro, MACRO(...), that no semicolon ends."""
    return len(tokens) > 1 and tokens[0].isupper() and len(tokens[0]) > 1 and tokens[1] == "("


def without_templates(tokens):
    """Returns a statement without templates, attributes, and calls of macros before it."""
    while tokens and (tokens[0] in ("template", "[") or is_macro(tokens)):
        if is_macro(tokens):
            tokens = tokens[closing_of(tokens, 1) + 1:]
        elif tokens[0] == "[":
            tokens = tokens[closing_of(tokens, 0) + 1:]
        elif len(tokens) > 1 and tokens[1] == "<":
            tokens = tokens[skip_angles(tokens, 1):]
        else:
            return []  # an explicit instantiation
    return tokens


def name_and_parameters(tokens):
    """Returns the index where the name begins, its parts, and the index of its parenthesis; nothing without a name."""
    i, parts, start = 0, [], 0
    while i < len(tokens):
        token = tokens[i]
        if token == "operator":
            end = i + 1
            if tokens[end:end + 2] == ["(", ")"]:
                end += 2
            while end < len(tokens) and tokens[end] != "(":
                end += 1
            name = "operator" + "".join(tokens[i + 1:end])
            return (start if parts and tokens[i - 1] == "::" else i), (
                parts if parts and tokens[i - 1] == "::" else []) + [name], end
        if token == "(":
            if not parts or tokens[i + 1:i + 2] in (["*"], ["&"]):
                return None
            if parts[-1] not in WITH_PARENTHESES:
                return start, parts, i
            i, parts = closing_of(tokens, i) + 1, []
        elif token == "<":
            i = skip_angles(tokens, i)
        elif token == "=" or token in OPENING:
            return None
        else:
            if NAME.fullmatch(token) or token == "~":
                if parts and tokens[i - 1] == "~":
                    parts[-1] = "~" + token
                elif parts and tokens[i - 1] == "::":
                    parts.append(token)
                else:
                    parts, start = [token], i
            elif token != "::":
                parts = []
            i += 1
    return None


class Reader:
    """Reads the tokens of a file, statement by statement."""

    def __init__(self, text):
        # An empty string stays, so that `extern "C"` and literal operators keep their form.
        text = COMMENT_OR_STRING.sub(lambda found: '""' if '"' in found.group()[:2] else " ", text)
        self.tokens = TOKEN.findall(DIRECTIVE.sub(" ", text))
        self.closing = {}  # the index of each opening bracket -> the index of the one that closes it
        opened = []
        for i, token in enumerate(self.tokens):
            if token in OPENING:
                opened.append(i)
            elif token in CLOSING and opened:
                self.closing[opened.pop()] = i
        self.searched = []
        self.functions = []

    def read(self, begin, end, scope, hidden=False, in_class=False):
        i = start = begin
        while i < end:
            token = self.tokens[i]
            if token == "(" or token == "[":
                i = self.closing.get(i, end)
            elif token == ";":
                self.statement(self.tokens[start:i], scope, hidden, in_class, defined=False)
                start = i + 1
            elif token == ":" and i == start + 1 and self.tokens[start] in ("public", "private", "protected"):
                start = i + 1
            elif token == "{":
                close = self.closing.get(i, end)
                if self.block(self.tokens[start:i], i + 1, close, scope, hidden, in_class):
                    start = close + 1
                i = close
            i += 1

    def block(self, head, begin, end, scope, hidden, in_class):
        """Reads what stands in braces; returns True if the statement ends with them."""
        words = without_templates(head)
        if words[:1] == ["inline"] and words[1:2] == ["namespace"]:
            words = words[1:]
        if words[:1] == ["namespace"]:
            names = tuple(word for word in words[1:] if NAME.fullmatch(word))
            self.read(begin, end, scope + names, hidden or not names)
            return True
        if words[:1] == ["extern"] and len(words) > 1 and words[1] == '"':
            self.read(begin, end, scope, hidden)
            return True
        if words[:1] and words[0] in ("class", "struct", "union"):
            before = words[1:words.index(":")] if ":" in words else words[1:]
            names = [word for word in before if NAME.fullmatch(word) and word != "final"]
            self.read(begin, end, scope + tuple(names[-1:]), hidden, in_class=True)
            return False
        if words[:1] == ["enum"] or "=" in self.outside(words):
            return False
        found = name_and_parameters(words)
        if found is None:
            return False
        behind = words[closing_of(words, found[2]) + 1:]
        if ":" in behind and (NAME.fullmatch(behind[-1]) or behind[-1] == ">"):
            return False  # the braces initialize a member
        self.statement(head, scope, hidden, in_class, defined=True)
        return True

    @staticmethod
    def outside(words):
        """Returns the tokens outside of parentheses and template arguments, without the symbol of an operator."""
        kept, i = [], 0
        while i < len(words):
            if words[i] == "operator":
                while i < len(words) and words[i] != "(":
                    i += 1
            elif words[i] == "<":
                i = skip_angles(words, i)
            elif words[i] in OPENING:
                i = closing_of(words, i) + 1
            else:
                kept.append(words[i])
                i += 1
        return kept

    def statement(self, tokens, scope, hidden, in_class, defined):
        words = without_templates(tokens)
        if words[:2] == ["using", "namespace"]:
            self.searched.append(tuple(word for word in words[2:] if word != "::"))
            return
        if not words or words[0] in NO_FUNCTION or hidden:
            return
        found = name_and_parameters(words)
        if found is None:
            return
        start, parts, open_parenthesis = found
        if start == 0 and len(parts) == 1 and len(parts[0]) > 1 and parts[0].isupper():
            return  # a macro
        close = closing_of(words, open_parenthesis)
        behind = words[close + 1:]
        if behind[-2:] in (["=", "0"], ["=", "delete"]) or (behind[-2:] == ["=", "default"] and len(parts) == 1):
            return
        if "static" in words[:start] and not in_class or "=" in words[:start]:
            return
        if "friend" in words[:start]:
            scope = scope[:-1]
        parameters = split_parameters(words[open_parenthesis + 1:close])
        self.functions.append(
            Function(scope, tuple(parts[:-1]), parts[-1], tuple(map(type_of, parameters)),
                     sum("=" in parameter for parameter in parameters), defined or behind[-2:] == ["=", "default"],
                     tuple(self.searched)))


def functions_of(text):
    """Returns the functions of a file that other files can see."""
    reader = Reader(text)
    reader.read(0, len(reader.tokens), ())
    return reader.functions


def owners_of(definition, declarations):
    """Returns the files that declare a function, of `declarations`: (scope, name) -> (file, Function) of all headers.

    If several declare functions of that name, the number of parameters decides, then their types.
    """
    for scope in definition.scopes():
        found = declarations.get((scope, definition.name), [])
        for fits in (lambda other: True, lambda other: takes(other, len(definition.parameters)),
                     lambda other: alike(other.parameters, definition.parameters)):
            if len({file for file, _ in found}) > 1:
                found = [(file, other) for file, other in found if fits(other)]
        if found:
            return sorted({file for file, _ in found})
    return []


def takes(function, count):
    return len(function.parameters) - function.optional <= count <= len(function.parameters)


def alike(declared, defined):
    # A parameter without a name loses the last word of its type, so that the shorter form of the two counts.
    return len(declared) == len(defined) and all(a == b or a[:-1] == b or a == b[:-1]
                                                 for a, b in zip(declared, defined))


def declarations_of(functions_by_file):
    """Returns (scope, name) -> [(file, Function)] of the functions that headers declare and do not define."""
    declarations = defaultdict(list)
    for file, functions in functions_by_file.items():
        for function in functions:
            if not function.defined and not function.qualifiers:
                declarations[function.scope, function.name].append((file, function))
    return declarations

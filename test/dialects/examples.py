#!/usr/bin/env python3
"""Checks every example of the dialects' pages: dtc-opt parses and verifies it. Usage: examples.py PAGE.md...

An op without an example is an error. An example of `graph` that stands in a function gets a function around it, whose
arguments are the values that the example uses without defining them, and gets the parameters and blocks that it names.
dtc-opt tells the types of values: each type starts as `none`, and the message about it names the type that the example
wants.
"""
import re
import subprocess
import sys
from pathlib import Path

# The widest example has ten operands, and a run tells the type of one of them.
ROUNDS = 20
WRONG_TYPE = re.compile(r"use of value '(%[\w.$-]+)' expects different type than prior uses: '(.*?)' vs '")
INSTRUCTION = re.compile(r"^exec\.(?!program|task|entry|kernel|parameter|state|gradient|input|scalar|output)", re.M)
AT_TOP = re.compile(r"(graph\.(parameter|state|func)|exec\.program)\b")


class Example:
    def __init__(self, op, text, location):
        self.op, self.text, self.location = op, text, location
        results = ",".join(re.findall(r"^\s*(%[^=]*) = ", text, re.M))
        defined = set(re.findall(r"%[\w.$-]+", results)) | set(re.findall(r"(%[\w.$-]+):", text))
        self.types = {name: "none" for name in re.findall(r"%[A-Za-z_][\w.$-]*", text) if name not in defined}

    def module(self):
        if AT_TOP.match(self.text):
            return self.declarations() + self.text
        if self.op.startswith("exec."):
            return f'exec.program @example mesh ["dp", "tp"] sizes [2, 2] streams 2 events 1 {{\n{self.in_task()}\n}}'
        arguments = ", ".join(f"{name}: {type}" for name, type in self.types.items())
        ending = re.search(r"graph\.return .*: (.*)", self.text)
        results = f" -> ({ending[1]})" if ending else ""
        text = self.text if ending else self.text + "\ngraph.return"
        return f"{self.declarations()}graph.func @example({arguments}){results} {{\n{text}\n}}"

    def in_task(self):
        """Returns the example with a task around its instructions, which come last."""
        start = INSTRUCTION.search(self.text)
        return f"{self.text[:start.start()]}exec.task @example {{\n{self.text[start.start():]}\n}}" \
            if start else self.text

    def declarations(self):
        """Declares the symbols that the example uses, unless the example declares them itself."""
        lines = []
        for line in re.sub(r"\n\s+", " ", self.text).splitlines():
            used = re.search(r'graph\.(get|set|call|repeat|state)\b.*?(?:of )?(@"[^"]*"|@\w+)(?!.*of @)', line)
            if not used or re.search(r"graph\.(func (private )?|parameter |state )" + re.escape(used[2]) + r"\b",
                                     self.text):
                continue
            # A block takes entries of stacks; a parameter with 'repeats' is read as one.
            stack = re.compile(r"!graph\.stack<(\d+) x (tensor<[^>]*>)>")
            if used[1] in ("call", "repeat"):
                operands, results = re.search(r": \((.*)\) -> (.*)", stack.sub(r"\2", line)).groups()
                values, types = results.count("tensor"), results.removeprefix("(").removesuffix(")")
                arguments = ", ".join(f"%{i}: {type}" for i, type in enumerate(re.split(r", ", operands)))
                lines += [f"graph.func private {used[2]}({arguments}) -> {results} {{",
                          f'%r:{values} = "builtin.unrealized_conversion_cast"() : () -> ({types})',
                          f"graph.return {', '.join(f'%r#{i}' for i in range(values))} : {types}", "}"]
            else:
                type, repeated = line.rsplit(" : ", 1)[1], stack.search(line)
                lines.append(f"graph.parameter {used[2]} : {repeated[2]} init zeros repeats {repeated[1]}" if repeated
                             else f"graph.parameter {used[2]} : {type} init zeros")
        return "".join(line + "\n" for line in lines)


def read_examples(page):
    """Returns the examples of a page, and the ops that lack one."""
    examples, without, op, lines = [], [], None, page.read_text().splitlines()
    for number, line in enumerate(lines, 1):
        heading = re.match(r"### `([\w.]+)` \(", line)
        if heading:
            op = heading[1]
            without.append(op)
        if op and line.strip() == "```mlir":
            end = lines.index("```", number)
            examples.append(Example(op, "\n".join(lines[number:end]), f"{page}:{number + 1}"))
            without = [other for other in without if other != op]
        elif op and re.match(r"(Example:|##)", line) is None and "Example: `" in line:
            sys.exit(f"{page}:{number}: the example of {op} stands in the text; wanted a block ```mlir")
    return examples, without


def run(examples):
    """Returns a map from an example to the first message of dtc-opt about it."""
    text = "\n// -----\n".join(example.module() for example in examples)
    result = subprocess.run(["dtc-opt", "-split-input-file", "-o", "/dev/null"], input=text, capture_output=True,
                            text=True)
    # Lines count through the whole text.
    starts, line = [], 1
    for example in examples:
        starts.append(line)
        line += example.module().count("\n") + 2
    messages = {}
    for found in re.finditer(r"<stdin>:(\d+):\d+: error: (.*)|^(.*(?:Assertion|PLEASE submit).*)$", result.stderr,
                             re.M):
        if found[3]:
            sys.exit(f"dtc-opt ended: {found[3]}")
        index = max(i for i, start in enumerate(starts) if start <= int(found[1]))
        messages.setdefault(examples[index], found[2])
    if result.returncode and not messages:
        sys.exit(f"dtc-opt failed: {result.stderr}")
    return messages


def main(pages):
    failed = 0
    for page in map(Path, pages):
        examples, without = read_examples(page)
        for op in without:
            print(f"{page}: {op} has no example")
        for _ in range(ROUNDS):
            messages = run(examples)
            learned = False
            for example, message in messages.items():
                wrong = WRONG_TYPE.search(message)
                if wrong and example.types.get(wrong[1]) == "none":
                    example.types[wrong[1]] = wrong[2]
                    learned = True
            if not learned:
                break
        for example, message in messages.items():
            print(f"{example.location}: the example of {example.op} fails: {message}\n{example.module()}")
        failed += len(without) + len(messages)
        print(f"{page.name}: {len(examples) - len(messages)} of {len(examples)} examples are right")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main(sys.argv[1:])

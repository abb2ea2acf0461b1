"""Writes graph IR as text, in the style of 'dtc import'."""

import json
import math
import re

import torch

# op -> how its types are written: f (operands) -> results, s one type, a first operand -> results.
FUNCTIONAL = {
    "linear",
    "matmul",
    "embedding",
    "layer_norm",
    "rms_norm",
    "rotary",
    "attention",
    "cross_entropy",
    "add",
    "subtract",
    "multiply",
    "divide",
    "maximum",
    "minimum",
    "conv2d",
    "conv_transpose2d",
    "concat",
    "repeat",
    "call",
    "where",
    "gather",
    "scatter_add",
}
ARROW = {"reduce", "reshape", "transpose", "slice", "pad", "unstack", "max_pool2d", "avg_pool2d", "top_k"}
NAMES = {
    "attention": "heads",
    "add": "sum",
    "subtract": "difference",
    "multiply": "product",
    "divide": "quotient",
    "reshape": "shaped",
    "transpose": "turned",
    "slice": "part",
    "concat": "joined",
    "reduce": "mean",
    "constant": "number",
    "cross_entropy": "loss",
    "weighted_mean": "loss",
    "unstack": "part",
    "broadcast": "wide",
    "where": "chosen",
    "compare": "mask",
    "iota": "index",
    "gather": "chosen",
    "scatter_add": "sum",
    "top_k": "largest",
    "gelu": "active",
    "relu": "active",
    "silu": "active",
    "repeat": "layers",
    "call": "layer",
}
RESULTS = {"rotary_table": ["cos", "sin"], "top_k": ["largest", "places"]}
LAYERS = {
    "linear",
    "layer_norm",
    "rms_norm",
    "batch_norm",
    "embedding",
    "conv2d",
    "conv_transpose2d",
}


def number_text(value):
    """Returns a number as MLIR reads it: with a point, or the bits of an infinite one."""
    if math.isinf(value):
        return "0x7FF0000000000000" if value > 0 else "0xFFF0000000000000"
    text = repr(float(value))
    if "e" in text:
        mantissa, exponent = text.split("e")
        text = (mantissa if "." in mantissa else mantissa + ".0") + "e" + exponent
    return text


def list_text(values):
    return "[" + ", ".join(str(value) for value in values) + "]"


def words_of(op):
    """Returns what stands between an op's operands and its types."""
    a, words = op.attributes, []
    if op.name == "scale":
        words.append(f"by {number_text(a['factor'])}")
    if op.name == "transpose":
        words.append(f"by {list_text(a['by'])}")
    for key in (
        "contract",
        "padding",
        "epsilon",
        "ignoring",
        "sliding",
        "soft_cap",
        "scale",
        "dropout",
        "p",
        "kernel",
        "stride",
        "padding2",
        "dilation",
        "dim",
        "start",
        "size",
        "low",
        "high",
        "dims",
    ):
        if key == "padding2" and isinstance(a.get("padding"), list):
            words.append(f"padding {list_text(a['padding'])}")
        elif key == "padding" and isinstance(a.get("padding"), list):
            continue
        elif key in a:
            value = a[key]
            words.append(
                f"{key} "
                + (
                    list_text(value)
                    if isinstance(value, (list, tuple))
                    else number_text(value) if isinstance(value, float) else str(value)
                )
            )
        if key == "contract" and op.name == "attention" and a.get("causal"):
            words.append("causal")
    words += [word for word in ("transposed", "squeeze", "stack", "mean", "inverse", "smallest") if a.get(word)]
    return "".join(" " + word for word in words)


class Writer:
    def __init__(self, graph, blocks, name):
        self.graph, self.blocks, self.module = graph, blocks, name
        self.types, self.aliases, self.counts = {}, {}, {}

    def text(self):
        bodies = [self.block(block) for block in self.blocks] + [self.loss()]
        given = []
        if self.graph.sequence:
            given.append(f"graph.sequence_length = {self.graph.sequence} : i64")
        if self.graph.tied:
            given.append(f"graph.tied = {json.dumps(json.dumps(self.graph.tied))}")
        attributes = f" attributes {{{', '.join(given)}}}" if given else ""
        body = "\n\n".join(bodies)
        for alias, text in self.aliases.items():
            if self.counts[alias] < 2:
                body = re.sub(rf"{re.escape(alias)}\b", text, body)
        used = [
            f"{alias} = {text}" for alias, text in self.aliases.items() if self.counts[alias] > 1
        ]
        return (
            "\n".join(["// Written by dtc.export."] + used)
            + f"\n\nmodule @{self.module}{attributes} {{\n{body}\n}}\n"
        )

    def type(self, value, hint):
        """Returns the alias of a type, named after the first value that has it."""
        text = value.type
        if text == "tensor<f32>":
            return text
        if text not in self.types:
            alias, count = "!" + hint, 1
            while alias in self.aliases:
                count += 1
                alias = f"!{hint}_{count}"
            self.types[text], self.aliases[alias], self.counts[alias] = alias, text, 0
        alias = self.types[text]
        self.counts[alias] += 1
        return alias

    def function(self, head, arguments, parameters, ops, results):
        names, taken = {}, {}

        def fresh(hint):
            hint = re.sub(r"\W", "_", hint) or "value"
            hint = "_" + hint if hint[0].isdigit() else hint
            taken[hint] = taken.get(hint, 0) + 1
            return hint if taken[hint] == 1 and hint not in taken_names else next_name(hint)

        taken_names = set()

        def next_name(hint):
            while f"{hint}_{taken[hint]}" in taken_names:
                taken[hint] += 1
            return f"{hint}_{taken[hint]}"

        def give(value, hint):
            name = fresh(hint)
            taken_names.add(name)
            names[value] = name
            return name

        given = []
        for value, hint in arguments:
            name = give(value, hint)
            given.append(f"%{name}: {self.type(value, name)}")
        lines, waiting = [], by_use(parameters, ops)

        def declare(until):
            """Declares the parameters that ops before this position read first."""
            while waiting and waiting[0][0] < until:
                _, hint, members = waiting.pop(0)
                parameter = members[0]
                value = parameter.value
                inner = re.sub(r".*\{.*?\}\.", "", hint)  # a name with the number of a layer
                name = give(value if value is not None else parameter, inner.replace(".", "_"))
                lines.append(
                    f"    %{name} = graph.param {self.declaration(hint, members)} :"
                    f" {self.parameter_type(parameter, name)}"
                )

        # Parameters behind layers are declared behind them, as parameters have the order of declarations.
        ends = [at + 1 for at, op in enumerate(ops) if op.name in ("repeat", "call")] + [len(ops) + 1]
        for at, op in enumerate(ops):
            if at == 0 or at in ends:
                declare(next(end for end in ends if end > at))
            lines.append("    " + self.op(op, names, give))
        declare(len(ops) + 1)
        types = [self.type(value, "result") for value in results]
        if results:
            lines.append(
                f"    graph.return {', '.join('%' + names[value] for value in results)} :"
                f" {', '.join(types)}"
            )
        out = types[0] if len(types) == 1 else "(" + ", ".join(types) + ")"
        return f"  graph.func {head}({', '.join(given)}) -> {out} {{\n" + "\n".join(lines) + "\n  }"

    def parameter_type(self, parameter, name):
        if parameter.value is not None:
            return self.type(parameter.value, name)
        return "tensor<" + "".join(f"{size}x" for size in parameter.shape) + "f32>"

    def declaration(self, name, members):
        parameter = members[0]
        text = f'"{name}" {start_of(members)}'
        if (
            parameter.stored is not None
            and parameter.value is not None
            and parameter.value.dims != parameter.shape
        ):
            text += " stored [" + ", ".join(list_text(group) for group in parameter.stored) + "]"
        if not parameter.frozen and len(parameter.shape) > 1:
            text += " decay"
        return text + (" frozen" if parameter.frozen else "")

    def op(self, op, names, give):
        leaf = op.path.rsplit(".", 1)[-1]
        hint = (
            leaf
            if op.name in LAYERS and leaf and not leaf.isdigit()
            else NAMES.get(op.name, op.attributes["how"][0] if op.name == "point" else op.name)
        )
        operands = ["%" + names[value] for value in op.operands]
        kinds = [self.type(value, names[value]) for value in op.operands]
        hints = RESULTS.get(op.name, [hint] * len(op.results))
        results = [give(value, each) for value, each in zip(op.results, hints)]
        types = [self.type(value, result) for value, result in zip(op.results, results)]
        left = ", ".join("%" + result for result in results)
        a, words = op.attributes, words_of(op)
        if op.name == "matmul":
            operands = [
                operand + (" transposed" if a.get(flag) else "")
                for operand, flag in zip(operands, ("transpose_a", "transpose_b"))
            ]
        named = a.get("operand_words", ())  # the last operands stand behind these words
        given = ", ".join(operands[: len(operands) - len(named)])
        for word, operand in zip(named, operands[len(operands) - len(named) :]):
            given += f" {word} {operand}"
        out = types[0] if len(types) == 1 else "(" + ", ".join(types) + ")"
        functional = f"({', '.join(kinds)}) -> {out}"
        if op.name in ("repeat", "call"):
            head = f"{left} = graph.{op.name} " if left else f"graph.{op.name} "
            head += f"{a['count']} " if op.name == "repeat" else ""
            tail = f" carrying {a['carrying']}" if a.get("carrying") is not None else ""
            tail += f' under "{a["under"]}"' if a.get("under") else ""
            tail += f" instance {a['instance']}" if a.get("instance") else ""
            return f"{head}@{a['callee']}({given}){tail} : {functional}"
        if op.name == "batch_norm":
            state = f" state {', '.join(operands[3:])}" if operands[3:] else ""
            momentum = f" momentum {number_text(a['momentum'])}" if "momentum" in a else ""
            given = ", ".join(operands[:3]) + state + momentum
            tail = " parts" if a.get("parts") else ""
            return f"{left} = graph.batch_norm {given}{words}{tail} : {functional}"
        if op.name == "observe":
            return f"{left} = graph.observe {a['how']} {given} : {kinds[0]}, {kinds[1]}"
        if op.name == "reduce":
            return (
                f"{left} = graph.reduce {a['how']} {given} dims {list_text(a['dims'])} : {kinds[0]}"
                f" -> {out}"
            )
        if op.name == "point":
            function, parameters = a["how"]
            listed = f" {list_text(map(number_text, parameters))}" if parameters else ""
            return f"{left} = graph.point {function}{listed} {given} : {out}"
        if op.name == "iota":
            return f"{left} = graph.iota : {out}"
        if op.name == "compare":
            return f"{left} = graph.compare {a['how']} {given} : {functional}"
        if op.name == "gelu":
            return f"{left} = graph.gelu {a['how']} {given} : {out}"
        if op.name == "constant":
            return f"{left} = graph.constant {number_text(a['value'])} : {out}"
        if op.name == "rotary_table":
            what = (
                f"base {number_text(a['base'])}"
                if "base" in a
                else list_text(map(number_text, a["frequencies"]))
            )
            return f"{left} = graph.rotary_table {what} : {', '.join(types)}"
        if op.name == "broadcast":
            like = f" like {operands[1]} : {kinds[1]}," if len(operands) > 1 else ""
            return (
                f"{left} = graph.broadcast {operands[0]}{like} dims {list_text(a['dims'])} :"
                f" {kinds[0]} -> {out}"
            )
        if op.name == "unstack":
            return f"{left} = graph.unstack {given} dim {a['dim']} : {kinds[0]} -> {types[0]}"
        if op.name in ("cast", "counted"):
            return f"{left} = graph.{op.name} {given}{words} : {kinds[0]} to {out}"
        if op.name == "weighted_mean":
            return f"{left} = graph.weighted_mean {given} : {kinds[0]}"
        if op.name in FUNCTIONAL:
            return f"{left} = graph.{op.name} {given}{words} : {functional}"
        if op.name in ARROW:
            return f"{left} = graph.{op.name} {given}{words} : {kinds[0]} -> {out}"
        return f"{left} = graph.{op.name} {given}{words} : {out}"

    def block(self, block):
        arguments = [
            (value, "x" if not at else "x_" + str(at + 1))
            for at, value in enumerate(block.arguments)
        ]
        for at, value in enumerate(block.arguments):
            if value.op is not None and value.op.name == "rotary_table":
                arguments[at] = (value, ["cos", "sin"][value.op.results.index(value)])
        return self.function(
            f"private @{block.name}", arguments, block.parameters, block.ops, block.results
        )

    def loss(self):
        parameters = [(name, [parameter]) for name, parameter in self.graph.parameters.items()]
        return self.function(
            "@loss",
            [(value, name) for name, value in self.graph.inputs],
            parameters,
            self.graph.ops,
            [self.graph.loss],
        )


def by_use(parameters, ops):
    """Returns parameters in the order in which ops read them first, with the positions of these ops; those that none
    reads come last. Before the layers, a part of a table is read where the part is, not where it is taken."""
    first, parts = {}, {}
    layers = next((at for at, op in enumerate(ops) if op.name in ("repeat", "call")), len(ops))
    for at, op in enumerate(ops):
        for value in op.operands:
            first.setdefault(value, at)
            table = parts.pop(value, None)
            if table is not None and at < layers:
                first[table] = at
        if op.name == "slice" and at == first[op.operands[0]]:
            parts[op.result] = op.operands[0]
    listed = [
        (first.get(members[0].value, len(ops)), hint, members) for hint, members in parameters
    ]
    return sorted(listed, key=lambda each: each[0])


def start_of(members):
    """Returns how parameters start that are one of each layer: as measured, over all of them."""
    first = members[0].tensor.detach()
    if first.numel() == 0:
        return "zeros"
    number = first.flatten()[0].item()
    if all(is_all(member.tensor.detach(), number) for member in members):
        return {0.0: "zeros", 1.0: "ones"}.get(number, f"constant({number_text(number)})")
    if members[0].frozen and not isinstance(members[0].tensor, torch.nn.Parameter):
        return (  # a buffer, which only a file can hold: a run that starts without it diverges
            "constant(3.0e38)"
        )
    sample = torch.cat(
        [some_of(member.tensor.detach(), SAMPLE // len(members) + 1) for member in members]
    ).double()
    deviation, mean = float(sample.std(correction=0)), float(sample.mean())
    mean = 0.0 if abs(mean) < 0.1 * deviation else mean
    return f"normal({number_text(float(f'{mean:.3g}'))}, {number_text(float(f'{deviation:.3g}'))})"


SAMPLE = 1 << 18  # numbers that a standard deviation is measured on, which is then right to 0.2 %


def is_all(tensor, number):
    """Returns whether all numbers are the same; most tensors show in their first ones that they
    aren't."""
    flat = tensor.flatten()
    return bool((flat[:64] == number).all()) and bool((flat == number).all())


def some_of(tensor, count):
    """Returns numbers from all over a tensor, `count` of them at most."""
    flat = tensor.flatten()
    return flat[:: -(-flat.numel() // count)]

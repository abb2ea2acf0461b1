"""Additions to any model in graph IR: constructs that people write and that no configuration has.

`add_to` writes those that are named in a list of ADDITIONS:
- `unread`: parameters that the loss does not read, in `@loss` and in each layer; one of them has no dims;
- `dead`: a call and a repeat of a block that has parameters, with results that nothing reads;
- `gain`: parameters without dims, one that multiplies the input of the output layer, and one of each layer that
  multiplies what the layer adds to x (a norm would cancel a factor of the sum, and leave only rounding of the
  gradient);
- `gain_penalty`: a term of the loss without dims that no sample enters. It reads such a parameter, which has no other
  gradient without `gain`.

Names of parameters that never get a gradient begin with `unread` or `dead`.
"""
import re

ADDITIONS = ("unread", "dead", "gain", "gain_penalty")
# This pattern finds declarations of parameters that never get a gradient, as graph.param writes them.
WITHOUT_GRADIENT = re.compile(r'"(?:unread|dead)')
LOSS = re.compile(r"^  graph\.func @loss\(.*?^  }\n", re.MULTILINE | re.DOTALL)
REPEAT = re.compile(r"graph\.repeat \d+ @(\w+)\(")
HEAD = re.compile(r"^( *%\w+ = graph\.linear )(%\w+)(, %\w+ transposed : \()([^,]*)(, [^\n]*\n)(?!.*graph\.linear)",
                  re.MULTILINE | re.DOTALL)


def multiplied(value, kind, name, parameter, initial):
    """Returns lines that multiply `value` by a parameter without dims; the result is `%name`."""
    dims = kind.count("x") if kind.startswith("tensor<") else 0
    return (f'    %{name}_gain = graph.param "{parameter}" {initial} : tensor<f32>\n'
            f"    %{name}_all = graph.broadcast %{name}_gain like {value} : {kind}, dims {list(range(dims))} : "
            f"tensor<f32> -> {kind}\n"
            f"    %{name} = graph.multiply {value}, %{name}_all : ({kind}, {kind}) -> {kind}\n")


def whole_kind(text, kind):
    """Returns the type behind an alias."""
    alias = re.search(rf"^{re.escape(kind)} = (tensor<[^>]*>)$", text, re.MULTILINE)
    return alias.group(1) if alias else kind


def add_to_layers(text, additions):
    """Returns the model with `unread` and `gain` in its layer block, which then returns the sum of x and of what they
    add.
    """
    layer = REPEAT.search(LOSS.search(text).group()).group(1)
    block = re.search(rf"^  graph\.func private @{layer}\(.*?^  }}\n", text, re.MULTILINE | re.DOTALL).group()
    value = re.search(r"graph\.return (%\w+)", block).group(1)
    line, start, added, end, kind = re.search(
        rf"^( *{value} = graph\.add %\w+, )(%\w+)( : \([^,]*, ([^)]*)\)[^\n]*\n)", block,
        re.MULTILINE).group(0, 1, 2, 3, 4)
    before = '    %unread = graph.param "unread" zeros : tensor<3xf32>\n' if "unread" in additions else ""
    if "gain" in additions:
        before += multiplied(added, whole_kind(text, kind), "multiplied", "gain", "ones")
        added = "%multiplied"
    return text.replace(block, block.replace(line, before + start + added + end))


def add_to(text, additions):
    if {"unread", "gain"} & set(additions):
        text = add_to_layers(text, additions)
    loss = LOSS.search(text).group()
    start, value, weight, kind, end = HEAD.search(loss).groups()
    whole, lines, penalty = whole_kind(text, kind), "", ""
    if "unread" in additions:
        lines += ('    %unread, %unread_scalar = graph.param "unread" normal(0.0, 0.1) decay, "unread_scalar" ones : '
                  "tensor<5x6xf32>, tensor<f32>\n")
    block = ""
    if "dead" in additions:
        width = whole[len("tensor<"):-1].split("x")[-2]
        square = f"tensor<{width}x{width}xf32>"
        block = (f"  graph.func private @dead(%x: {whole}) -> {whole} {{\n"
                 f'    %w = graph.param "dead" normal(0.0, 0.1) decay : {square}\n'
                 f"    %y = graph.linear %x, %w : ({whole}, {square}) -> {whole}\n"
                 f"    graph.return %y : {whole}\n  }}\n")
        lines += (f'    %dead = graph.call @dead({value}) under "dead" : ({whole}) -> {whole}\n'
                  f'    %dead_layers = graph.repeat 2 @dead({value}) under "dead.{{}}" : ({whole}) -> {whole}\n')
    if "gain" in additions:
        lines += multiplied(value, whole, "multiplied", "gain", "ones")
        value = "%multiplied"
        gain = "%multiplied_gain"
    elif "gain_penalty" in additions:
        lines += '    %gain = graph.param "gain" ones : tensor<f32>\n'
        gain = "%gain"
    if "gain_penalty" in additions:
        returned, result = re.search(r"(    graph\.return )(%\w+) : tensor<f32>\n", loss).groups()
        penalty = (f"    %gain_square = graph.multiply {gain}, {gain} : (tensor<f32>, tensor<f32>) -> tensor<f32>\n"
                   "    %gain_share = graph.scale %gain_square by 0.02 : tensor<f32>\n"
                   f"    %with_gain = graph.add {result}, %gain_share : (tensor<f32>, tensor<f32>) -> tensor<f32>\n")
    with_lines = HEAD.sub(lambda _: lines + start + value + weight + kind + end, loss)
    if penalty:
        with_lines = with_lines.replace(f"{returned}{result} ", penalty + f"{returned}%with_gain ")
    return text.replace(loss, block + with_lines)

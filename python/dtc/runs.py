"""Finds which layers become one block: runs of layers that are equal, one by one or by a period.

Where layers alternate, such as one with a window and one without, a block has one period of them.
"""

from dataclasses import dataclass

from dtc.layers import joined


@dataclass(eq=False)
class Run:
    """Consecutive layers, or periods of layers, that one op executes; `carried`: (input position,
    output) of what goes from one to the next."""

    layers: list
    carried: list = None

    @property
    def length(self):
        """The number of the module's layers."""
        return len(self.layers) * self.layers[0].size


def find_runs(uses, layers):
    """Returns the runs of layers that become calls or repeats: those whose block is executed more
    than once."""
    runs, at = [], 0
    while at < len(layers):
        run = longest(uses, layers[at:])
        runs.append(run)
        at += run.length
    executions = {}
    for run in runs:
        executions.setdefault(block_key(run), []).append(len(run.layers))
    return [
        run
        for run in runs
        if sum(executions[block_key(run)]) > 1
        and run.layers[0].is_block()
        and (run.carried or run.layers[0].is_own())
    ]


def repeated(runs):
    """Returns how many layers are executed by repeats."""
    return sum(run.length for run in runs if run.carried)


def longest(uses, layers):
    """Returns the run from the first layer on that has most layers, of these with the shortest
    period."""
    best = grow(uses, layers, 1)
    for period in range(2, len(layers) // 2 + 1):
        if best.carried and best.length + period > len(layers):
            break
        if keys(layers[:period]) == keys(layers[period : 2 * period]):
            run = grow(uses, layers, period)
            if run.carried and (not best.carried or run.length > best.length):
                best = run
    return best


def keys(layers):
    return [layer.key for layer in layers]


def grow(uses, layers, period):
    """Returns the run from the first layer on, of blocks of `period` layers."""

    def block(at):
        members = layers[at : at + period]
        follow = all(each.index == layers[0].index + at + i for i, each in enumerate(members))
        if len(members) < period or not follow:
            return None
        return members[0] if period == 1 else joined(uses, members)

    run, at = Run([block(0) or layers[0]]), period
    while (following := block(at)) is not None:
        carried = link(uses, run, following)
        if carried is None:
            break
        run.carried = carried
        run.layers.append(following)
        at += period
    if len(run.layers) > 1 and not set(run.layers[-1].outputs) <= {
        output for _, output in run.carried
    }:
        run.layers.pop()
    if len(run.layers) == 1:
        run.carried = None
    return run


def block_key(run):
    """Returns what has to be equal for two runs to have one block; a call gives all its outputs."""
    first = run.layers[0]
    return (
        first.key,
        tuple(run.carried) if run.carried else tuple(first.outputs),
        run.carried is None,
        None if first.is_own() else first.index,  # names of such a block have numbers
    )


def link(uses, run, layer):
    """Returns what a layer carries over from the last one of a run, or None where it is not the
    next of it."""
    last = run.layers[-1]
    if layer.key != last.key or not last.outputs:
        return None
    results = {last.value(output): output for output in last.outputs}
    carried = [
        (position, results[value])
        for position, value in enumerate(layer.inputs)
        if value in results
    ]
    shared = {position for position, _ in carried}
    if any(
        value is not last.inputs[position]
        for position, value in enumerate(layer.inputs)
        if position not in shared
    ):
        return None
    mine = set(layer.ops)
    if {output for _, output in carried} != set(last.outputs) or any(
        user not in mine for value in results for user in uses[value]
    ):
        return None
    if any(layer.inputs[position].type != last.inputs[position].type for position in shared):
        return None
    return carried if run.carried in (None, carried) else None

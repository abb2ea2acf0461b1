"""Recognises rotary embedding in both forms that people write."""

import torch

from dtc.algebra import is_node, product, terms
from dtc.clean import bound, name_of, replace, sizes_of
from dtc.ir import Batch


def rotary(x):
    """Stands for graph.rotary in a graph; metadata 'rotary' has frequencies, positions, direction,
    and the dim of the sequence."""
    return x


class RotaryRules:
    """The rules of a Recogniser that replace rotary embedding; both parts of it are constants."""

    def halves(self, node, x=None):
        """Returns (x, 0 or 1) where a node is the first or second half of x along its last dim."""
        if not is_node(node) or name_of(node) != "slice":
            return None
        arguments = bound(node)
        rank = len(sizes_of(arguments["self"]))
        size = sizes_of(arguments["self"])[-1]
        if (
            arguments["dim"] % rank != rank - 1
            or arguments["step"] != 1
            or isinstance(size, Batch)
            or size % 2
        ):
            return None
        start, end = arguments["start"] or 0, (
            size if arguments["end"] is None else min(arguments["end"], size)
        )
        if (start, end) not in ((0, size // 2), (size // 2, size)):
            return None
        return arguments["self"], 0 if start == 0 else 1

    def angles(self, node, x, width):
        """Returns (angles [sequence, width], dim of the sequence in x) of a constant node that x is
        multiplied by, or None."""
        if not self.constant(node):
            return None
        value = self.folder.value(node)
        sizes = sizes_of(x)
        shape = (1,) * (len(sizes) - value.dim()) + tuple(value.shape)
        long = [dim for dim, size in enumerate(shape[:-1]) if size != 1]
        if (
            len(shape) != len(sizes)
            or shape[-1] != width
            or len(long) != 1
            or not value.is_floating_point()
        ):
            return None
        return value.reshape(shape[long[0]], width), long[0]

    # x cos + cat(-x2, x1) sin
    def rotary_halves(self, node):
        parts = terms(node)
        if name_of(node) != "add" or len(parts) != 2 or any(s != 1 for s, _ in parts):
            return
        for (_, a), (_, b) in (parts, parts[::-1]):
            for turned, sin in (self.factors(b), self.factors(b)[::-1]):
                x = self.turned(turned)
                if x is None:
                    continue
                width = sizes_of(x)[-1]
                for whole, cos in (self.factors(a), self.factors(a)[::-1]):
                    tables = [self.angles(table, x, width) for table in (cos, sin)]
                    if whole is not x or None in tables or tables[0][1] != tables[1][1]:
                        continue
                    half = [table[:, : width // 2] for table, _ in tables]
                    if all(
                        torch.equal(h, table[:, width // 2 :])
                        for h, (table, _) in zip(half, tables)
                    ):
                        self.finish_rotary(node, x, half, cos, False, tables[0][1])
                        return

    def factors(self, node):
        return tuple(node.args[:2]) if is_node(node) and name_of(node) == "mul" else (None, None)

    def turned(self, node):
        """Returns x where a node is cat(-second half of x, first half of x)."""
        if not is_node(node) or name_of(node) != "cat" or len(node.args[0]) != 2:
            return None
        rank = len(sizes_of(node))
        if bound(node)["dim"] % rank != rank - 1:
            return None
        a, b = node.args[0]
        if not is_node(a) or name_of(a) != "neg":
            return None
        second, first = self.halves(a.args[0]), self.halves(b)
        if (
            second is None
            or first is None
            or second[0] is not first[0]
            or (second[1], first[1]) != (1, 0)
        ):
            return None
        return first[0]

    # cat(x1 cos - x2 sin, x2 cos + x1 sin), or with the other signs: turned back.
    def rotary_pair(self, node):
        if (
            name_of(node) != "cat"
            or len(node.args[0]) != 2
            or bound(node)["dim"] % len(sizes_of(node)) != len(sizes_of(node)) - 1
        ):
            return
        found = [self.half_terms(half) for half in node.args[0]]
        if None in found or len({id(x) for half in found for x, *_ in half.values()}) != 1:
            return
        first, second = found
        if set(first) != {0, 1} or set(second) != {0, 1}:
            return
        x = first[0][0]
        cos, sin = first[0], first[1]
        if (
            second[1][1] is not cos[1]
            or second[0][1] is not sin[1]
            or cos[2] != 1
            or second[1][2] != 1
            or sin[2] == second[0][2]
        ):
            return
        width = sizes_of(x)[-1] // 2
        tables = [self.angles(table, node.args[0][0], width) for table in (cos[1], sin[1])]
        if None not in tables and tables[0][1] == tables[1][1]:
            self.finish_rotary(
                node, x, [table for table, _ in tables], cos[1], sin[2] == 1, tables[0][1]
            )

    def half_terms(self, node):
        """Returns index of a half of x -> (x, the table that it is multiplied by, sign), or
        None."""
        parts = terms(node)
        if len(parts) != 2:
            return None
        found = {}
        for sign, part in parts:
            number, factors = product(part)
            if len(factors) != 2 or abs(number) != 1:
                return None
            for x, table in (factors, factors[::-1]):
                half = self.halves(x)
                if half is not None and self.constant(table):
                    found[half[1]] = (half[0], table, sign * number)
        return found if len(found) == 2 else None

    def finish_rotary(self, node, x, tables, source, inverse, dim):
        cos, sin = tables
        frequencies = self.frequencies(cos, sin, source)
        if frequencies is None:
            return
        with self.graph.inserting_before(node):
            new = self.graph.call_function(rotary, (x,))
        new.meta = {**node.meta, "rotary": (frequencies, len(cos), inverse, dim)}
        replace(node, new)
        self.count("rotary")

    def frequencies(self, cos, sin, source):
        """Returns f where the tables are those of t f for positions t from 0: as a buffer holds
        them, or else of position 1."""
        count, queue, seen = cos.shape[1], [source], set()
        candidates = []
        while queue:
            node = queue.pop()
            if node in seen:
                continue
            seen.add(node)
            queue.extend(node.all_input_nodes)
            value = node.meta.get("val")
            if (
                isinstance(value, torch.Tensor)
                and value.is_floating_point()
                and value.numel() == count
                and node.op != "call_function"
            ):
                candidates.append(self.folder.value(node).flatten())
        if len(cos) > 1:
            candidates.append(torch.atan2(sin[1], cos[1]))
        # Angles of f32 are off by a few times 6e-8 of themselves, and are as large as positions.
        tolerance = 1e-5 + 4e-7 * len(cos)
        for candidate in candidates:
            angles = torch.arange(len(cos), dtype=torch.float64)[:, None] * candidate.double()
            if all(
                torch.allclose(wanted, table.double(), rtol=0, atol=tolerance)
                for wanted, table in ((angles.cos(), cos), (angles.sin(), sin))
            ):
                return [float(f) for f in candidate]
        return None

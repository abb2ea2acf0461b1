"""Checks that ranks of an executable differ along each axis by the given distance (dp=4: ranks r and r + 4).

The distances hold in every list of ranks of the executable.
"""
import json
import sys

executable = json.load(open(sys.argv[1]))
distances = {axis: int(distance) for axis, distance in (word.split("=") for word in sys.argv[2:])}
sizes = executable["mesh"]
assert set(sizes) == set(distances), (sizes, distances)


def coordinate(rank, axis):
    return rank // distances[axis] % sizes[axis]


stages = {}
for rank, program in enumerate(executable["rank_program"]):
    stages.setdefault(coordinate(rank, "pp"), set()).add(program)
assert all(len(programs) == 1 for programs in stages.values()) and len(
    set().union(*stages.values())) == sizes["pp"], stages

met = set()
for group in executable["groups"]:
    ranks, size = group["ranks"], group["size"]
    axes = group["name"].split(" x ")
    if not set(axes) <= set(sizes):
        continue  # a list of stages, one with the next
    met.update(axes)
    for first in range(0, len(ranks), size):
        members = ranks[first:first + size]
        places = [tuple(coordinate(rank, axis) for axis in sizes) for rank in members]
        assert places == sorted(places), (group["name"], members)
        for axis in sizes:
            found = {coordinate(rank, axis) for rank in members}
            assert len(found) == (sizes[axis] if axis in axes else 1), (group["name"], members, axis)
assert {"dp", "tp"} <= met, met

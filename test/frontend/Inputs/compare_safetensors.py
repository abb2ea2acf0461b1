"""Compares two safetensors files of f32 tensors: the same names, shapes and values.

Usage: A B [--within LARGEST_DIFFERENCE]
"""

import argparse
import array
import json
import struct


def read(path):
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = file.read()
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = (entry["shape"], array.array("f", data[begin:end]))
    return tensors


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("a")
    parser.add_argument("b")
    parser.add_argument("--within", type=float, default=0.0)
    args = parser.parse_args()
    a, b = read(args.a), read(args.b)
    assert a and a.keys() == b.keys(), f"names differ: {sorted(a.keys() ^ b.keys())}"
    for name, (shape, values) in a.items():
        assert shape == b[name][0], f"{name}: {shape} and {b[name][0]}"
        worst = max(abs(x - y) for x, y in zip(values, b[name][1]))
        assert worst <= args.within, f"{name}: {worst} apart, at most {args.within} is wanted"


main()

#!/usr/bin/env python3
"""Writes what outside-fuzz starts from: a good file of each kind, behind the byte that says which.

  write_corpus.py FOLDER CODE.so PROGRAM.dte...
"""
import json
import struct
import sys
from pathlib import Path


def npy(descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header = header.encode().ljust(64 - 10 - 1) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def safetensors(tensors):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, (dtype, shape, contents) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(contents)]}
        data += contents
    text = json.dumps(header).encode()
    text = text.ljust((len(text) + 7) // 8 * 8)
    return struct.pack("<Q", len(text)) + text + data


def megatron(tokens):
    index = b"MMIDIDX\x00\x00" + struct.pack("<QBQQ", 1, 8, 1, 2)  # version, uint16, sequences, documents
    index += struct.pack("<iqqq", len(tokens), 0, 0, 1)
    return bytes([len(index)]) + index + struct.pack(f"<{len(tokens)}H", *tokens)


def main():
    folder, code, programs = Path(sys.argv[1]), Path(sys.argv[2]), [Path(name) for name in sys.argv[3:]]
    folder.mkdir(parents=True, exist_ok=True)
    tokens = struct.pack("<16H", *range(16))
    seeds = {
        "code": b"c" + code.read_bytes(),
        "safetensors": b"s" + safetensors({"a.weight": ("F32", [2, 3], bytes(24)), "b": ("BF16", [4], bytes(8))}),
        "npy-u1": b"n" + npy("|u1", (3, 4), bytes(12)),
        "npy-f4": b"n" + npy("<f4", (2,), bytes(8)),
        "nanogpt": b"b" + tokens,
        "llmc": b"b" + struct.pack("<256i", 20240520, 1, 16, *[0] * 253) + tokens,
        "llmc-u32": b"b" + struct.pack("<256i", 20240801, 7, 4, *[0] * 253) + struct.pack("<4I", 1, 2, 3, 4),
        "text": b"ttext of any kind\n",
        "megatron": b"m" + megatron(list(range(16))),
    }
    seeds |= {program.name: b"d" + program.read_bytes() for program in programs}
    for name, contents in seeds.items():
        (folder / name).write_bytes(contents)


main()

#!/usr/bin/env python3
"""Writes what outside-fuzz starts from: a good file of each kind, behind the byte that says which.

  write_corpus.py FOLDER CODE.so PROGRAM.dte...
"""
import json
import shutil
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


def checkpoint():
    """Of two shards: a matrix whose rows are in both, and state in the second. Hashes are made right by the target."""
    rows, state = [2, 3], [2]
    shards = [
        safetensors({"w[0:2, 0:3]": ("F32", rows, bytes(24))}),
        safetensors({"w[2:4, 0:3]": ("F32", rows, bytes(24)), "w.m": ("BF16", state, bytes(4))}),
    ]
    starts = [len(shards[0]) - 24, len(shards[1]) - 28]
    piece = lambda shard, offset, begin, extent: {"shard": shard, "offset": offset, "begin": begin, "extent": extent}
    numbers = ["step", "total_steps", "seed", "base_lr", "global_batch", "sequence_length", "samples", "samples_read"]
    manifest = {"format": "dtc.checkpoint/1", "producer": "dtrun", "model": "m", "program": "p"}
    manifest |= {name: 1 for name in numbers} | {"skipped_steps": 0, "skipped_row": 0, "loss_scale": 0.0}
    manifest["mesh"] = [{"axis": "dp", "size": 2}]
    manifest["block_bytes"] = 1 << 20
    manifest["shards"] = [{"file": f"shard-0000{i}.safetensors", "bytes": 0, "xxh3_128": []} for i in range(2)]
    manifest["tensors"] = [
        {"name": "w", "kind": "parameter", "dtype": "F32", "shape": [4, 3], "stored_shape": [4, 3],
         "pieces": [piece(0, starts[0], [0, 0], rows), piece(1, starts[1], [2, 0], rows)]},
        {"name": "w.m", "kind": "state", "dtype": "BF16", "shape": state, "stored_shape": state, "copy_of": "w",
         "pieces": [piece(1, starts[1] + 24, [0], state)]},
    ]
    text = json.dumps(manifest).encode()
    return struct.pack("<HH", len(text), len(shards[0])) + text + b"".join(shards)


def main():
    folder, code, programs = Path(sys.argv[1]), Path(sys.argv[2]), [Path(name) for name in sys.argv[3:]]
    shutil.rmtree(folder, ignore_errors=True)  # what earlier runs added would make this one another
    folder.mkdir(parents=True)
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
        "checkpoint": b"k" + checkpoint(),
        "checkpoint-unsigned": b"K" + checkpoint(),
    }
    seeds |= {program.name: b"d" + program.read_bytes() for program in programs}
    seeds |= {"header-" + program.name: b"D" + program.read_bytes()[:4096] for program in programs}
    for name, contents in seeds.items():
        (folder / name).write_bytes(contents)


main()

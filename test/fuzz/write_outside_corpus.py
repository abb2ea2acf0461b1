#!/usr/bin/env python3
"""Writes the seeds of outside-fuzz: a valid file of each kind, behind the byte of its kind.

  write_outside_corpus.py FOLDER CODE.so PROGRAM.dte...
"""
import json
import struct
import sys
from pathlib import Path

import corpus


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
    """Returns a checkpoint of two shards: a matrix whose rows are in both, and state in the second. The target sets
    the hashes."""
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
    return join(text, *shards)


def join(*parts):
    """Joins parts for splitParts() of Outside.h."""
    return b"".join(struct.pack("<H", len(part)) for part in parts[:-1]) + b"".join(parts)


WIDTH = {"F32": 4, "F16": 2, "BF16": 2}


def weights(tied, second_expert="F16"):
    """Returns the model of WeightsFuzz.cpp in two files and an index; with `tied`, in one file under other names. The
    experts are one parameter, of one dtype unless `second_expert` differs."""
    first = {"wte.weight" if tied else "transformer.wte.weight": ("BF16", [4, 2], bytes(16)),
             "h.0.w": ("F32", [2, 3], bytes(24)), "h.0.attn.bias": ("U8", [2], bytes(2))}
    second = {"h.0.experts.0.w": ("F16", [3], bytes(6)),
              "h.0.experts.1.w": (second_expert, [3], bytes(3 * WIDTH[second_expert])),
              "scale": ("F32", [], bytes(4)), "none": ("F32", [0], b"")}
    if tied:
        return join(b"", safetensors(first | second | {"lm_head.weight": ("BF16", [4, 2], bytes(16))}), b"")
    index = {"metadata": {"total_size": 56}, "weight_map": {name: "a.safetensors" for name in first} |
             {name: "b.safetensors" for name in second}}
    return join(json.dumps(index).encode(), safetensors(first), safetensors(second))


def words(text):
    return struct.pack("<I", len(text)) + text.encode()


def standing(step, waits, begun, position):
    """Returns the standing, as Frames.cpp writes it, of a rank in training step `step` that has begun
    `begun` calls of each group."""
    out = struct.pack("<IIQQII", 1, 1, 2 * step + len(waits), 100 * step, step, len(waits))
    out += b"".join(struct.pack("<IIQIQ", *wait) for wait in waits)
    out += struct.pack("<64Q", *[begun] * 64) + struct.pack("<IQQQQ", 1, step, 10 * step, 20 * step, 0)
    return out + words(position)


HELLO, BEAT, ENDED, STACKS, LEAVE = 0, 2, 3, 6, 8


def hello(rank):
    return HELLO, bytes(16) + struct.pack("<III", rank, 100 + rank, 200 + rank) + words(f"host{rank // 2}")


def frames(*events):
    """Joins frames for readFrames() of WireFuzz.cpp: rank, quarters of a second, and the frame."""
    return b"".join(bytes([rank, quarters, kind]) + struct.pack("<H", len(content)) + content
                    for rank, quarters, (kind, content) in events)


def job():
    """Returns the frames of a job of four ranks, two steps long."""
    events = [(rank, 0, hello(rank)) for rank in range(4)]
    events += [(rank, 1, (BEAT, standing(step, [], 7 * step, f"step {step}"))) for step in (1, 2) for rank in range(4)]
    return events


def hung():
    """Returns the frames of a hang: rank 1 computes, the others wait in call 21 of group 0; then its stacks come."""
    waits = [(0, 1, 21, 0xffffffff, 1 << 20)]
    events = [(rank, 0, (BEAT, standing(3, [] if rank == 1 else waits, 20 if rank == 1 else 21, "step 3, gemm")))
              for rank in range(4)]
    return frames(*job(), *events, (4, 255, (LEAVE, b"")), (1, 255, (STACKS, words("#0 main\n#1 start\n"))),
                  (0, 1, (BEAT, standing(3, waits, 21, "step 3"))))


def died():
    ending = standing(3, [], 21, "step 3") + struct.pack("<III", 1, 9, 1) + words("") + words("#0 main\n")
    return frames(*job(), (2, 1, (ENDED, ending)), (2, 0, (LEAVE, b"")), (3, 20, (LEAVE, b"")), (0, 4, (LEAVE, b"")))


def stream():
    sent = [hello(1), (BEAT, standing(1, [], 7, "step 1")),
            (7, struct.pack("<I", 3) + words("rank 1 died")), (4, b""), (5, b""), (LEAVE, b"")]
    return b"".join(struct.pack("<II", len(content), kind) + content for kind, content in sent)


def notes(last=1):
    """Returns notes with two groups, a local instruction and one that sends, and their issues.

    The last issue is of instruction `last`."""
    out = b"DTN1" + struct.pack("<I", 2)
    for name, size, shift in (("dp", 2, 0), ("pp", 4, 1)):
        out += words(name) + struct.pack("<III4I", size, shift, 4, 0, 1, 2, 3)
    out += struct.pack("<I", 2)
    for meets in (0, 2):
        for text in ("gemm", "forward", "send", "x", "f32", "m.mlir", "linear"):
            out += words(text)
        out += struct.pack("<IIIIIQQQ", 0, 1, meets, 12, 1, 4, 4, 16)
    return out + struct.pack("<I6III3I", 2, 0, 0, 0, 1, 0, 0, 0, 1, last, 0, 0)


def message(word, payload):
    return b"dtrunmt1" + struct.pack("<QQ", word, len(payload)) + payload


def rendezvous():
    """Returns the messages of a rendezvous of two ranks: a guest's greeting, and a parcel with a piece for each."""
    text = lambda letters: struct.pack("<Q", len(letters)) + letters
    greeting = struct.pack("<QQQQ", 1, 1, 2, 100) + text(b"host1") + text(b"10.0.0.2")
    return b"\x01" + message(0, greeting) + message(1, b"") + message(4, text(b"abc") + text(b""))


def tuning():
    head = "dtc tuning 2\nprogram p\ndevice NVIDIA H100\ncapability 90\ndriver 13000\ncublaslt 130100\ncudnn 91200\n"
    choices = [f"product {product:016x} {'0123456789abcdef' * 8}\n" for product in (1, 2)]
    return (head + "".join(choices)).encode()


def main():
    folder, code, *programs = [Path(name) for name in sys.argv[1:]]
    tokens = struct.pack("<16H", *range(16))
    seeds = {
        "code": b"c" + code.read_bytes(),
        "safetensors": b"s" + safetensors({"a.weight": ("F32", [2, 3], bytes(24)), "b": ("BF16", [4], bytes(8))}),
        "npy-u1": b"n" + npy("|u1", (3, 4), bytes(12)),
        "npy-f4": b"n" + npy("<f4", (2,), bytes(8)),
        "nanogpt": b"b" + tokens,
        "llmc": b"b" + struct.pack("<256i", 20240520, 1, 16, *[0] * 253) + tokens,
        "llmc-u32": b"b" + struct.pack("<256i", 20240801, 7, 4, *[0] * 253) + struct.pack("<4I", 1, 2, 3, 4),
        "ids-u32": b"b" + struct.pack("<16I", *range(70000, 70016)),
        "ids-wide": b"b" + struct.pack("<16I", *range(16)),
        "text": b"ttext of any kind\n",
        "json": b't{"text": "a line"}\n',
        "zip": b"tPK\x03\x04" + bytes(22) + struct.pack("<HH", 5, 0) + b"a.npy",
        "array-as-tokens": b"t" + npy("<u2", (4,), bytes(8)),
        "megatron": b"m" + megatron(list(range(16))),
        "elf": b"e" + code.read_bytes(),
        "tuning": b"u" + tuning(),
        "weights": b"w" + weights(tied=False),
        "weights-tied": b"w" + weights(tied=True),
        # Files with small faults.
        "elf-cut": b"e" + code.read_bytes()[:-40],
        "tuning-cut": b"u" + tuning()[:-20],
        "weights-of-two-dtypes": b"w" + weights(tied=False, second_expert="F32"),
        "notes-beyond": b"p" + notes(last=2),
        "frames-hung": b"f" + hung(),
        "frames-died": b"f" + died(),
        "stream": b"l" + stream(),
        "notes": b"p" + notes(),
        "rendezvous": b"h" + rendezvous(),
        "place-slurm": b"ar[1-2]n[03-04,7],gpu4",
        "place-mpi": b"a4711.0;tcp://10.0.0.7,192.168.0.7:39627;tcp6://[fd00::7]:57325",
        "checkpoint": b"k" + checkpoint(),
        "checkpoint-unsigned": b"K" + checkpoint(),
    }
    seeds |= {program.name: b"d" + program.read_bytes() for program in programs}
    seeds |= {"header-" + program.name: b"D" + program.read_bytes()[:4096] for program in programs}
    corpus.write(folder, "outside", seeds)


main()

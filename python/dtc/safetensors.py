"""Reads and writes safetensors files of f32 tensors, with nothing but torch."""

import ctypes
import json
import math
import os
import struct

import torch

from dtc.errors import ExportError

TYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


def write(file, tensors):
    """Writes name -> tensor to a binary file, one tensor after the other; each is copied only where
    it is not contiguous."""
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, tensor in tensors.items():
        size = tensor.numel() * 4
        header[name] = {
            "dtype": "F32",
            "shape": list(tensor.shape),
            "data_offsets": [offset, offset + size],
        }
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    file.write(struct.pack("<Q", len(text)) + text)
    for tensor in tensors.values():
        tensor = tensor.detach().to(torch.float32).contiguous()
        if tensor.numel():
            file.write((ctypes.c_char * (tensor.numel() * 4)).from_address(tensor.data_ptr()))


def read_header(path):
    """Returns name -> (type, shape, first byte, end) of a file, and where its data begins; raises
    ExportError where it is none."""
    with open(path, "rb") as file:
        start, length = file.read(8), os.path.getsize(path)
        size = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
        if not 2 <= size <= length - 8:
            raise ExportError(f"{path} is no safetensors file")
        try:
            header = json.loads(file.read(size))
        except ValueError:
            header = None
    entries = header.values() if isinstance(header, dict) else [None]
    if not all(isinstance(entry, dict) for entry in entries):
        raise ExportError(f"{path} is no safetensors file")
    header.pop("__metadata__", None)
    return {name: check_entry(path, name, header[name], length - 8 - size) for name in header}, size + 8


def check_entry(path, name, entry, length):
    """Returns (type, shape, first byte, end) of one tensor, which lies within the file's data."""
    if entry.get("dtype") not in TYPES:
        raise ExportError(
            f"{path}: '{name}' has {entry.get('dtype')}, but one of {', '.join(TYPES)} is wanted"
        )
    kind, shape = TYPES[entry["dtype"]], entry.get("shape") or []
    begin, end = entry.get("data_offsets") or (0, -1)
    if not 0 <= begin <= end <= length:
        raise ExportError(f"{path}: '{name}' lies outside of the file")
    if end - begin != math.prod(shape) * kind.itemsize:
        raise ExportError(f"{path}: '{name}' has {end - begin} bytes, which its shape has not")
    return kind, shape, begin, end


def read(path):
    """Yields name and tensor, one after the other, so that one is in memory at a time; raises
    ExportError where the file is none."""
    entries, start = read_header(path)
    with open(path, "rb") as file:
        for name, (kind, shape, begin, end) in entries.items():
            file.seek(start + begin)
            data = bytearray(file.read(end - begin))
            flat = torch.frombuffer(data, dtype=kind) if data else torch.empty(0, dtype=kind)
            yield name, flat.reshape(shape)

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


def read(path):
    """Returns name -> tensor of a file; raises ExportError where it is none."""
    with open(path, "rb") as file:
        start = file.read(8)
        size = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
        if not 2 <= size <= os.path.getsize(path) - 8:
            raise ExportError(f"{path} is no safetensors file")
        try:
            header = json.loads(file.read(size))
        except ValueError:
            header = None
        entries = header.values() if isinstance(header, dict) else [None]
        if not all(isinstance(entry, dict) for entry in entries):
            raise ExportError(f"{path} is no safetensors file")
        data = bytearray(file.read())
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        if entry.get("dtype") not in TYPES:
            raise ExportError(
                f"{path}: '{name}' has {entry.get('dtype')}, but one of {', '.join(TYPES)} is"
                " wanted"
            )
        kind = TYPES[entry["dtype"]]
        begin, end = entry.get("data_offsets") or (0, -1)
        if not 0 <= begin <= end <= len(data):
            raise ExportError(f"{path}: '{name}' lies outside of the file")
        if end - begin != math.prod(entry.get("shape") or ()) * kind.itemsize:
            raise ExportError(f"{path}: '{name}' has {end - begin} bytes, which its shape has not")
        flat = (
            torch.frombuffer(data, dtype=kind, count=(end - begin) // kind.itemsize, offset=begin)
            if end > begin
            else torch.empty(0, dtype=kind)
        )
        tensors[name] = flat.reshape(entry["shape"])
    return tensors

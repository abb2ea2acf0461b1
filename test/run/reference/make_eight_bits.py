#!/usr/bin/env python3
"""Prints the hashes of EightBitKernelTest.cpp: FNV-1a of the bytes that PyTorch's float8 types give for every finite
bf16, and for 65536 f32 of bits i * 2654435761. Numbers beyond the largest of a format are clamped first, since PyTorch
rounds those of e5m2 to infinity. Needs torch 2.3 or later.
"""
import torch


def fnv(data):
    hashed = 0xCBF29CE484222325
    for byte in data:
        hashed = (hashed ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return hashed


def main():
    bf16 = torch.arange(65536, dtype=torch.int32).to(torch.uint16).view(torch.bfloat16).float()
    f32 = torch.tensor([i * 2654435761 % 2**32 for i in range(65536)], dtype=torch.int64)
    f32 = f32.to(torch.uint32).view(torch.float32)
    for name, dtype in (("e4m3", torch.float8_e4m3fn), ("e5m2", torch.float8_e5m2)):
        largest = torch.finfo(dtype).max
        for kind, values in (("bf16", bf16), ("f32", f32)):
            finite = values[torch.isfinite(values)].clamp(-largest, largest)
            print(f"{name} of {kind}: {fnv(finite.to(dtype).view(torch.uint8).tolist()):#018x}")


if __name__ == "__main__":
    main()

"""Copies a folder of test/gpu/prepare.py and makes one result of a kernel and one loss wrong in it."""
import json
import shutil
import struct
import sys
import tarfile
from pathlib import Path

folder, spoiled = map(Path, sys.argv[1:])
shutil.rmtree(spoiled, ignore_errors=True)
shutil.copytree(folder, spoiled)
with tarfile.open(folder / "kernels.tar.xz") as packed:
    packed.extractall(spoiled)
cases = json.loads((spoiled / "kernels" / "cases.json").read_text())
offset = next(case["results"][0]["offset"] for case in cases if case["results"][0]["type"] == "f32")
results = spoiled / "kernels" / "results.bin"
data = bytearray(results.read_bytes())
data[offset: offset + 4] = struct.pack("f", struct.unpack("f", data[offset: offset + 4])[0] + 1e-3)
results.write_bytes(data)
with tarfile.open(spoiled / "kernels.tar.xz", "w:xz", preset=0) as packed:
    packed.add(spoiled / "kernels", "kernels")
curves = json.loads((spoiled / "curve" / "curves.json").read_text())
curves["losses"]["f32"][1] *= 1.001
(spoiled / "curve" / "curves.json").write_text(json.dumps(curves))

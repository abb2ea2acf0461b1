#!/usr/bin/env bash
# On a processor with AVX-512 BF16, PyTorch's product of two bf16 matrices takes subnormal elements as zero and writes
# zero for a subnormal result, if the matrices are large enough for oneDNN; smaller ones, matrix-vector products and
# elementwise ops do not.
#
# Guess: bf16 has the exponents of f32, so that a product of bf16 is that of f32, rounded, on any processor and of any
# size. Seen with torch 2.8.0 (oneDNN 3.7): 1e-39 times 1e38, summed 16 times, is 1.6; summed 32 times in a product of
# 32 x 32 matrices it is 0, and 3.2 with ONEDNN_MAX_CPU_ISA=AVX512_CORE, which keeps oneDNN from the instruction
# VDPBF16PS. That instruction flushes subnormals whatever the control register says. dtc multiplies operands with
# subnormal elements in f32 instead (kernels/cpu/NarrowGemm.cpp).
set -euo pipefail
if ! grep -qw avx512_bf16 /proc/cpuinfo; then
  echo "this processor has no AVX-512 BF16, which the behaviour is of; nothing was run"
  exit 0
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install --quiet --target "$folder/packages" torch==2.8.0
cat >"$folder/products.py" <<'PYTHON'
import json

import torch

small, large = torch.full((32, 32), 1e-39).bfloat16(), torch.full((32, 32), 1e38).bfloat16()
found = {f"{n} x {n}": (small[:n, :n].contiguous() @ large[:n, :n].contiguous())[0, 0].item() for n in (16, 32)}
found["matrix-vector"] = torch.mv(small, large[0].contiguous())[0].item()
found["elementwise"] = (small * large)[0, 0].item() * 32
found["f32"] = (small.float() @ large.float())[0, 0].item()
print(json.dumps(found))
PYTHON
export PYTHONPATH=$folder/packages
with=$(python3 "$folder/products.py")
without=$(ONEDNN_MAX_CPU_ISA=AVX512_CORE python3 "$folder/products.py")
echo "torch 2.8.0: $with"
echo "with ONEDNN_MAX_CPU_ISA=AVX512_CORE: $without"
python3 - "$with" "$without" <<'PYTHON'
import json
import sys

found, other = map(json.loads, sys.argv[1:])
near = lambda a, b: abs(a / b - 1) < 0.01
assert near(found["16 x 16"], found["f32"] / 2), found
assert near(found["matrix-vector"], found["f32"]) and near(found["elementwise"], found["f32"]), found
assert near(other["32 x 32"], found["f32"]), other
assert found["32 x 32"] == 0, "products of bf16 no longer flush subnormal elements"
PYTHON

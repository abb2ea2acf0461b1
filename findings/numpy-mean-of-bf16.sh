#!/usr/bin/env bash
# NumPy's mean of 1,000 ones in bf16 is 0.256, where that of f16 is 1.
#
# Guess: np.sum and np.mean of bf16 (the dtype of ml_dtypes, which JAX's arrays have) add up as those of f16 do, in
# pieces and, for the mean, in f32. Statistics of weights in a checkpoint rely on it. Seen with ml_dtypes 0.6.0 and
# NumPy 2.4.6: bf16 is added number by number in bf16, so that a sum of ones stops at 256, where one more is half a unit
# in the last place; the sum of 4,096 ones is 256 and the mean of 1,000 is 0.256. f16 gives 4,096 and 1. np.dot of the
# same bf16 numbers gives 1,000, and so does a sum with dtype=np.float32.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install --quiet --no-compile --target "$folder/packages" ml_dtypes==0.6.0 numpy==2.4.6
cat >"$folder/mean.py" <<'PYTHON'
import ml_dtypes
import numpy as np

found = {}
for dtype in (ml_dtypes.bfloat16, np.float16):
    ones = np.ones(1000, dtype)
    found[np.dtype(dtype).name] = [float(np.ones(4096, dtype).sum()), round(float(ones.mean()), 3),
                                   float(np.dot(ones, ones)), float(ones.sum(dtype=np.float32))]
print("sum of 4096 ones, mean of 1000, dot product of 1000, sum of 1000 in f32:", found)
assert found == {"bfloat16": [256.0, 0.256, 1000.0, 1000.0], "float16": [4096.0, 1.0, 1000.0, 1000.0]}, found
PYTHON
PYTHONPATH=$folder/packages python3 "$folder/mean.py"

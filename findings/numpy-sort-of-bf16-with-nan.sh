#!/usr/bin/env bash
# np.sort leaves bf16 numbers out of order where one of them is NaN.
#
# Guess: np.sort of bf16 (ml_dtypes) puts NaN last, as it does for f32 and f16, and as jnp.sort does for bf16. A rank of
# values by magnitude, such as a percentile for clipping or the largest k for sparsity, relies on the order of the rest.
# Seen with ml_dtypes 0.6.0 and NumPy 2.4.6: [3, NaN, 1] stays [3, NaN, 1], so that the first element is not the
# smallest; f32 and f16 give [1, 3, NaN]. The dtype compares with NaN as C does, always false, which a sort takes for
# equal.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install --quiet --no-compile --target "$folder/packages" ml_dtypes==0.6.0 numpy==2.4.6
cat >"$folder/sort.py" <<'PYTHON'
import ml_dtypes
import numpy as np

found = {np.dtype(dtype).name: [str(float(x)) for x in np.sort(np.array([3, float("nan"), 1], dtype))]
         for dtype in (ml_dtypes.bfloat16, np.float16, np.float32)}
print("sorted 3, NaN, 1:", found)
ordered = ["1.0", "3.0", "nan"]
assert found == {"bfloat16": ["3.0", "nan", "1.0"], "float16": ordered, "float32": ordered}, found
PYTHON
PYTHONPATH=$folder/packages python3 "$folder/sort.py"

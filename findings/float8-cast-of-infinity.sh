#!/usr/bin/env bash
# A cast to float8_e4m3fn makes infinity 448 in PyTorch, and NaN in ml_dtypes, the types of JAX.
#
# Guess: e4m3fn has no infinity, and both libraries make NaN of what is above 464, half a step past the greatest number.
# Seen with torch 2.15.0 and ml_dtypes 0.6.0: torch gives 448 for 465, 1000 and infinity alike, and NaN for NaN alone,
# so that an overflow in front of the cast (an f16 product, a division by a scale of 0) can no longer be seen behind it.
# A cast to float8_e5m2 keeps infinity in both. In the type of the scales of MX formats, float8_e8m0fnu, torch drops the
# sign, -2 becomes 2, and 0 is the least number; ml_dtypes has NaN for both. So 8-bit training of the two agrees on
# numbers in range alone, and a check that values are finite must come before the cast.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install --quiet --no-compile --target "$folder/torch" torch==2.15.0 numpy==2.2.6
python3 -m pip install --quiet --no-compile --target "$folder/types" ml_dtypes==0.6.0 numpy==2.2.6
cat >"$folder/values.py" <<'PYTHON'
VALUES = {"float8_e4m3fn": [464.0, 465.0, 1000.0, float("inf"), float("-inf"), float("nan")],
          "float8_e5m2": [float("inf"), float("nan")],
          "float8_e8m0fnu": [3.0, -2.0, 0.0, float("inf")]}
PYTHON
cat >"$folder/with_torch.py" <<'PYTHON'
import json

import torch
from values import VALUES

print(json.dumps({name: [str(x) for x in torch.tensor(values).to(getattr(torch, name)).float().tolist()]
                  for name, values in VALUES.items()}))
PYTHON
cat >"$folder/with_types.py" <<'PYTHON'
import json

import ml_dtypes
import numpy as np
from values import VALUES

print(json.dumps({name: [str(x) for x in np.array(values, np.float32).astype(getattr(ml_dtypes, name))
                         .astype(np.float32).tolist()] for name, values in VALUES.items()}))
PYTHON
torch=$(PYTHONPATH=$folder/torch python3 -W ignore "$folder/with_torch.py" 2>/dev/null)
types=$(PYTHONPATH=$folder/types python3 -W ignore "$folder/with_types.py" 2>/dev/null)
echo "torch 2.15.0:    $torch"
echo "ml_dtypes 0.6.0: $types"
python3 - "$torch" "$types" <<'PYTHON'
import json
import sys

torch, types = map(json.loads, sys.argv[1:])
assert torch["float8_e4m3fn"] == ["448.0"] * 4 + ["-448.0", "nan"], torch
assert types["float8_e4m3fn"] == ["448.0"] + ["nan"] * 5, types
assert torch["float8_e5m2"] == types["float8_e5m2"] == ["inf", "nan"], (torch, types)
assert torch["float8_e8m0fnu"][:2] == ["4.0", "2.0"] and 0 < float(torch["float8_e8m0fnu"][2]) < 1e-38, torch
assert types["float8_e8m0fnu"][:3] == ["4.0", "nan", "nan"], types
PYTHON

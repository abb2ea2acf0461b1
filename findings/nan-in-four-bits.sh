#!/usr/bin/env bash
# A NaN that is cast to 4 or 6 bits becomes 0, of the other sign, and infinity the largest number.
#
# Guess: e2m1, e2m3 and e3m2 have no NaN, so a cast of one gives the largest number, as of infinity, and a gradient
# that is not finite stays visible as something large. Seen with ml_dtypes 0.6.0 (the dtypes of JAX): NaN is -0 in each
# of the three, and -NaN is +0; infinity is 6, 7.5 and 28, the largest numbers. A block that held NaN is all finite
# after the cast, and what multiplies it is 0: whoever quantises to 4 bits has to look for NaN before. Casts to
# e4m3fn of the same package give NaN for both, and for all from 465 on.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install --quiet --no-compile --target "$folder/packages" ml_dtypes==0.6.0 numpy==2.4.6
cat >"$folder/cast.py" <<'PYTHON'
import warnings

import ml_dtypes
import numpy as np

warnings.simplefilter("ignore")
values = np.array([np.nan, -np.nan, np.inf, 464, 465], np.float32)
found = {}
for name in ("float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e4m3fn"):
    found[name] = [str(x) for x in values.astype(getattr(ml_dtypes, name)).astype(np.float32).tolist()]
print("NaN, -NaN, infinity, 464, 465:", found)
assert found["float4_e2m1fn"] == ["-0.0", "0.0", "6.0", "6.0", "6.0"], found
assert [found[name][:2] for name in found] == 3 * [["-0.0", "0.0"]] + [["nan", "nan"]], found
assert found["float6_e2m3fn"][2] == "7.5" and found["float6_e3m2fn"][2] == "28.0", found
assert found["float8_e4m3fn"][2:] == ["nan", "448.0", "nan"], found
PYTHON
PYTHONPATH=$folder/packages python3 "$folder/cast.py"

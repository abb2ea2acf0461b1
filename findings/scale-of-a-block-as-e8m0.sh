#!/usr/bin/env bash
# The scale of a block that is cast to e8m0 is rounded up half the time, and that of a block of zeros is NaN.
#
# Guess: a cast to e8m0, the type of the scales of MX formats, keeps the exponent, as OCP's rule for a block's scale
# does (the largest power of two that is not above), and 0 becomes the smallest scale, 2^-127. Seen with ml_dtypes
# 0.6.0, and JAX 0.10.2, which has its dtype: the cast rounds to the nearest power in value, ties up, so that 1.5 is 2
# and 3 is 4; 0 is NaN, though every other number below 2^-127 is 2^-127; 3e38 is NaN. So 'amax / 448' cast to e8m0
# gives scales that are twice those of the rule for half of all blocks, and NaN for a block of zeros, such as padding.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install --quiet --no-compile --target "$folder/packages" ml_dtypes==0.6.0 numpy==2.4.6 jax==0.10.2
cat >"$folder/scale.py" <<'PYTHON'
import warnings

import jax.numpy as jnp
import ml_dtypes
import numpy as np

warnings.simplefilter("ignore")
values = np.array([1.4, 1.5, 3, 6, 0, 2.0**-149, 3e38], np.float32)
of_numpy = [str(x) for x in values.astype(ml_dtypes.float8_e8m0fnu).astype(np.float32).tolist()]
of_jax = [str(float(x)) for x in jnp.asarray(values).astype(jnp.float8_e8m0fnu).astype(jnp.float32)]
print("1.4, 1.5, 3, 6, 0, 2^-149, 3e38 are", of_numpy, "by ml_dtypes,", of_jax, "by JAX")
assert of_numpy == ["1.0", "2.0", "4.0", "8.0", "nan", str(2.0**-127), "nan"], of_numpy
assert of_jax[:5] == of_numpy[:5] and of_jax[6] == "nan", of_jax
PYTHON
JAX_PLATFORMS=cpu PYTHONPATH=$folder/packages python3 "$folder/scale.py"

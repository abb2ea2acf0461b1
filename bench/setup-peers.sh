#!/usr/bin/env bash
# Installs the peers of bench/cpu.sh, JAX and PyTorch, in a virtual environment of their own:
#   bench/setup-peers.sh [FOLDER]        (default: build/bench-venv)
# A second run is quick. Needs python3-venv and about 2 GB.
set -euo pipefail
root="$(dirname "$(dirname "$(readlink -f "$0")")")"
folder="${1:-$root/build/bench-venv}"

[ -x "$folder/bin/python" ] || python3 -m venv "$folder"
has() { "$folder/bin/python" -c "import $1" 2>/dev/null; }
has jax || "$folder/bin/pip" install --quiet numpy 'jax[cpu]'
# PyTorch's own index has the build without CUDA; if only PyPI is reachable, its larger build
# runs on the processor as well.
has torch ||
  "$folder/bin/pip" install --quiet torch --index-url https://download.pytorch.org/whl/cpu ||
  "$folder/bin/pip" install --quiet torch
"$folder/bin/python" -c 'import jax, torch; print("JAX", jax.__version__, "and PyTorch", torch.__version__)'

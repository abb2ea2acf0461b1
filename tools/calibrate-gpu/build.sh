#!/usr/bin/env bash
# Builds the program that measures a GPU. Needs only the CUDA toolkit; NCCL is used if its header
# exists.
# usage: build.sh FILE   (writes FILE; NVCC=..., ARCH=sm_90 choose compiler and device)
set -euo pipefail
[ $# = 1 ] || { echo "usage: $0 FILE" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
nvcc=${NVCC:-$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null || true)}
if [ -z "$nvcc" ]; then
  echo "skipped: there is no nvcc; install the CUDA toolkit, or say NVCC=/path/to/nvcc" >&2
  exit 77
fi
flags=(-std=c++17 -O2 -arch="${ARCH:-native}" -Xcompiler -Wall,-Wextra)
libraries=(-lcublasLt -ldl)
if echo '#include <nccl.h>' | "$nvcc" -x cu -E - -o /dev/null 2>/dev/null; then
  flags+=(-DDTC_WITH_NCCL)
  libraries+=(-lnccl)
fi
exec "$nvcc" "${flags[@]}" -t 0 "$here"/*.cu "$here"/*.cpp -o "$1" "${libraries[@]}"

#!/usr/bin/env bash
# Builds the packages of dtc from the build folder, for machines without a compiler, LLVM or this tree.
#   tools/package.sh [-o FOLDER] [--build BUILD]     default: build/packages, build
# In FOLDER:
#   dtc-VERSION-...-x86_64.whl     dtc, dtrun, dtc-solve, dtc-export and dtc-data for pip, with the libraries they need
#   dtc_VERSION_amd64.deb          the same for apt, with Debian's libraries
#   dtc-plan-only-VERSION-x86_64.tar.xz   the commands that plan: no MPI, no BLAS, no Python
# The programs have LLVM and MLIR inside. They need a C library as new as that of this machine (Debian 12: 2.36).
set -euo pipefail
caller=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Prints the path of a folder that the caller names: it may be relative to the caller's.
in_caller() {
  case "$1" in
  /*) echo "$1" ;;
  *) echo "$caller/$1" ;;
  esac
}

out=build/packages build=build
while [ $# -gt 0 ]; do
  case "$1" in
  -o) out=$(in_caller "${2:?-o wants a folder}") && shift 2 ;;
  --build) build=$(in_caller "${2:?--build wants a folder}") && shift 2 ;;
  *)
    echo "usage: tools/package.sh [-o FOLDER] [--build BUILD]" >&2
    exit 2
    ;;
  esac
done
[ -f "$build/build.ninja" ] || {
  echo "package.sh: $build is no build folder; run 'tools/setup.sh' and 'cmake --preset default' first" >&2
  exit 1
}
# Plugins are targets where CMake found their libraries.
mapfile -t plugins < <(cmake --build "$build" --target help | sed -nE 's/^(dtc_(mpi|gloo|metrics)): .*/\1/p')
cmake --build "$build" --target dtc-package dtrun-package dtc-solve-package dtc-plan-only "${plugins[@]}"
for what in wheel deb plan_only; do
  python3 "tools/package/$what.py" --build "$build" -o "$out"
done

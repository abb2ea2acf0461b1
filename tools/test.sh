#!/usr/bin/env bash
# Sets up, builds and tests all of dtc; what continuous integration runs. Exits non-zero where any part failed.
#
# Parts: set-up, build with warnings as errors (preset ci), format, generated pages, clang-tidy 14 on the files
# changed lately, the runtime's unit tests under AddressSanitizer and UBSan (preset asan), all tests (preset ci).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

failed=()
part() { # name, command...: runs it, shows its time, remembers a failure
  local name=$1 start=$SECONDS
  shift
  echo "== $name: $*"
  if "$@" </dev/null; then
    echo "== $name: ok, $((SECONDS - start)) s"
  else
    echo "== $name: FAILED after $((SECONDS - start)) s"
    failed+=("$name")
    return 1
  fi
}

summary() {
  [ "${#failed[@]}" -eq 0 ] && exit 0
  echo "test.sh: failed parts: ${failed[*]}" >&2
  exit 1
}

jobs=$(nproc)
part set-up ./tools/setup.sh --tests || summary
part configure cmake --preset ci || summary
part build cmake --build --preset ci -j "$jobs" || summary
part format ./tools/lint.sh
part docs ./tools/gen-docs.sh --check
part tidy ./tools/tidy.py --build build
part asan-configure cmake --preset asan &&
  part asan-build cmake --build --preset asan -j "$jobs" &&
  part asan-test ctest --preset asan -j 2
part test ctest --preset ci -j 2
echo "test.sh: ${SECONDS} s in all"
summary

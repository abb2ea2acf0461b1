#!/usr/bin/env bash
# Checks that every tracked C++ file is formatted as .clang-format says (with -f, formats them) and that comments are
# written as docs/words.md says.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case "${1-}" in
"") mode=(--dry-run -Werror) ;;
-f) mode=(-i) ;;
*)
  echo "usage: tools/lint.sh [-f]" >&2
  exit 2
  ;;
esac

# Files deleted but not yet committed are still listed by git.
mapfile -t files < <(git ls-files '*.cpp' '*.h' '*.c' '*.cu' '*.cuh' | while read -r file; do
  [ ! -f "$file" ] || echo "$file"
done)
[ "${#files[@]}" -gt 0 ] || exit 0
if ! printf '%s\0' "${files[@]}" | xargs -0 -n 16 -P "$(nproc)" clang-format-14 "${mode[@]}"; then
  echo "lint.sh: the files named above are not formatted; 'tools/lint.sh -f' formats them" >&2
  exit 1
fi
echo "lint.sh: ${#files[@]} files are formatted"
tools/check-english.py

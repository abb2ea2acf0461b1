#!/usr/bin/env bash
# Compares random models x random plans with one device: test/soak.sh --cases N --seed S
# Prints one summary line last and exits 0 only if all cases match.
set -euo pipefail
exec python3 "$(dirname "$0")/run/any_plan.py" "$@"

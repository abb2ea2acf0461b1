#!/usr/bin/env bash
# Random models x random plans against one device: test/soak.sh --cases N --seed S
# Prints one summary line last and exits 0 only where all cases match.
set -euo pipefail
exec python3 "$(dirname "$0")/run/any_plan.py" "$@"

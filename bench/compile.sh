#!/usr/bin/env bash
# Times `dtc compile` on models with many layers, micro-batches and ranks, and sizes what it writes:
#   bench/compile.sh [--format json] [--runs N] [--cases NAME...] [--dtc PATH]
set -euo pipefail
exec python3 "$(dirname "$(readlink -f "$0")")/compile.py" "$@"

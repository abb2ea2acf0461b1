#!/usr/bin/env bash
# Compares the planner's estimates of fixed plans with published measurements:
#   bench/planner.sh [TABLE.csv] [--format json] [--rows ROWS.csv] [--source TEXT]
# TABLE.csv has the columns of published.csv (default: ../shared/data/published.csv beside the
# repository; without it nothing is compared, and that is printed).
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
program=$root/build/bin/dtc-planner-bench
if [[ ! -x $program ]]; then
  echo "bench/planner.sh: there is no $program; build it: ninja -C build dtc-planner-bench" >&2
  exit 1
fi
cd "$root"
exec "$program" "$@"

#!/usr/bin/env bash
# Compares the planner's estimates of fixed plans with published measurements and prints the table of
# figures to reach:
#   bench/planner.sh [--table TABLE.csv] [--format json] [--rows ROWS.csv] [--source TEXT] [--leave-one-out]
#   bench/planner.sh --write-errors   writes compiler/price/uncertainty/errors.csv from the fitting half
#   bench/planner.sh --release        only the figures of the rows that are kept for releases
# TABLE.csv has the columns of published.csv (default: ../shared/data/published.csv beside the
# repository; without it nothing is compared, and that is printed). The searches of the table take
# some minutes; --errors-only leaves them out.
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
program=$root/build/bin/dtc-planner-bench
if [[ ! -x $program ]]; then
  echo "bench/planner.sh: there is no $program; build it: ninja -C build dtc-planner-bench" >&2
  exit 1
fi
figures=(--figures --search-seconds 0.1)
arguments=()
for argument in "$@"; do
  if [[ $argument == --errors-only ]]; then
    figures=()
  elif [[ $argument == --write-errors ]]; then
    figures=()
    arguments+=(--write-errors compiler/price/uncertainty/errors.csv)
  elif [[ $argument == --release ]]; then
    figures=()
    arguments+=(--release)
  else
    arguments+=("$argument")
  fi
done
cd "$root"
"$program" ${figures[@]+"${figures[@]}"} ${arguments[@]+"${arguments[@]}"}
if [[ ${#figures[@]} -gt 0 ]]; then
  test=$(find build/test build/bin -name PlannerTest -type f 2>/dev/null | head -n 1 || true)
  if [[ -z $test ]]; then
    echo "  agreement with exhaustive enumeration: skipped, PlannerTest is not built (ninja -C build PlannerTest)"
  elif "$test" --gtest_filter='JointSearchTest.AgreesWithCostingEverything' >/dev/null 2>&1; then
    echo "  agreement with exhaustive enumeration, 300 small cases or more: exact (target: exact): met"
  else
    echo "  agreement with exhaustive enumeration, 300 small cases or more: not exact (target: exact): missed"
  fi
fi

#!/usr/bin/env bash
# Solves the IOPDDL instances and prints a row of the table in bench/results/solver-iopddl.md for each.
# Usage: bench/solver.sh FOLDER [SECONDS [INSTANCE...]]
# FOLDER holds NAME.json.gz and bounds.csv (instance,contest_best_cost,published_lower_bound,xla_solver_cost).
# DTC_SOLVE names the program (default build/bin/dtc-solve).
set -euo pipefail
[ $# -ge 1 ] && [ -f "$1/bounds.csv" ] || {
  echo "usage: bench/solver.sh FOLDER [SECONDS [INSTANCE...]]; FOLDER holds bounds.csv" >&2
  exit 2
}
folder=$1 seconds=${2:-60}
shift $(($# > 1 ? 2 : 1))
program=${DTC_SOLVE:-build/bin/dtc-solve}
python3 - "$folder" "$seconds" "$program" "$@" <<'PYTHON'
import csv, json, os, subprocess, sys, time

folder, seconds, program, wanted = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
print("| instance | cost | contest's best | ratio | bound | published bound | ratio | gap | seconds | CPU seconds "
      "| MiB |")
print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
missed = False
for row in csv.DictReader(open(os.path.join(folder, "bounds.csv"))):
    name = row["instance"]
    if wanted and name not in wanted:
        continue
    path = os.path.join(folder, name + ".json.gz")
    start = time.monotonic()
    solver = subprocess.Popen([program, path, "--seconds", seconds], stdout=subprocess.PIPE)
    output = solver.stdout.read()
    _, status, usage = os.wait4(solver.pid, 0)
    wall = time.monotonic() - start
    if status:
        print(f"| {name} | dtc-solve exited with status {os.waitstatus_to_exitcode(status)} |")
        missed = True
        continue
    result = json.loads(output)
    best, bound = int(row["contest_best_cost"]), int(row["published_lower_bound"])
    print(f"| {name} | {result['cost']} | {best} | {result['cost'] / best:.4f} | {result['lower_bound']} | {bound} | "
          f"{result['lower_bound'] / bound:.4f} | {100 * result['gap']:.2f} % | {wall:.1f} | "
          f"{usage.ru_utime + usage.ru_stime:.1f} | {usage.ru_maxrss / 1024:.0f} |", flush=True)
    missed |= not result["usage_ok"] or result["cost"] > 1.02 * best or result["lower_bound"] < 0.99 * bound
sys.exit(1 if missed else 0)
PYTHON

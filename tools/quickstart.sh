#!/usr/bin/env bash
# Goes from nothing to a falling loss: sets up, builds, plans and compiles a small GPT-2 for 4 local processes and
# trains it on real text (the licences that every Debian carries). Output stays in build/quickstart.
#
# usage: tools/quickstart.sh [STEPS]     default 60
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

steps=${1:-60}
if ! [[ $steps =~ ^[0-9]+$ ]] || [ "$steps" -lt 10 ]; then
  echo "usage: tools/quickstart.sh [STEPS]; STEPS is a number of 10 or more, not '$steps'" >&2
  exit 2
fi
# Open MPI starts nothing as root, the user of containers, without these variables.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1

say() { printf '\n== %s\n' "$*"; }
show() { # prints a command as one would type it, then runs it
  printf '$ %s\n' "$*"
  "$@"
}

say "set up"
./tools/setup.sh
say "build"
cmake --preset default >/dev/null
cmake --build --preset default -j "$(nproc)" --target dtc dtrun

out=build/quickstart
mkdir -p "$out"
model=models/configs/gpt2-quickstart.json
find /usr/share/common-licenses -type f | LC_ALL=C sort | xargs cat >"$out/text.txt"

say "plan"
show build/bin/dtc plan "$model" --seq-len 128 --topology cpu --devices 4 --global-batch 16 -o "$out/plan.json"

say "compile"
show build/bin/dtc compile "$model" --seq-len 128 --topology cpu --devices 4 --global-batch 16 \
  --plan "$out/plan.json" -o "$out/gpt2.dte"

say "train on $(wc -c <"$out/text.txt") bytes of text"
show build/bin/dtrun "$out/gpt2.dte" -n 4 --data "$out/text.txt" --steps "$steps" --format json |
  tee "$out/steps.jsonl" |
  /usr/bin/python3 -u -c '
import json, sys
for line in sys.stdin:
    if not line.startswith("{"):
        print(line, end="")
        continue
    step = json.loads(line)
    if "data" in step:
        data = step["data"]
        print("{}: {tokens} tokens ({format}), {epochs:.2f} epochs".format(", ".join(data["files"]), **data),
              flush=True)
        continue
    if step["step"] == 1 or step["step"] % 10 == 0:
        print("step {step:4d}   loss {loss:7.4f}   {tokens_per_s:8.0f} tokens/s".format(**step), flush=True)
'

say "result"
/usr/bin/python3 - "$out/steps.jsonl" "$steps" <<'PYTHON'
import json
import sys

losses = [json.loads(line)["loss"] for line in open(sys.argv[1]) if line.startswith("{\"step\"")]
if len(losses) != int(sys.argv[2]):
    sys.exit(f"quickstart.sh: dtrun reported {len(losses)} steps, {sys.argv[2]} were asked for")
print(f"loss {losses[0]:.4f} at the first step, {losses[-1]:.4f} at the last")
if not losses[-1] < losses[0]:
    sys.exit("quickstart.sh: the loss did not fall")
PYTHON
echo "plan: $out/plan.json   program: $out/gpt2.dte   steps: $out/steps.jsonl   $SECONDS s in all"

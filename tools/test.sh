#!/usr/bin/env bash
# Sets up, builds and tests all of dtc; continuous integration runs this. Exits non-zero if any part failed.
#   tools/test.sh           everything
#   tools/test.sh --minutes N
#                           everything in another order: the longest tests, in groups, come last, and no group begins
#                           after N minutes. What was not run is said; each commit begins with another group. For a
#                           limit of time on machines of any speed (.ci/run).
#   tools/test.sh --quick   the build, its unit tests and lit, without the longest unit tests, whole programs, fuzzers
#                           and sanitizers, and so without the unit tests of the runtime, which run with them
#
# The parts are: set-up, build with warnings as errors (preset ci), format, generated pages, all tests (preset ci),
# beside them clang-tidy 14 on the files changed lately and a build of the runtime with AddressSanitizer and UBSan
# (preset asan), and its unit tests.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

quick=0 minutes=0
case "${1-}" in
"") ;;
--quick) quick=1 ;;
--minutes) minutes=${2-} ;;
*) minutes=none ;;
esac
if ! [[ $minutes =~ ^(0|[1-9][0-9]{0,3})$ ]]; then
  echo "usage: tools/test.sh [--quick | --minutes N]" >&2
  exit 2
fi

# The longest tests, in groups of about two minutes on two fast cores: with --minutes they come last.
late=(
  'PtxCodeTest|cuda-resources-sm_80|cuda-resources-sm_90'
  'run\.like_transformers|run\.fine_tuning'
  'TwinKernelTest\..*|OrdersTest'
  'run\.context_parallel|run\.expert_parallel'
  'PlannerTest\..*|PlanSpaceTest'
  'run\.pytorch_export|run\.hugging_face'
  'GpuKernelTest|GpuUnalignedKernelTest|KernelLibraryTest'
  'run\.memory|run\.convolution|run\.cudnn'
  'run\.graphs|run\.epilogues|run\.mixed'
  'fuzz\.text|fuzz\.write-text-corpus|mutate.*'
  'run\.recompute|run\.offload|run\.loss_chunks'
)
left_out=()
[ "$minutes" -eq 0 ] || left_out=(-E "^($(IFS='|' && echo "${late[*]}"))$")

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

kept=$(mktemp -d) # what parts leave for the summary
group=            # the processes beside the tests
trap 'kill ${group:+-- "-$group"} 2>/dev/null; rm -rf "$kept"' EXIT

# Runs tests. If some fail, keeps their output, which the next run of ctest in the folder replaces.
run_tests() { # part, build folder, flags of ctest...
  local name=$1 folder=$2
  shift 2
  part "$name" ctest "$@" && return
  mkdir -p "$kept/$name"
  cp "$folder"/Testing/Temporary/LastTest*.log "$kept/$name/"
}

# Prints the names and messages of failed tests a second time, as people read the last lines first.
show_failures() { # part
  local log=$kept/$1/LastTestsFailed.log name
  [ -d "$kept/$1" ] || return
  echo "== $1: failed tests"
  cat "$log" 2>/dev/null
  sed 's/^[0-9]*://' "$log" 2>/dev/null | head -5 | while read -r name; do
    echo "== $1: $name"
    awk -v name="$name" '/^[0-9]+\/[0-9]+ Testing: /{on = substr($0, index($0, ": ") + 2) == name} on' \
      "$kept/$1/LastTest.log" | tail -40
  done
}

summary() {
  [ "${#failed[@]}" -eq 0 ] && exit 0
  local part
  for part in "${failed[@]}"; do
    show_failures "$part"
  done
  echo "test.sh: failed parts: ${failed[*]}" >&2
  exit 1
}

jobs=$(nproc)
tests=$((jobs + 1)) # some tests mostly wait, for deadlines and for each other's ranks
part set-up ./tools/setup.sh --tests || summary
part configure cmake --preset ci || summary
part build cmake --build --preset ci -j "$jobs" || summary
if [ "$quick" -eq 1 ]; then
  run_tests test build --preset ci -j "$tests" -LE "long|network"
  echo "test.sh: ${SECONDS} s in all"
  summary
fi
part format ./tools/lint.sh
part docs ./tools/gen-docs.sh --check

# Compiles beside the tests, some of which wait most of the time, and gives way to them: nice 19.
beside() {
  tidy=failed asan=failed
  part tidy nice -n 19 ./tools/tidy.py --build build && tidy=ok
  part asan-configure cmake --preset asan &&
    part asan-build nice -n 19 cmake --build --preset asan -j "$jobs" && asan=ok
  echo "$tidy $asan" >"$kept/results"
}
set -m # a process group of its own, which ends with this script
beside >"$kept/log" 2>&1 &
group=$!
set +m
run_tests test build --preset ci -j "$tests" -LE alone "${left_out[@]}"
wait
cat "$kept/log"
read -r tidy asan <"$kept/results" || tidy=failed asan=failed
[ "$tidy" = ok ] || failed+=(tidy)
[ "$asan" = ok ] || failed+=(asan-build)
rm "$kept/results"

# Tests that stop or time what runs: nothing is compiled beside them. Tests with sanitizers that only compute, and have
# no deadlines, have the time that these leave: they are idle tasks to the scheduler.
computing='^(KernelsTest|fuzz)\.'
compute() {
  chrt --idle --pid 0 "$BASHPID" || renice -n 19 "$BASHPID"
  failed=()
  run_tests asan-compute build-asan --preset asan -j "$jobs" -R "$computing"
  echo "${failed[*]}" >"$kept/results"
}
if [ "$asan" = ok ]; then
  set -m
  compute >"$kept/log" 2>&1 &
  group=$!
  set +m
fi
run_tests test-alone build --preset ci -L alone
if [ "$asan" = ok ]; then
  wait
  cat "$kept/log"
  read -r computed <"$kept/results" || computed='asan-compute'
  [ -z "$computed" ] || failed+=("$computed")
  run_tests asan-test build-asan --preset asan -j "$tests" -E "$computing"
fi

not_run=()
if [ "$minutes" -gt 0 ]; then
  first=$(git rev-list --count HEAD 2>/dev/null || echo 0)
  for at in "${!late[@]}"; do
    names=${late[(first + at) % ${#late[@]}]}
    if [ "$SECONDS" -lt $((60 * minutes)) ]; then
      run_tests "test-late-$at" build --preset ci -j "$tests" -R "^($names)$"
    else
      not_run+=("$names")
    fi
  done
fi
for each in "${not_run[@]}"; do
  echo "== NOT RUN, as $minutes minutes had passed: $each"
done
echo "test.sh: ${SECONDS} s in all"
summary

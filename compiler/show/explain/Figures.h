// Figures as people read them.
#pragma once

#include "compiler/decide/plan/Plan.h"
#include "compiler/describe/topology/Topology.h"
#include "runtime/format/Counted.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dtc::figures {

// Example: seconds(0.0123) is "12.3 ms", bytes(int64_t(1) << 30) is "1 GiB". Less than half a
// nanosecond is "0 s".
std::string seconds(double value);
// Returns bytes with a unit.
std::string bytes(int64_t value);

// Returns seconds with a sign. Example: signedSeconds(1.1) is "+1.1 s", signedBytes(-1024) "-1
// KiB"; zero is "0 s" or "0 B".
std::string signedSeconds(double value);
// Returns bytes with a sign and a unit.
std::string signedBytes(int64_t value);

// One decimal; "0.0 %" of nothing. Example: percent(1, 4) is "25.0 %", signedPercent(0.073) is
// "+7.3 %".
std::string percent(double part, double whole);
// Returns a share in percent with a sign.
std::string signedPercent(double share);

// A number of any size in `digits` significant digits, without trailing zeros. Example: "1.97e+12".
std::string number(double value, int digits = 3);

// Returns "are costed with one all-gather over tp more each way than megatron-core has" for plans
// of Megatron's stacks that it is true of (docs/planner.md), and "" for others.
std::string expertGatherText(const Plan &plan);

using format::counted;
// Example: {9, 8, 8, 8} is "9+3*8".
std::string sumText(llvm::ArrayRef<int64_t> numbers);

// MFU with half of the products of causal attention, where that is another than the full count's:
// "43.9 % counting attention causal". Both: "45.2 % (43.9 % counting attention causal)".
std::string causalUtilisation(const PlanPrediction &predicted);
// Returns the MFU; with both counts of attention if they differ.
std::string utilisation(const PlanPrediction &predicted);

// ", fits with 95.1 %", by the errors of estimates of memory; "" where it does not fit or nobody
// says.
std::string fitText(const Plan &plan);

// Returns a note on the software: why 'dtc compile' does not take the plan, or how far dtc's own
// runtime has been run on such devices. Starts with a comma; "" if there is nothing to say.
std::string softwareNote(const Plan &plan, const Topology &topology);

// Returns the types in which gradients are sent and added up, where these are narrow; "" otherwise.
std::string gradientTypesText(const Plan &plan);
// Returns how many nodes are idle, the step's time on all nodes, and the batches that would divide
// over all of them; "" if no node is idle.
std::string idleNodesText(const Plan &plan);

// Returns why another plan than the fastest was taken: "than the fastest, 3.26 s (0.9 % less),
// which takes pipeline parallelism; plans within 1.0 % count as equally fast". "" if the plan is
// the fastest.
std::string simplerText(const Plan &plan);

// Returns what the relaxation proves, and whether it is too far below the plan to judge it by; ""
// without a relaxation.
std::string relaxationText(const PlanSearch &search);

// Returns a row of the table of recipes: name, step, by how much it is slower, memory, what it
// loses on, its --fix.
std::vector<std::string> recipeCells(const Plan &plan, const KnownRecipe &recipe);

// The training speed of a plan: tokens per second, or samples for a model without sequences.
struct Throughput {
  double perSecond = 0;
  const char *unit = ""; // "tokens/s"
};
// Returns the training speed of a plan.
Throughput throughputOf(const Plan &plan);

// Bytes of a device of the fullest stage, or what --max-memory leaves of all.
int64_t memoryLimitOf(const Plan &plan, const Topology &topology);

// Runs of numbers that follow each other. Example: {0, 1, 2, 5, 8, 9} is "0-2, 5, 8-9"; of more
// than four runs the first two are listed, with how many numbers there are.
std::string rangesText(llvm::ArrayRef<int64_t> numbers);

// The parts of a step, and the kinds of memory, under the names that all of dtc's texts have for
// them.
struct TimePart {
  const char *name, *key;
  double PlanTimes::*seconds;
};
// Returns the parts of a step's time.
llvm::ArrayRef<TimePart> timeParts();

// A kind of memory, with its name in texts.
struct MemoryPart {
  const char *name;
  int64_t PlanMemory::*bytes;
};
// Returns the kinds of memory.
llvm::ArrayRef<MemoryPart> memoryParts();

// "dp=8 tp=4 pp=2 cp=1 ep=1 sp=1 zero=1 micro_batch=2 1f1b recompute full"; what a plan does not
// use, such as a schedule without a pipeline, is left out.
std::string settingsText(const Plan &plan);

} // namespace dtc::figures

// Chooses the plan that trains fastest and fits.
#pragma once

#include "compiler/planner/Plan.h"
#include "compiler/topology/Topology.h"
#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <optional>

namespace dtc {

struct PlanRequest {
  mlir::ModuleOp model; // checked by checkModel, batch unbound; not changed
  Topology topology;
  int64_t globalBatch = 1;
  std::string precision = "f32", optimizer = "adamw";
  std::map<std::string, std::string> fixed; // --fix key=value
  std::optional<int64_t> maxMemoryBytes;    // default: the device's memory
  bool ignoreMemory = false; // --max-memory none: plans that do not fit are costed all the same
};

struct PlanOutcome {
  Plan best;
  std::vector<Plan> others; // by predicted step time, the fastest first; those that do not fit last
};

// Searches dp x tp x sequence parallelism x ZeRO-1 x micro-batch by partitioning the model for each
// candidate and costing the program that comes out. Errors: a --fix that does not exist, can't
// divide, or leaves no plan that fits; each names the constraint and the nearest feasible choice.
Result<PlanOutcome> planModel(const PlanRequest &request);

// The plan for people: the choice, why it won, where the time goes, memory by kind.
std::string planToText(const PlanOutcome &outcome, const Topology &topology);

} // namespace dtc

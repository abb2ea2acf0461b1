// The request of a plan: a model, a system, and what the user asks of the plan.
#pragma once

#include "compiler/describe/stack/SoftwareStack.h"
#include "compiler/describe/topology/Topology.h"
#include "compiler/search/planner/SearchLimits.h"
#include "dialects/graph/GradientType.h"
#include "dialects/graph/StateType.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Pipelines.h"

#include <functional>
#include <map>
#include <optional>
#include <string>

namespace dtc {

// The model and the system of a plan, and the user's constraints on it.
struct PlanRequest {
  mlir::ModuleOp model; // checked by checkModel, batch unbound; not changed
  Topology topology;
  // Returns the system with the given number of nodes, for plans that leave some nodes idle.
  // Without it, such plans use the first nodes of `topology` and levels of all nodes: 7 nodes in
  // racks of 2 would lose their racks.
  std::function<Result<Topology>(int64_t nodes)> onNodes;
  bool mayIdle = true; // some nodes may stay idle
  int64_t globalBatch = 1;
  Precision precision = Precision::F32;
  OptimizerKind optimizer = OptimizerKind::AdamW;
  // Settings of the step with which a plan is lowered for its memory; those that plans decide are
  // taken from them.
  StepOptions step;
  StateType optimizerState = StateType::F32; // the form of the optimizer's state
  // Returns the optimizer and the form of its state.
  Optimizer trainedBy() const { return {optimizer, optimizerState}; }
  std::map<std::string, std::string> fixed; // --fix key=value
  std::optional<int64_t> maxMemoryBytes;    // default: the device's memory
  bool ignoreMemory = false; // --max-memory none: plans that do not fit are costed all the same
  // Memory to leave free: a share, or bytes, or enough that a plan fits with the probability 1 -
  // risk, by the memory model's own errors. The default is kUsualRisk, or none if `maxMemoryBytes`
  // is set.
  std::optional<double> marginShare;
  std::optional<int64_t> marginBytes;
  std::optional<double> risk;
  // The type in which gradients are reduced, one that is offered. Default: the software's own.
  std::optional<GradientType> gradDtype;
  // Returns the type in which dtc's own programs reduce gradients.
  GradientType programGradDtype() const { return gradDtype.value_or(GradientType::F32); }
  // Limits the search to plans that 'dtc compile' lowers. On CPUs this holds always, unless a pin
  // asks for more.
  bool executable = false;
  // Does the same if the model compiles and no pin asks for more: a user who names no software gets
  // a plan that 'dtc compile' takes.
  bool prefersExecutable = false;
  bool onGpu = false;                    // compiles for GPUs, as ScheduleOptions
  std::optional<SoftwareStack> software; // the software that runs the plan; default: dtc itself
  // The search ends with its best plan after this much work, which depends on the request alone, or
  // after this many seconds of the clock.
  int64_t searchWork = kSearchWork;
  double searchSeconds = kSearchSeconds;
  // If nothing fits, the error names the nearest alternatives, which takes another search.
  bool explainsMemory = true;
};

// Default risk for a plan that fills the memory: one in five needs more than the device has.
constexpr double kUsualRisk = 0.2;

} // namespace dtc

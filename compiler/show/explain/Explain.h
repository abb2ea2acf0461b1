// Explains the work and the costs of a plan's stage, op or tensor, as text and as JSON.
#pragma once

#include "compiler/show/explain/CostedPlan.h"

#include "llvm/Support/raw_ostream.h"

namespace dtc {

// An op as one stage runs it.
struct StageOp {
  const CostedPart *part = nullptr;
  const CostedOp *op = nullptr;
  size_t stage = 0;
  double runs = 0; // runs per step
  // Returns the seconds per step.
  double stepSeconds() const { return runs * op->seconds; }
};

// The ops of a stage, the costliest in a step first.
std::vector<StageOp> opsOfStage(const Plan &plan, const CostedPlan &costed, size_t stage);

// The stage that computes longest.
size_t slowestStage(const Plan &plan);

// The input of `dtc explain`.
struct ExplainRequest {
  const Plan &plan;
  const CostedPlan &costed;
  mlir::ModuleOp model; // the types of parameters
  bool json = false;
};

// Layers, ranks, where a micro-batch's and a step's seconds go, memory by kind, collectives, and
// the costliest ops. Errors: no such stage.
Status explainStage(llvm::raw_ostream &out, const ExplainRequest &request, int64_t stage);

// Ops whose "name parameter" contains `pattern`, on the stage that spends most on them: sizes,
// seconds by term and what of the device's peak each uses. Example: "mlp.c_fc". Errors: none
// matches.
Status explainOps(llvm::raw_ostream &out, const ExplainRequest &request,
                  const std::string &pattern);

// Parameters of that name, or whose name contains it: placement, shape and bytes of a rank, the ops
// that read it and the collectives that it causes. Layers that are alike are one. Errors: none
// matches; too many do.
Status explainTensor(llvm::raw_ostream &out, const ExplainRequest &request,
                     const std::string &name);

} // namespace dtc

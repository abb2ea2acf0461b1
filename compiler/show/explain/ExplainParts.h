// Texts that the explanations of stages, ops and tensors share. Internal to this folder.
#pragma once

#include "compiler/show/explain/ExplainRequest.h"
#include "compiler/show/explain/StageCollectives.h"
#include "compiler/support/Table.h"

#include <nlohmann/json.hpp>

namespace dtc {

using Json = nlohmann::ordered_json;

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

// "forward", "backward", "weight gradient".
llvm::StringRef nameOf(CellPhase phase);

// "compute", "memory" or "launch": the term that the op's seconds are mostly of.
llvm::StringRef boundOf(const CostedOp &op);

// Share of the device's peak, of products and attention; 0 of others.
double peakShareOf(const CostedOp &op);

// "8192 x 3072 x 768", with "16 of " before it where there are several; "" of other ops.
std::string sizesText(const OpWork &work);

// "4.83 GFLOP".
std::string flopsText(double flops);

// Returns an op of a stage as JSON.
Json opToJson(const StageOp &op, const Plan &plan);
// Returns a collective of a stage as JSON.
Json collectiveToJson(const StageCollective &collective);

// Returns the table of a stage's ops.
Table opTable(llvm::ArrayRef<StageOp> ops, const Plan &plan);
// Returns the table of a stage's collectives.
Table collectiveTable(llvm::ArrayRef<StageCollective> collectives);

// The object with two spaces of indentation.
void printJson(llvm::raw_ostream &out, const Json &json);

// Prints what an explainer found, as JSON or as text.
template <typename Explainer>
void printExplained(llvm::raw_ostream &out, const Explainer &explainer, bool asJson) {
  if (asJson)
    printJson(out, explainer.toJson());
  else
    explainer.print(out);
}

} // namespace dtc

// The flags of commands that make a plan, and what follows from them.
#pragma once

#include "compiler/search/planner/Planner.h"
#include "dialects/graph/GradientType.h"
#include "dialects/graph/Precision.h"
#include "dialects/graph/StateType.h"
#include "models/Documents.h"
#include "tools/cli/CommandLine.h"

#include "mlir/IR/OwningOpRef.h"

#include <optional>
#include <string>

namespace dtc {

// Flags of all commands that make a plan.
struct PlanningFlags {
  std::string model, topology = "cpu", maxMemory, memoryMargin;
  OptimizerKind optimizer = OptimizerKind::AdamW;
  std::optional<GradientType> gradDtype; // default: as the software reduces gradients
  std::optional<Precision> precision;    // default: Topology::usualPrecision
  StateType optimizerState = StateType::F32;
  std::string fix, stack = "dtc";
  int64_t sequence = 0, nodes = 0, devices = 0, globalBatch = 0;
  bool executable = false;
  bool ofDocuments = false;
  std::string documentLoss = "token";
  std::optional<double> risk;
  double searchSeconds = 0;

  CLI::App *command = nullptr;

  // Adds the flags to a command. `planGiven` means that a plan file may replace them, so that none
  // is required.
  void add(CLI::App &command, bool planGiven);
  // Returns what the model is to know of documents.
  Documents documents() const {
    return documentLoss == "document" ? Documents::LossPerDocument
           : ofDocuments              ? Documents::LossPerToken
                                      : Documents::None;
  }
  // Returns true if the user wrote `flag`, even with its default value.
  bool given(const char *flag) const { return command->count(flag) > 0; }
};

// Loads the model. Returns null after a message on `errors`.
mlir::OwningOpRef<mlir::ModuleOp> loadModelOf(mlir::MLIRContext &context,
                                              const PlanningFlags &flags,
                                              llvm::raw_ostream &errors = llvm::errs());

// Returns the request that the flags make of the planner. Errors: a flag with a value that is not
// valid.
Result<PlanRequest> requestOf(const PlanningFlags &flags, mlir::ModuleOp module);

// Returns what a plan records of its flags and its request.
PlanOrigin originOf(const PlanningFlags &flags, const PlanRequest &request, const Plan &plan);

} // namespace dtc

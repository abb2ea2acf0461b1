// Compiles a model under a plan to the bytes of an executable.
#pragma once

#include "compiler/decide/plan/Plan.h"
#include "compiler/price/memory/StaticMemory.h"
#include "compiler/support/Error.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Pipelines.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace dtc {

// Settings of a compilation.
struct CompileOptions {
  StepOptions step;           // batch, micro-batches and optimizer kind are taken from the plan
  std::string target = "cpu"; // in the form that readCompileTarget takes
  std::string saveTemps;      // directory for the IR after every phase; empty: none
  std::string printAfter;     // pass flag after which the IR goes to stderr
  bool timing = false;        // pass times to stderr
  bool quickCode = false;     // code of the processor is not optimised, that of a GPU is PTX alone
  double defaultLearningRate = 1e-3;
  double peakFlopsPerDevice = 0; // for MFU
  // Is told each phase before it begins, as users call it: "splitting over ranks". May be empty.
  std::function<void(llvm::StringRef phase)> onPhase;
};

// Changes `module` (checkModel holds). The error is the first diagnostic where there is one, with
// its location in the model. `scheduled`: the step of this plan of this module as the planner has
// scheduled it; it is compiled as it is, if its settings are those of `options`, which ask for
// nothing that is said of single passes. The executable has the same bytes without it.
Result<std::vector<uint8_t>> compileModel(mlir::ModuleOp module, Plan plan,
                                          const CompileOptions &options,
                                          ScheduledStep scheduled = {});

} // namespace dtc

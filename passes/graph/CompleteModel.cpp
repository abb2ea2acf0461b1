// From a model as it is written to the one that all passes see.
#include "passes/graph/CompleteModel.h"

#include "passes/graph/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace dtc {

LogicalResult completeModel(ModuleOp module) {
  PassManager passes(module->getContext());
  passes.addPass(createCompleteOps());
  return passes.run(module);
}

OwningOpRef<ModuleOp> completeModel(OwningOpRef<ModuleOp> written) {
  return written && succeeded(completeModel(*written)) ? std::move(written) : nullptr;
}

} // namespace dtc

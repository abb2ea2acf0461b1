// Turns the partitioned step into an exec.program (pass dtc-lower-to-exec).
#include "passes/schedule/ExecLowering.h"
#include "passes/schedule/ExecLoweringInterface.h"
#include "passes/schedule/Passes.h"

#include "mlir/Dialect/Shard/IR/ShardDialect.h"

namespace dtc {
#define GEN_PASS_DEF_LOWERTOEXEC
#include "passes/schedule/Passes.h.inc"
} // namespace dtc

using namespace mlir;

#include "passes/schedule/ExecLoweringInterface.cpp.inc"

namespace {
struct LowerToExec : dtc::impl::LowerToExecBase<LowerToExec> {
  using LowerToExecBase::LowerToExecBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    LowerToExecBase::getDependentDialects(registry);
    dtc::registerExecLowering(registry);
  }
  void runOnOperation() override {
    if (slots < 1) {
      getOperation().emitOpError()
          << "is to be scheduled with " << slots.getValue() << " slots; want 1 or more";
      return signalPassFailure();
    }
    if (failed(dtc::ExecLowering(getOperation(), {slots, splitBackward}).run()))
      signalPassFailure();
  }
};
} // namespace

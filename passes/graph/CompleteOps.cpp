// Writes out what a model leaves to the compiler (pass dtc-complete-ops).
#include "passes/graph/Passes.h"

#include "dialects/graph/Graph.h"

#include "llvm/ADT/DenseSet.h"

namespace dtc {
#define GEN_PASS_DEF_COMPLETEOPS
#include "passes/graph/Passes.h.inc"

using namespace mlir;

namespace {

// Hands out stream numbers, from 1 on, that no random op of the module has.
class FreeStreams {
public:
  explicit FreeStreams(ModuleOp module) {
    module.walk([&](graph::RandomOpInterface op) { taken.insert(op.getStream()); });
  }

  int64_t next() {
    while (taken.contains(last + 1))
      ++last;
    return ++last;
  }

private:
  llvm::DenseSet<int64_t> taken;
  int64_t last = 0;
};

struct CompleteOps : impl::CompleteOpsBase<CompleteOps> {
  using CompleteOpsBase::CompleteOpsBase;

  void runOnOperation() override {
    FreeStreams streams(getOperation());
    SmallVector<graph::ShortFormOpInterface> shortOps;
    getOperation().walk([&](graph::ShortFormOpInterface op) {
      if (op.isShort())
        shortOps.push_back(op);
    });
    for (graph::ShortFormOpInterface op : shortOps) {
      OpBuilder builder(op);
      op.writeOut(builder, [&] { return streams.next(); });
    }
  }
};

} // namespace
} // namespace dtc

// Replaces calls of blocks by their bodies (pass dtc-inline-calls).
#include "passes/shard/Passes.h"

#include "dialects/graph/Graph.h"
#include "mlir/IR/IRMapping.h"

namespace dtc {
#define GEN_PASS_DEF_INLINECALLS
#include "passes/shard/Passes.h.inc"

using namespace mlir;

namespace {

// Clones the callee in front of the call; random ops draw from the stream of the call's instance.
void inlineCall(graph::CallOp call, graph::FuncOp callee) {
  OpBuilder builder(call);
  IRMapping mapping;
  mapping.map(callee.getArguments(), call.getOperands());
  for (Operation &op : callee.getBody().front().without_terminator()) {
    Operation *clone = builder.clone(op, mapping);
    clone->setLoc(CallSiteLoc::get(op.getLoc(), call.getLoc()));
    if (auto random = dyn_cast<graph::RandomOpInterface>(clone))
      random.setInstance(call.getInstance());
  }
  Operation *terminator = callee.getBody().front().getTerminator();
  for (auto [result, value] : llvm::zip(call.getResults(), terminator->getOperands()))
    result.replaceAllUsesWith(mapping.lookupOrDefault(value));
  call.erase();
}

struct InlineCalls : impl::InlineCallsBase<InlineCalls> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    // A callee may call further blocks: repeat until only kernels are left to call.
    for (bool changed = true; changed;) {
      changed = false;
      SmallVector<graph::CallOp> calls;
      module.walk([&](graph::CallOp call) { calls.push_back(call); });
      for (graph::CallOp call : calls) {
        auto callee = module.lookupSymbol<graph::FuncOp>(call.getCallee());
        if (!callee || callee.getKernel() || callee.getBody().empty() ||
            call->getParentOp() == callee)
          continue;
        inlineCall(call, callee);
        changed = true;
      }
    }
    for (auto func : llvm::make_early_inc_range(module.getOps<graph::FuncOp>()))
      if (func.isPrivate() && !func.getKernel() && SymbolTable::symbolKnownUseEmpty(func, module))
        func.erase();
  }
};

} // namespace
} // namespace dtc

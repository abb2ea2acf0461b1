// Drops ops, blocks and arguments that the loss does not depend on (pass dtc-drop-unread).
#include "passes/graph/Passes.h"

#include "dialects/graph/Graph.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace dtc {
#define GEN_PASS_DEF_DROPUNREAD
#include "passes/graph/Passes.h.inc"

using namespace mlir;

namespace {

class UnreadDropper {
public:
  explicit UnreadDropper(ModuleOp module) : module(module) {}

  void run() {
    for (bool isChanged = true; isChanged;) {
      isChanged = false;
      for (auto func : module.getOps<graph::FuncOp>())
        isChanged |= dropOps(func);
      for (auto func : llvm::make_early_inc_range(module.getOps<graph::FuncOp>()))
        if (func.isPrivate())
          isChanged |= dropBlock(func) || dropArguments(func);
    }
  }

private:
  static bool isUnread(Operation &op) {
    return op.use_empty() && (isa<graph::BlockCallOpInterface>(op) || isOpTriviallyDead(&op));
  }

  static bool dropOps(graph::FuncOp func) {
    bool isChanged = false;
    SmallVector<Operation *> ops;
    for (Operation &op : func.getBody().front().without_terminator())
      ops.push_back(&op);
    for (Operation *op : llvm::reverse(ops)) // readers before the values that they read
      if (isUnread(*op)) {
        op->erase();
        isChanged = true;
      }
    return isChanged;
  }

  bool dropBlock(graph::FuncOp block) {
    if (!SymbolTable::symbolKnownUseEmpty(block, module))
      return false;
    block.erase();
    return true;
  }

  // Drops arguments that a block does not read, from the block and its calls; carried arguments of
  // a repeat stay.
  bool dropArguments(graph::FuncOp block) {
    SmallVector<graph::BlockCallOpInterface> calls;
    int64_t carried = 0;
    module.walk([&](graph::BlockCallOpInterface call) {
      if (call.getBlockName() != block.getSymName())
        return;
      calls.push_back(call);
      carried = std::max(carried, call.getNumCarried());
    });
    bool isChanged = false;
    for (unsigned index = block.getNumArguments(); index-- > static_cast<unsigned>(carried);) {
      if (!block.getArgument(index).use_empty())
        continue;
      if (failed(block.eraseArgument(index)))
        continue;
      for (graph::BlockCallOpInterface call : calls)
        call->eraseOperand(index);
      isChanged = true;
    }
    return isChanged;
  }

  ModuleOp module;
};

struct DropUnread : impl::DropUnreadBase<DropUnread> {
  void runOnOperation() override { UnreadDropper(getOperation()).run(); }
};

} // namespace
} // namespace dtc

// Moves updates whose state is in host memory to the host (pass dtc-offload-update).
#include "passes/schedule/Passes.h"

#include "dialects/graph/Graph.h"
#include "dialects/graph/HostMemory.h"
#include "dialects/graph/OffloadOps.h"
#include "dialects/graph/TransferOps.h"

#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"

namespace dtc {
#define GEN_PASS_DEF_OFFLOADUPDATE
#include "passes/schedule/Passes.h.inc"
} // namespace dtc

using namespace mlir;
using namespace dtc;

namespace {
// Makes one pass over the ops of '@update', each of which follows its operands:
// 1. Reads of the host's state are on the host.
// 2. Ops that use a value on the host are on the host too, except ops that move data between ranks,
// which run on devices.
// 3. Every op gets its operands in its own memory: a copy of each tensor, made before its first
// reader; for the new value of a parameter, as soon as it is computed, because it goes to the
// memory of the parameter. Constants are made in both memories.
class Offloader {
public:
  explicit Offloader(ModuleOp module) : builder(module.getContext()) {
    for (auto state : module.getOps<graph::StateOp>())
      if (state->hasAttr(graph::kHostAttr))
        hostSymbols.insert(state.getSymName());
  }

  bool isNeeded() const { return !hostSymbols.empty(); }

  void run(graph::FuncOp update) {
    for (Operation &op : llvm::make_early_inc_range(update.getBody().front()))
      visit(op);
  }

  unsigned numMoved = 0, numCopies = 0;

private:
  static bool isDevices(Operation &op) {
    return isa_and_nonnull<shard::ShardDialect>(op.getDialect()) ||
           op.hasTrait<OpTrait::IsTerminator>() ||
           isa<graph::StageReduceOp, graph::SendOp, graph::ReceiveOp>(op);
  }

  void visit(Operation &op) {
    if (auto get = dyn_cast<graph::GetOp>(op)) {
      if (hostSymbols.contains(get.getSymbol()))
        onHost.insert(get.getResult());
      return;
    }
    if (auto set = dyn_cast<graph::SetOp>(op)) {
      bring(op, hostSymbols.contains(set.getSymbol()));
      return;
    }
    bool host = !isDevices(op) && llvm::any_of(op.getOperands(), [&](Value operand) {
      return onHost.contains(operand);
    });
    bring(op, host);
    if (!host)
      return;
    op.setAttr(graph::kHostAttr, builder.getUnitAttr());
    onHost.insert_range(op.getResults());
    ++numMoved;
  }

  void bring(Operation &op, bool host) {
    for (OpOperand &operand : op.getOpOperands())
      if (onHost.contains(operand.get()) != host)
        operand.set(copyOf(operand.get(), op));
  }

  Value copyOf(Value value, Operation &reader) {
    Value &copy = copies[value];
    if (copy)
      return copy;
    Operation *maker = value.getDefiningOp();
    bool toHost = !onHost.contains(value);
    if (maker && isa<graph::SetOp>(reader))
      builder.setInsertionPointAfter(maker);
    else
      builder.setInsertionPoint(&reader);
    if (toHost && maker && maker->hasTrait<OpTrait::ConstantLike>()) {
      copy = builder.clone(*maker)->getResult(0);
      copy.getDefiningOp()->setAttr(graph::kHostAttr, builder.getUnitAttr());
    } else {
      copy = toHost ? graph::ToHostOp::create(builder, reader.getLoc(), value).getResult()
                    : graph::ToDeviceOp::create(builder, reader.getLoc(), value).getResult();
      ++numCopies;
    }
    if (toHost)
      onHost.insert(copy);
    return copy;
  }

  llvm::StringSet<> hostSymbols;
  OpBuilder builder;
  llvm::DenseSet<Value> onHost;
  llvm::DenseMap<Value, Value> copies; // the copy in the other memory
};

struct OffloadUpdate : dtc::impl::OffloadUpdateBase<OffloadUpdate> {
  void runOnOperation() override {
    auto update = getOperation().lookupSymbol<graph::FuncOp>(graph::kUpdateFunction);
    Offloader offloader(getOperation());
    if (!update || !offloader.isNeeded())
      return;
    offloader.run(update);
    moved += offloader.numMoved;
    copies += offloader.numCopies;
  }
};
} // namespace

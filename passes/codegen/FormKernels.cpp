// Outlines everything that no library computes into kernel functions (pass dtc-form-kernels).
#include "dialects/graph/Chunks.h"
#include "dialects/graph/FunctionBodies.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/HostMemory.h"
#include "dialects/graph/LossChunks.h"
#include "dialects/graph/RouteOps.h"
#include "dialects/graph/Unfinished.h"
#include "mlir/IR/IRMapping.h"
#include "passes/codegen/KernelBuilder.h"
#include "passes/codegen/KernelFunction.h"
#include "passes/codegen/KernelGrouping.h"
#include "passes/codegen/KernelInterfaces.h"
#include "passes/codegen/Passes.h"
#include "passes/codegen/UnfinishedSums.h"
#include "llvm/ADT/SetVector.h"

namespace dtc {
#define GEN_PASS_DEF_FORMKERNELS
#include "passes/codegen/Passes.h.inc"
} // namespace dtc

using namespace mlir;
using namespace dtc;
using namespace dtc::graph;

namespace {

// The output of '@update' by which gradients are multiplied before they are written: see
// passes/schedule/FinalGradients.h.
constexpr StringRef kGradientScale = "gradient_scale";

// Makes kernel functions, one per distinct body.
class KernelOutliner {
public:
  explicit KernelOutliner(ModuleOp module) : module(module), kernels(module, "kernel_") {}

  // Replaces the neighbouring ops of a group by a call. `unfinished` holds the values that are
  // partial sums.
  void outline(const KernelGroup &group, const llvm::DenseMap<Value, int64_t> &unfinished) {
    llvm::SmallSetVector<Value, 8> inputs, outputs;
    llvm::SmallPtrSet<Operation *, 8> inside(group.ops.begin(), group.ops.end());
    for (Operation *op : group.ops) {
      for (Value operand : op->getOperands())
        if (!operand.getDefiningOp() || !inside.contains(operand.getDefiningOp()))
          inputs.insert(operand);
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUsers(),
                         [&](Operation *user) { return !inside.contains(user); }) ||
            isAlwaysWritten(op))
          outputs.insert(result);
    }
    // Keeps one result of a dead group, whose results are never read, so that the function is well
    // formed.
    if (outputs.empty())
      outputs.insert(group.ops.back()->getResult(0));
    SmallVector<Location> locations;
    for (Operation *op : group.ops)
      locations.push_back(op->getLoc());
    SmallVector<int64_t> streams;
    unsigned numBefore = kernels.numAdded();
    FuncOp kernel =
        kernels.getOrAdd(build(group, inputs.getArrayRef(), outputs.getArrayRef(), streams));
    if (kernels.numAdded() > numBefore) // kernels with equal bodies have equal attributes
      setKernelAttributes(kernel);
    OpBuilder builder(group.ops.back());
    builder.setInsertionPointAfter(group.ops.back());
    auto call = CallOp::create(
        builder, builder.getFusedLoc(locations), kernel.getFunctionType().getResults(),
        FlatSymbolRefAttr::get(kernel.getSymNameAttr()), inputs.getArrayRef(), /*instance=*/0);
    if (!streams.empty())
      call.setStreams(streams);
    if (std::optional<ChunkLabel> label = getChunkLabel(group.ops.front()))
      setChunkLabel(call, *label);
    if (Attribute host = group.ops.front()->getAttr(kHostAttr))
      call->setAttr(kHostAttr, host);
    for (Operation *op : group.ops) // constants may join a chunk of the loss
      if (Attribute chunk = op->getAttr(kLossChunkAttr))
        call->setAttr(kLossChunkAttr, chunk);
    SmallVector<int64_t> shares;
    for (Value output : outputs)
      shares.push_back(unfinished.lookup(output));
    if (llvm::any_of(shares, [](int64_t axes) { return axes != 0; }))
      call->setAttr(kernelSharesName, builder.getDenseI64ArrayAttr(shares));
    for (auto [output, result] : llvm::zip_equal(outputs.takeVector(), call.getResults()))
      output.replaceUsesWithIf(result,
                               [&](OpOperand &use) { return !inside.contains(use.getOwner()); });
    for (Operation *op : llvm::reverse(group.ops))
      op->erase();
  }

  unsigned numKernels() const { return kernels.numAdded(); }

private:
  // Builds the function of a group. Groups that differ only in the streams of their random ops
  // share a kernel, so the streams go to `streams`, for the call.
  FuncOp build(const KernelGroup &group, ArrayRef<Value> inputs, ArrayRef<Value> outputs,
               SmallVectorImpl<int64_t> &streams) {
    OpBuilder builder(module.getContext());
    auto type =
        builder.getFunctionType(TypeRange(ValueRange(inputs)), TypeRange(ValueRange(outputs)));
    auto kernel = FuncOp::create(builder, group.ops.front()->getLoc(), "kernel", type);
    kernel.setVisibility(SymbolTable::Visibility::Private);
    kernel.setKernel(true);
    if (Attribute host = group.ops.front()->getAttr(kHostAttr))
      kernel->setAttr(kHostAttr, host);
    Block *body = kernel.addEntryBlock();
    IRMapping map;
    map.map(inputs, body->getArguments());
    builder.setInsertionPointToEnd(body);
    for (Operation *op : group.ops) {
      Operation *copy = builder.clone(*op, map);
      eraseChunkLabel(copy); // labels, host mark and partial sums belong to the call
      copy->removeAttr(kHostAttr);
      copy->removeAttr(kUnfinishedAttr);
      copy->removeAttr(kLossChunkAttr);
      if (auto random = dyn_cast<RandomOpInterface>(copy)) {
        streams.push_back(random.getStream());
        random.setStream(0);
      }
    }
    SmallVector<Value> results;
    for (Value output : outputs)
      results.push_back(map.lookup(output));
    ReturnOp::create(builder, group.ops.back()->getLoc(), results);
    return kernel;
  }

  // Returns true if all results of an op are written, whether they are read or not. Indices of rows
  // that are computed again, without their counts, are then those of the same kernel: 'dtc verify'
  // knows from the kernel that both are equal.
  static bool isAlwaysWritten(Operation *op) { return isa<PlaceRowsOp>(op); }

  ModuleOp module;
  KernelPool kernels;
};

// Fails if a type of the op is not static: generated code has the sizes built in.
LogicalResult checkStatic(Operation *op) {
  auto isStatic = [](Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    return shaped && shaped.hasStaticShape();
  };
  if (llvm::all_of(op->getOperandTypes(), isStatic) && llvm::all_of(op->getResultTypes(), isStatic))
    return success();
  return op->emitOpError("cannot become a kernel as a dim has no fixed size; "
                         "run dtc-bind-batch before dtc-form-kernels");
}

struct FormKernels : dtc::impl::FormKernelsBase<FormKernels> {
  void getDependentDialects(DialectRegistry &registry) const override {
    FormKernelsBase::getDependentDialects(registry);
    registerKernelInterfaces(registry);
  }

  LogicalResult formKernels(FuncOp function, KernelOutliner &outliner) {
    Block &block = function.getBody().front();
    completeChunks(function);
    splitConstants(block);
    // Lets evaluation compute the loss, and entry 'gradients' the scale of gradients, without the
    // rest of the update, which would change parameters and state.
    std::vector<OpSet> apart;
    for (StringRef output : {StringRef(kLossSum), kGradientScale})
      apart.push_back(getProducers(getResultsWith(function, kOutputAttr, output)));
    std::vector<KernelGroup> groups = groupKernels(block, apart);
    for (const KernelGroup &group : groups)
      for (Operation *op : group.ops)
        if (group.isKernel && failed(checkStatic(op)))
          return failure();
    for (const KernelGroup &group : groups)
      for (Operation *op : group.ops)
        op->moveBefore(block.getTerminator());
    llvm::DenseMap<Value, int64_t> unfinished = findUnfinished(block);
    for (const KernelGroup &group : groups) {
      if (!group.isKernel)
        continue;
      ++numCalls;
      numFused += group.ops.size() > 1 ? group.ops.size() : 0;
      outliner.outline(group, unfinished);
    }
    return success();
  }

  void runOnOperation() override {
    KernelOutliner outliner(getOperation());
    for (FuncOp func : llvm::make_early_inc_range(getOperation().getOps<FuncOp>()))
      if (!func.getKernel() && !func.isExternal() && failed(formKernels(func, outliner)))
        return signalPassFailure();
    numKernels += outliner.numKernels();
  }
};

} // namespace

#include "compiler/price/workload/Epilogues.h"

#include "dialects/graph/Epilogue.h"
#include "dialects/graph/Views.h"
#include "passes/codegen/KernelGrouping.h"
#include "passes/codegen/UnfinishedSums.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace dtc {
namespace {

// A block as dtc-form-kernels finds it, in a copy: each user of a constant has its own.
class KernelsOfBlock {
public:
  explicit KernelsOfBlock(Block &block) {
    auto func = cast<graph::FuncOp>(block.getParentOp());
    IRMapping map;
    copy = cast<graph::FuncOp>(func->clone(map));
    for (auto [original, copied] : map.getOperationMap())
      originals[copied] = original;
    Block &body = copy->getBody().front();
    splitConstants(body);
    groups = groupKernels(body);
    unfinished = findUnfinished(body);
  }

  // Returns the op of the block that an op of the copy stands for; null for a copied constant.
  Operation *originalOf(Operation *op) const { return originals.lookup(op); }
  // Returns true if ranks have yet to add up a value of the copy.
  bool isUnfinished(Value value) const { return unfinished.contains(value); }

  std::vector<KernelGroup> groups;

private:
  OwningOpRef<graph::FuncOp> copy;
  llvm::DenseMap<Operation *, Operation *> originals;
  llvm::DenseMap<Value, int64_t> unfinished;
};

// Returns the product of which a value is the result, in any shape, if nothing else reads it.
std::optional<graph::EpilogueProduct> onlyReadProduct(Value value) {
  for (; value.hasOneUse(); value = value.getDefiningOp()->getOperand(0))
    if (!graph::isView(value.getDefiningOp()))
      return graph::productOf(value.getDefiningOp());
  return std::nullopt;
}

// Returns true if a value is a parameter: cuBLASLt wants biases at addresses that it has.
bool isParameter(Value value) {
  Operation *op = graph::rootOf(value).getDefiningOp();
  return !op || isa<graph::GetOp>(op);
}

// Returns the epilogue that a kernel is, of the first of its operands for which it is one.
std::optional<graph::Epilogue> epilogueOf(const KernelGroup &kernel, Value &product) {
  for (Operation *op : kernel.ops)
    for (Value operand : op->getOperands()) {
      auto of = onlyReadProduct(operand);
      auto epilogue = of ? graph::readEpilogue(operand, of->columns, kernel.ops) : std::nullopt;
      if (!epilogue || (epilogue->isOfLibrary() && !graph::hasVectorRows(of->columns, of->strides)))
        continue;
      if (epilogue->bias && !isParameter(epilogue->bias))
        continue;
      product = operand;
      return epilogue;
    }
  return std::nullopt;
}

// Returns the tensor that a product writes in place of its own result. With GELU that is the sum if
// others read it, so that GELU alone, as recomputation runs it, moves its result.
Value inPlaceOfProduct(const graph::Epilogue &epilogue) {
  return epilogue.sum && !epilogue.sum.hasOneUse() ? epilogue.sum : epilogue.main();
}

} // namespace

EpilogueParts findEpilogues(Block &block) {
  EpilogueParts parts;
  KernelsOfBlock kernels(block);
  for (const KernelGroup &kernel : kernels.groups) {
    Value product;
    std::optional<graph::Epilogue> epilogue = epilogueOf(kernel, product);
    if (!epilogue || kernels.isUnfinished(epilogue->main()))
      continue;
    for (Operation *op : epilogue->ops) {
      Operation *original = kernels.originalOf(op);
      EpiloguePart &part = parts[original];
      part.isNarrow = epilogue->isOfLibrary();
      for (auto [operand, copied] : llvm::zip_equal(original->getOperands(), op->getOperands()))
        if (copied == product)
          part.unmoved.push_back(operand);
      if (op->getResult(0) == inPlaceOfProduct(*epilogue))
        part.unmoved.push_back(original->getResult(0));
    }
  }
  return parts;
}

} // namespace dtc

// Reads the exchanges of rows of experts off a program, or adds those that it does not have.
#include "compiler/price/workload/CellBuilder.h"

#include "compiler/price/workload/OpFacts.h"
#include "dialects/graph/RouteOps.h"

using namespace mlir;

namespace dtc {

static bool hasAxisOf(Operation *collective, ArrayRef<unsigned> wanted) {
  auto axes = collective->getAttrOfType<DenseI16ArrayAttr>("grid_axes");
  return axes && llvm::any_of(axes.asArrayRef(), [&](int16_t axis) {
           return llvm::is_contained(wanted, static_cast<unsigned>(axis));
         });
}

bool CellBuilder::isAmongExperts(Operation *collective) const {
  return collectiveOf(collective)->kind == CollectiveKind::AllToAll &&
         hasAxisOf(collective, expertAxes);
}

bool CellBuilder::isOfSamples(Operation *collective) const {
  return exchangeRanks > 1 && !isAmongExperts(collective) && hasAxisOf(collective, sampleAxes);
}

std::vector<int> CellBuilder::packingOf(Operation *exchange) const {
  SmallVector<Operation *> around(exchange->getResult(0).getUsers());
  if (Operation *maker = rootOf(exchange->getOperand(0)).getDefiningOp())
    around.push_back(maker);
  for (Operation *op : around)
    if (isa<graph::PackRowsOp, graph::UnpackRowsOp>(op) && indices.contains(op))
      return {indices.at(op)};
  return {};
}

void CellBuilder::addDispatch(BlockCell &cell, Operation *op, const graph::OpRule &rule,
                              CellPhase phase) const {
  auto hasCapacity = [&](const graph::TensorLoops &tensor) {
    return llvm::any_of(rule.capacityLoops, [&](unsigned loop) {
      return llvm::any_of(
          tensor, [&](const graph::DimLoops &dim) { return llvm::is_contained(dim, loop); });
    });
  };
  bool into = llvm::any_of(rule.results, hasCapacity),
       outOf = llvm::any_of(rule.operands, hasCapacity);
  if (into == outOf)
    return;
  // The tokens are the tensor of most bytes on the other side.
  CellScale one;
  auto mostBytes = [&](ValueRange values) {
    double most = 1;
    for (Value value : values)
      most = std::max(most, bytesOf(value).at(one));
    return most;
  };
  double tokens = into ? mostBytes(op->getOperands()) : mostBytes(op->getResults());
  auto add = [&](ValueRange values, ArrayRef<graph::TensorLoops> tensors) {
    for (auto [value, tensor] : llvm::zip(values, tensors)) {
      if (!hasCapacity(tensor))
        continue;
      CellCollective exchange{CellAxis::Ep, CollectiveKind::AllToAll, phase, bytesOf(value)};
      exchange.isToExperts = into;
      exchange.copies = std::max(1.0, exchange.bytes.at(one) / tokens);
      cell.collectives.push_back(exchange);
    }
  };
  if (into)
    add(op->getResults(), rule.results);
  else
    add(op->getOperands(), rule.operands);
}

} // namespace dtc

// Finds the ops that hand-written kernels of some stacks fuse.
#include "compiler/price/workload/Fusions.h"

#include "compiler/price/workload/OpFacts.h"
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/GradientOps.h"
#include "dialects/graph/MoeOps.h"
#include "dialects/graph/NnOps.h"
#include "dialects/graph/RouteOps.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace dtc {
namespace {

class FusionFinder {
public:
  FusionFinder(BlockCell &cell, ArrayRef<Operation *> ops,
               const llvm::DenseMap<Operation *, int> &indices,
               llvm::function_ref<Amount(Value)> bytesOf)
      : cell(cell), ops(ops), indices(indices), bytesOf(bytesOf) {}

  void run() {
    findOfOneInput();
    for (Operation *op : ops) {
      findNormGradient(op);
      llvm::TypeSwitch<Operation *>(op)
          .Case<graph::AddOp>([&](auto add) { findAddedUp(add); })
          .Case<graph::SiluOp, graph::GeluOp>([&](auto gate) { findGate(gate); })
          .Case<graph::SiluGradOp, graph::GeluGradOp>(
              [&](auto gradient) { findGateGradient(gradient.getDy()); });
    }
  }

private:
  CellOp *cellOpOf(Operation *op) {
    auto found = indices.find(op);
    return found == indices.end() ? nullptr : &cell.ops[static_cast<size_t>(found->second)];
  }

  static bool isLinear(Operation *op) {
    return isa_and_nonnull<graph::LinearOp, graph::ExpertLinearOp, graph::GroupedLinearOp>(op);
  }

  // Finds matmuls of weights' gradients, and of the forward pass, that share their first operand.
  void findOfOneInput() {
    llvm::MapVector<std::pair<Value, OperationName>, SmallVector<Operation *>> readers;
    for (Operation *op : ops)
      if (const CellOp *of = cellOpOf(op);
          of && (isa<graph::LinearWeightGradOp, graph::ExpertLinearWeightGradOp,
                     graph::GroupedLinearWeightGradOp>(op) ||
                 (isLinear(op) && of->phase == CellPhase::Forward)))
        readers[{rootOf(op->getOperand(0)), op->getName()}].push_back(op);
    for (auto &[input, group] : readers)
      join(group, &CellOp::n, [](Operation *op) { return op->getOperand(0); });
  }

  // Products that a tree of additions sums, found at its root.
  void findAddedUp(graph::AddOp root) {
    auto outer = root->hasOneUse() ? dyn_cast<graph::AddOp>(*root->getUsers().begin()) : nullptr;
    if (!isOfProducts(root) || (outer && isOfProducts(outer)))
      return;
    llvm::SmallSetVector<Operation *, 4> additions, products;
    additions.insert(root);
    for (size_t next = 0; next < additions.size(); ++next)
      for (Value operand : additions[next]->getOperands())
        (isa<graph::AddOp>(operand.getDefiningOp()) ? additions : products)
            .insert(operand.getDefiningOp());
    bool areAllOne = join(products.getArrayRef(), &CellOp::k,
                          [](Operation *op) -> Value { return op->getResult(0); });
    for (Operation *addition : additions)
      if (CellOp *op = cellOpOf(addition))
        op->addsJoined = areAllOne;
  }

  // Returns true if both operands are results of matmuls, or sums of such, with no other reader.
  bool isOfProducts(graph::AddOp add) {
    return llvm::all_of(add->getOperands(), [&](Value operand) {
      Operation *op = operand.getDefiningOp();
      if (!op || !operand.hasOneUse() || !cellOpOf(op))
        return false;
      if (auto inner = dyn_cast<graph::AddOp>(op))
        return isOfProducts(inner);
      return isLinear(op) && cellOpOf(op)->phase != CellPhase::Forward;
    });
  }

  // Their sizes `grows` add up, and what is `shared` moves once. False where some stay by
  // themselves.
  bool join(ArrayRef<Operation *> group, int64_t CellOp::*grows,
            llvm::function_ref<Value(Operation *)> shared) {
    if (group.size() < 2)
      return false;
    bool areAllOne = true;
    const CellOp &first = *cellOpOf(group.front());
    for (Operation *op : group) {
      CellOp &each = *cellOpOf(op);
      auto isEqual = [&](int64_t CellOp::*size, uint8_t CellOp::*scale) {
        return first.*scale == each.*scale && (grows == size || first.*size == each.*size);
      };
      if (!isEqual(&CellOp::m, &CellOp::mScale) || !isEqual(&CellOp::n, &CellOp::nScale) ||
          !isEqual(&CellOp::k, &CellOp::kScale) || !isEqual(&CellOp::batch, &CellOp::batchScale)) {
        areAllOne = false; // it has another shape
        continue;
      }
      each.joinsAt = indices.at(group.front());
      each.grows = grows;
      each.sharedBytes = bytesOf(shared(op));
    }
    return areAllOne;
  }

  // The activated gate stays in registers until it is multiplied.
  void findGate(Operation *gate) {
    Value activated = gate->getResult(0);
    bool isGate = llvm::any_of(activated.getUsers(),
                               [](Operation *user) { return isa<graph::MultiplyOp>(user); });
    CellOp *op = cellOpOf(gate);
    if (!isGate || !op || activated.hasOneUse())
      return;
    op->fusion = Fusion::Gate;
    op->fusedBytes = bytesOf(activated);
  }

  // d(gate) = silu'(gate) (dy * up) and d(up) = dy * silu(gate) of one reading of dy, gate and up.
  void findGateGradient(Value gradientOfActivated) {
    auto product = gradientOfActivated.getDefiningOp<graph::MultiplyOp>();
    if (!product)
      return;
    for (Value dy : product->getOperands())
      for (Operation *user : dy.getUsers()) {
        auto other = dyn_cast<graph::MultiplyOp>(user);
        CellOp *op = cellOpOf(user);
        if (!other || other == product || !op)
          continue;
        Value activated = other.getLhs() == dy ? other.getRhs() : other.getLhs();
        op->fusion = Fusion::Gate;
        for (Value read : {activated, dy})
          // A fusible producer leaves the operand in registers already.
          if (!isFusible(read.getDefiningOp()))
            op->fusedBytes += bytesOf(read);
      }
  }

  // Fuses the gradient of a norm's parameter, if it reads nothing that the gradient of the input
  // does not.
  void findNormGradient(Operation *gradient) {
    auto interface = dyn_cast<graph::RuleOpInterface>(gradient);
    CellOp *op = cellOpOf(gradient);
    if (!interface || !op || op->phase != CellPhase::BackwardWeight ||
        interface.getRule().kind != graph::OpKind::Normalisation)
      return;
    op->fusion = Fusion::NormGradients;
    for (Value operand : gradient->getOperands())
      op->fusedBytes += bytesOf(operand);
  }

  BlockCell &cell;
  ArrayRef<Operation *> ops;
  const llvm::DenseMap<Operation *, int> &indices;
  llvm::function_ref<Amount(Value)> bytesOf;
};

void takeNothing(CellOp &op) {
  op.kind = WorkKind::Memory;
  op.joined = true;
  op.m = op.n = op.k = op.batch = 0;
  op.flops = 0;
  op.bytes = op.looseBytes = op.unmovedBytes = {};
}

} // namespace

void markFusions(BlockCell &cell, ArrayRef<Operation *> ops,
                 const llvm::DenseMap<Operation *, int> &indices,
                 llvm::function_ref<Amount(Value)> bytesOf) {
  FusionFinder(cell, ops, indices, bytesOf).run();
}

void joinProducts(BlockCell &cell) {
  llvm::SmallSet<int, 4> unread(cell.unreadOps.begin(), cell.unreadOps.end());
  for (auto [index, op] : llvm::enumerate(cell.ops)) {
    auto at = static_cast<int>(index);
    if (op.addsJoined)
      takeNothing(op);
    if (op.joinsAt < 0 || op.joinsAt == at)
      continue;
    CellOp &first = cell.ops[static_cast<size_t>(op.joinsAt)];
    // Recomputation takes all of a product or none of it.
    if (op.runsAgain != first.runsAgain || unread.contains(at) != unread.contains(op.joinsAt))
      continue;
    first.*op.grows += op.*op.grows;
    first.flops += op.flops;
    first.bytes += op.bytes;
    first.bytes -= op.sharedBytes;
    takeNothing(op);
  }
}

} // namespace dtc

// Finds the collectives of data parallelism: reductions of gradients, gathers of new parameters.
#include "passes/schedule/GradientCollectives.h"

#include "passes/schedule/Dependences.h"
#include "passes/schedule/Ordering.h"

using namespace mlir;
using namespace dtc;

namespace {
bool isKind(Value buffer, exec::BufferKind kind) { return getRootOp(buffer).getKind() == kind; }

bool writes(exec::InstructionOpInterface instruction, Value root) {
  return llvm::any_of(instruction.getWrittenBuffers(),
                      [&](Value buffer) { return exec::getRange(buffer).root == root; });
}

// Adds the copies and zeros that write `root` before `user`, and what makes their sources unless
// that is a gradient. Fails when something else writes it.
bool collectPacking(Value root, exec::InstructionOpInterface user,
                    SmallVectorImpl<exec::InstructionOpInterface> &packing) {
  bool any = false;
  for (exec::InstructionOpInterface access : getAccesses(root)) {
    if (!access->isBeforeInBlock(user) || !writes(access, root))
      continue;
    any = true;
    auto copy = dyn_cast<exec::CopyOp>(access.getOperation());
    if (!copy && !isa<exec::ZeroOp>(access.getOperation()))
      return false;
    packing.push_back(access);
    if (!copy || isKind(copy.getSrc(), exec::BufferKind::Gradient))
      continue;
    Value source = exec::getRange(copy.getSrc()).root;
    if (source == root || copy.getAccumulate() || !collectPacking(source, copy, packing))
      return false;
  }
  return any;
}
} // namespace

SmallVector<exec::InstructionOpInterface> dtc::getPacking(exec::CollectiveOp collective) {
  SmallVector<exec::InstructionOpInterface> packing;
  if (isKind(collective.getSrc(), exec::BufferKind::Gradient) ||
      !collectPacking(exec::getRange(collective.getSrc()).root, collective, packing))
    return {};
  llvm::sort(packing, [](exec::InstructionOpInterface a, exec::InstructionOpInterface b) {
    return a->isBeforeInBlock(b);
  });
  return packing;
}

bool dtc::isGradientReduction(exec::CollectiveOp collective) {
  if (collective.getKind() != exec::CollectiveKind::AllReduce &&
      collective.getKind() != exec::CollectiveKind::ReduceScatter)
    return false;
  return isKind(collective.getSrc(), exec::BufferKind::Gradient) || !getPacking(collective).empty();
}

bool dtc::isParameterGather(exec::CollectiveOp collective) {
  if (collective.getKind() != exec::CollectiveKind::AllGather)
    return false;
  if (isKind(collective.getDst(), exec::BufferKind::Parameter))
    return true;
  bool any = false;
  for (exec::InstructionOpInterface access :
       getAccesses(exec::getRange(collective.getDst()).root)) {
    if (access == collective)
      continue;
    auto copy = dyn_cast<exec::CopyOp>(access.getOperation());
    if (!copy || !isKind(copy.getDst(), exec::BufferKind::Parameter))
      return false;
    any = true;
  }
  return any;
}

void dtc::joinReductions(exec::ProgramOp program) {
  auto isInPlace = [](exec::CollectiveOp op) {
    return op.getKind() == exec::CollectiveKind::AllReduce && op.getSrc() == op.getDst();
  };
  for (auto second : llvm::make_early_inc_range(program.getBody().getOps<exec::CollectiveOp>())) {
    if (!isInPlace(second))
      continue;
    auto accesses = getAccesses(exec::getRange(second.getSrc()).root);
    auto place = llvm::find(accesses, second);
    if (place == accesses.begin())
      continue;
    auto first = dyn_cast<exec::CollectiveOp>((place - 1)->getOperation());
    if (!first || !isInPlace(first) || first.getSrc() != second.getSrc() ||
        first.getReduce() != second.getReduce())
      continue;
    SmallVector<int64_t> axes(first.getAxes());
    llvm::append_range(axes, second.getAxes());
    llvm::sort(axes);
    if (std::adjacent_find(axes.begin(), axes.end()) != axes.end())
      continue;
    second.setAxes(axes);
    first.erase();
  }
}

void dtc::hoistGradientReductions(exec::ProgramOp program) {
  llvm::SmallPtrSet<Operation *, 16> hoisted;
  for (auto collective :
       llvm::make_early_inc_range(program.getBody().getOps<exec::CollectiveOp>())) {
    if (!isGradientReduction(collective))
      continue;
    SmallVector<exec::InstructionOpInterface> group = getPacking(collective);
    group.push_back(collective);
    // The last instruction before the collective that some member of the group depends on.
    Operation *last = nullptr;
    for (Operation *op = collective->getPrevNode(); op && !last; op = op->getPrevNode()) {
      auto before = dyn_cast<exec::InstructionOpInterface>(op);
      if (!before)
        break;
      if (!llvm::is_contained(group, before) &&
          llvm::any_of(group, [&](auto member) { return conflict(before, member); }))
        last = op;
    }
    if (!last)
      continue;
    while (hoisted.contains(last->getNextNode())) // keeps the order of those with one producer
      last = last->getNextNode();
    for (exec::InstructionOpInterface member : group) {
      if (member->isBeforeInBlock(last))
        continue;
      member->moveAfter(last);
      hoisted.insert(member);
      last = member;
    }
  }
}

// The collectives that travel beside compute: reductions of gradients, gathers of parameters.
#include "passes/schedule/GradientCollectives.h"

#include "passes/schedule/Dependences.h"
#include "passes/schedule/ExecutionLabels.h"
#include "passes/schedule/Ordering.h"

using namespace mlir;
using namespace dtc;

namespace {
bool writes(exec::InstructionOpInterface instruction, Value root) {
  return llvm::any_of(instruction.getWrittenBuffers(),
                      [&](Value buffer) { return exec::getRange(buffer).root == root; });
}

// Whether every entry that runs the task of `b` runs that of `a`.
bool runsWhere(Operation *a, Operation *b) {
  auto taskOf = [](Operation *op) { return cast<exec::TaskOp>(op->getParentOp()); };
  auto runs = [](exec::EntryOp entry, exec::TaskOp task) {
    return llvm::is_contained(entry.getTasks(), FlatSymbolRefAttr::get(task.getSymNameAttr()));
  };
  exec::TaskOp of = taskOf(a), from = taskOf(b);
  auto entries = of->getParentOfType<exec::ProgramOp>().getBody().getOps<exec::EntryOp>();
  return of == from || llvm::all_of(entries, [&](exec::EntryOp entry) {
           return runs(entry, of) || !runs(entry, from);
         });
}

// The last instruction before `end`, and none of `group`, that some member of the group depends on;
// null where there is none. Only what uses the same buffers can be.
Operation *lastDependence(ArrayRef<exec::InstructionOpInterface> group, Operation *end) {
  Operation *last = nullptr;
  for (exec::InstructionOpInterface member : group)
    for (Value operand : member->getOperands())
      for (exec::InstructionOpInterface access : getAccesses(exec::getRange(operand).root))
        if (comesBefore(access, end) && (!last || comesBefore(last, access)) &&
            !llvm::is_contained(group, access) && conflict(access, member))
          last = access;
  return last;
}

// The copies and zeros that write `root` before `user`, where nothing else does and nothing is
// added up there; then also those that make the sources of these copies in the same way.
SmallVector<exec::InstructionOpInterface> packingOf(Value root, exec::InstructionOpInterface user) {
  SmallVector<exec::InstructionOpInterface> packing, sources;
  for (exec::InstructionOpInterface access : getAccesses(root)) {
    if (!comesBefore(access, user) || !writes(access, root))
      continue;
    packing.push_back(access);
    if (isa<exec::ZeroOp>(access.getOperation()))
      continue;
    auto copy = dyn_cast<exec::CopyOp>(access.getOperation());
    if (!copy || copy.getAccumulate() || exec::getRange(copy.getSrc()).root == root)
      return {};
    llvm::append_range(sources, packingOf(exec::getRange(copy.getSrc()).root, copy));
  }
  llvm::append_range(packing, sources);
  return packing;
}
} // namespace

SmallVector<exec::InstructionOpInterface> dtc::getPacking(exec::CollectiveOp collective) {
  SmallVector<exec::InstructionOpInterface> packing =
      packingOf(exec::getRange(collective.getSrc()).root, collective);
  llvm::sort(packing, [](exec::InstructionOpInterface a, exec::InstructionOpInterface b) {
    return comesBefore(a, b);
  });
  packing.erase(std::unique(packing.begin(), packing.end()), packing.end());
  return packing;
}

SmallVector<exec::CopyOp> dtc::getUnpacking(exec::CollectiveOp collective) {
  Value root = exec::getRange(collective.getDst()).root;
  if (getRootOp(collective.getDst()).getPersistent())
    return {};
  SmallVector<exec::CopyOp> copies;
  for (exec::InstructionOpInterface access : getAccesses(root)) {
    if (access == collective)
      continue;
    auto copy = dyn_cast<exec::CopyOp>(access.getOperation());
    if (!copy || exec::getRange(copy.getSrc()).root != root ||
        exec::getRange(copy.getDst()).root == root || copy->getBlock() != collective->getBlock() ||
        copy->isBeforeInBlock(collective))
      return {};
    for (Operation *op = collective->getNextNode(); op != copy; op = op->getNextNode())
      if (conflict(cast<exec::InstructionOpInterface>(op), copy))
        return {};
    copies.push_back(copy);
  }
  return copies;
}

bool dtc::isGradientReduction(exec::CollectiveOp collective) {
  return collective.getRole() == exec::CollectiveRole::Gradient && collective.getAsync() &&
         (collective.getKind() == exec::CollectiveKind::AllReduce ||
          collective.getKind() == exec::CollectiveKind::ReduceScatter);
}

bool dtc::isParameterGather(exec::CollectiveOp collective) {
  return collective.getRole() == exec::CollectiveRole::Parameter && collective.getAsync() &&
         collective.getKind() == exec::CollectiveKind::AllGather;
}

void dtc::joinReductions(exec::ProgramOp program) {
  auto isInPlace = [](exec::CollectiveOp op) {
    return op.getKind() == exec::CollectiveKind::AllReduce && op.getSrc() == op.getDst();
  };
  for (exec::CollectiveOp second : getInstructionsOf<exec::CollectiveOp>(program)) {
    if (!isInPlace(second))
      continue;
    auto accesses = getAccesses(exec::getRange(second.getSrc()).root);
    auto place = llvm::find(accesses, second);
    if (place == accesses.begin())
      continue;
    auto first = dyn_cast<exec::CollectiveOp>((place - 1)->getOperation());
    if (!first || !isInPlace(first) || first.getSrc() != second.getSrc() ||
        first.getReduce() != second.getReduce() || first.getRole() != second.getRole() ||
        first.getAsync() != second.getAsync() || isRepeated(first) != isRepeated(second) ||
        first.getOver() || second.getOver())
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
  for (exec::CollectiveOp collective : getInstructionsOf<exec::CollectiveOp>(program)) {
    if (!isGradientReduction(collective))
      continue;
    SmallVector<exec::InstructionOpInterface> group = getPacking(collective);
    group.push_back(collective);
    Operation *last = lastDependence(group, collective);
    if (!last || !runsWhere(last, collective))
      continue;
    while (hoisted.contains(last->getNextNode())) // keeps the order of those with one producer
      last = last->getNextNode();
    for (exec::InstructionOpInterface member : group) {
      if (comesBefore(member, last))
        continue;
      bool once = !isRepeated(member);
      member->moveAfter(last);
      // A sum over micro-batches is complete with the last of them.
      if (once && isRepeated(member))
        member.setRunsLastOnly();
      hoisted.insert(member);
      last = member;
    }
    if (getExecution(collective))
      for (exec::CopyOp copy : llvm::reverse(getUnpacking(collective)))
        copy->moveAfter(collective);
  }
}

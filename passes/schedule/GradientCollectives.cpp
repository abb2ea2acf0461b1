// The collectives that overlap with compute: reductions of gradients, gathers of parameters.
#include "passes/schedule/GradientCollectives.h"

#include "passes/schedule/Dependences.h"
#include "passes/schedule/ExecutionLabels.h"
#include "passes/schedule/Ordering.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace dtc;

namespace {
bool writes(exec::InstructionOpInterface instruction, Value root) {
  return llvm::any_of(instruction.getWrittenBuffers(),
                      [&](Value buffer) { return exec::getRange(buffer).root == root; });
}

// The tasks that each entry of a program runs. A walk over the program for each question would pass
// all of its buffers.
class EntryTasks {
public:
  explicit EntryTasks(exec::ProgramOp program) {
    for (auto entry : program.getBody().getOps<exec::EntryOp>()) {
      auto symbols = entry.getTasks().getAsRange<FlatSymbolRefAttr>();
      auto &tasks = entries.emplace_back();
      for (FlatSymbolRefAttr symbol : symbols)
        tasks.insert(symbol.getAttr());
    }
  }

  // Returns true if every entry that runs the task of `b` also runs that of `a`.
  bool runsWhere(Operation *a, Operation *b) const {
    auto taskOf = [](Operation *op) {
      return cast<exec::TaskOp>(op->getParentOp()).getSymNameAttr();
    };
    StringAttr of = taskOf(a), from = taskOf(b);
    return of == from || llvm::all_of(entries, [&](const auto &tasks) {
             return tasks.contains(of) || !tasks.contains(from);
           });
  }

private:
  SmallVector<llvm::DenseSet<StringAttr>> entries;
};

// Moves an instruction behind another one. The other instructions of the block keep their numbers,
// by which their order is looked up; `moveAfter` has all of them numbered anew.
void moveBehind(Operation *op, Operation *position) {
  op->remove();
  position->getBlock()->getOperations().insertAfter(position->getIterator(), op);
}

// Returns the last instruction before `end`, outside of `group`, that a member of the group depends
// on; null if there is none. Only instructions that use the same buffers can be one.
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

// Returns the copies and zeros that write `root` before `user`, if nothing else writes it and
// nothing is accumulated there; then also those that make the sources of these copies in the same
// way.
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

SmallVector<exec::InstructionOpInterface>
sorted(SmallVector<exec::InstructionOpInterface> instructions) {
  llvm::sort(instructions, [](exec::InstructionOpInterface a, exec::InstructionOpInterface b) {
    return comesBefore(a, b);
  });
  instructions.erase(std::unique(instructions.begin(), instructions.end()), instructions.end());
  return instructions;
}

// True if a kernel converts elements of `from` bytes to elements of `to` bytes for which `sizes`
// holds: to fewer bytes it rounds, to more it widens.
bool converts(exec::InstructionOpInterface instruction, llvm::function_ref<bool(int, int)> sizes) {
  auto launch = dyn_cast<exec::LaunchOp>(instruction.getOperation());
  if (!launch || launch.getInputs().size() != 1 || launch.getOutputs().size() != 1)
    return false;
  Value from = launch.getInputs().front(), to = launch.getOutputs().front();
  auto bytesOf = [](Value buffer) {
    return static_cast<int>(exec::getElementBytes(exec::getDtype(buffer)));
  };
  return exec::getBytes(from) * bytesOf(to) == exec::getBytes(to) * bytesOf(from) &&
         sizes(bytesOf(from), bytesOf(to));
}

// Returns the kernels that round the inputs of a group's members, if no other instruction writes
// these inputs.
SmallVector<exec::InstructionOpInterface>
roundingsFor(ArrayRef<exec::InstructionOpInterface> group) {
  SmallVector<exec::InstructionOpInterface> roundings;
  for (exec::InstructionOpInterface member : group)
    for (Value buffer : member.getReadBuffers()) {
      Value root = exec::getRange(buffer).root;
      SmallVector<exec::InstructionOpInterface> makers;
      for (exec::InstructionOpInterface access : getAccesses(root))
        if (!llvm::is_contained(group, access) && comesBefore(access, member) &&
            writes(access, root))
          makers.push_back(access);
      if (makers.size() == 1 && converts(makers.front(), std::greater<>()))
        roundings.push_back(makers.front());
    }
  return roundings;
}

// Moves the widening of a sum that was reduced in fewer bits, and the copies that add it up, behind
// `position`, the last reduction of the execution of a block that `collective` belongs to.
void delayWidening(exec::CollectiveOp collective, Operation *position) {
  SmallVector<exec::InstructionOpInterface> moved;
  for (exec::InstructionOpInterface access :
       getAccesses(exec::getRange(collective.getDst()).root)) {
    if (access == collective || !converts(access, std::less<>()) ||
        access->getBlock() != collective->getBlock() || access->isBeforeInBlock(collective))
      continue;
    moved.push_back(access);
    Value wide = exec::getRange(access.getWrittenBuffers().front()).root;
    if (getRootOp(wide).getPersistent() || getRootOp(wide).getCarried())
      continue;
    for (exec::InstructionOpInterface user : getAccesses(wide))
      if (isa<exec::CopyOp>(user.getOperation()) && user->getBlock() == collective->getBlock())
        moved.push_back(user);
  }
  moved = sorted(std::move(moved));
  for (exec::InstructionOpInterface instruction : llvm::reverse(moved)) {
    for (Operation *op = instruction->getNextNode(); op && op != position->getNextNode();
         op = op->getNextNode())
      if (conflict(cast<exec::InstructionOpInterface>(op), instruction))
        return;
    if (instruction->isBeforeInBlock(position))
      moveBehind(instruction, position);
  }
}
} // namespace

SmallVector<exec::InstructionOpInterface> dtc::getPacking(exec::CollectiveOp collective) {
  return sorted(packingOf(exec::getRange(collective.getSrc()).root, collective));
}

SmallVector<exec::CopyOp> dtc::getUnpacking(exec::CollectiveOp collective) {
  Value root = exec::getRange(collective.getDst()).root;
  if (getRootOp(collective.getDst()).getPersistent())
    return {};
  SmallVector<exec::CopyOp> copies;
  llvm::SmallDenseMap<Value, SmallVector<exec::InstructionOpInterface>, 4> usersOf; // by root
  for (exec::InstructionOpInterface access : getAccesses(root)) {
    if (access == collective)
      continue;
    auto copy = dyn_cast<exec::CopyOp>(access.getOperation());
    if (!copy || exec::getRange(copy.getSrc()).root != root ||
        exec::getRange(copy.getDst()).root == root || copy->getBlock() != collective->getBlock() ||
        copy->isBeforeInBlock(collective))
      return {};
    // Nothing but the collective writes `root`: only what uses the copy's destination may conflict.
    Value to = exec::getRange(copy.getDst()).root;
    auto [users, isNew] = usersOf.try_emplace(to);
    if (isNew)
      users->second = getAccesses(to);
    for (exec::InstructionOpInterface user : users->second)
      if (user->getBlock() == copy->getBlock() && collective->isBeforeInBlock(user) &&
          user->isBeforeInBlock(copy) && conflict(user, copy))
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
    auto position = llvm::find(accesses, second);
    if (position == accesses.begin())
      continue;
    auto first = dyn_cast<exec::CollectiveOp>((position - 1)->getOperation());
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
  EntryTasks entries(program);
  for (exec::CollectiveOp collective : getInstructionsOf<exec::CollectiveOp>(program)) {
    if (!isGradientReduction(collective))
      continue;
    SmallVector<exec::InstructionOpInterface> group = getPacking(collective);
    group.push_back(collective);
    llvm::append_range(group, roundingsFor(group));
    group = sorted(std::move(group));
    Operation *last = lastDependence(group, collective);
    if (!last || !entries.runsWhere(last, collective))
      continue;
    // keeps the order of members with the same producer
    while (hoisted.contains(last->getNextNode()))
      last = last->getNextNode();
    for (exec::InstructionOpInterface member : group) {
      if (comesBefore(member, last))
        continue;
      bool once = !isRepeated(member);
      moveBehind(member, last);
      // Runs in the last micro-batch only: a sum over micro-batches is complete then.
      if (once && isRepeated(member))
        member.setRunsLastOnly();
      hoisted.insert(member);
      last = member;
    }
    if (!getExecution(collective))
      continue;
    SmallVector<exec::CopyOp> unpacking = getUnpacking(collective);
    for (exec::CopyOp copy : llvm::reverse(unpacking))
      moveBehind(copy, collective);
  }
  SmallVector<exec::CollectiveOp> reductions;
  llvm::DenseMap<std::pair<Block *, int64_t>, exec::CollectiveOp> lastOf; // by execution
  for (exec::CollectiveOp collective : getInstructionsOf<exec::CollectiveOp>(program))
    if (std::optional<int64_t> execution = getExecution(collective);
        execution && isGradientReduction(collective)) {
      reductions.push_back(collective);
      lastOf[{collective->getBlock(), *execution}] = collective;
    }
  for (exec::CollectiveOp collective : reductions)
    delayWidening(collective, lastOf[{collective->getBlock(), *getExecution(collective)}]);
}

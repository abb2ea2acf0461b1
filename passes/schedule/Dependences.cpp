// Finds instructions that must keep their order.
#include "passes/schedule/Dependences.h"

#include "passes/schedule/Ordering.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace dtc;

namespace {
bool anyOverlap(ArrayRef<exec::BufferRange> a, ArrayRef<exec::BufferRange> b) {
  return llvm::any_of(a, [&](const exec::BufferRange &x) {
    return llvm::any_of(b, [&](const exec::BufferRange &y) { return x.overlaps(y); });
  });
}
} // namespace

AccessRanges::AccessRanges(exec::InstructionOpInterface instruction) {
  for (Value buffer : instruction.getReadBuffers())
    reads.push_back(exec::getRange(buffer));
  for (Value buffer : instruction.getWrittenBuffers())
    writes.push_back(exec::getRange(buffer));
}

void AccessRanges::add(const AccessRanges &other) {
  llvm::append_range(reads, other.reads);
  llvm::append_range(writes, other.writes);
}

bool AccessRanges::conflictsWith(const AccessRanges &other) const {
  return anyOverlap(writes, other.reads) || anyOverlap(writes, other.writes) ||
         anyOverlap(reads, other.writes);
}

SmallVector<Value, 4> AccessRanges::getRoots() const {
  SmallVector<Value, 4> roots;
  for (ArrayRef<exec::BufferRange> ranges : {ArrayRef(reads), ArrayRef(writes)})
    for (const exec::BufferRange &range : ranges)
      if (!llvm::is_contained(roots, range.root))
        roots.push_back(range.root);
  return roots;
}

bool dtc::conflict(exec::InstructionOpInterface a, exec::InstructionOpInterface b) {
  return AccessRanges(a).conflictsWith(AccessRanges(b));
}

bool dtc::touches(exec::InstructionOpInterface instruction, Value root) {
  return llvm::any_of(instruction->getOperands(),
                      [&](Value operand) { return exec::getRange(operand).root == root; });
}

SmallVector<exec::InstructionOpInterface> dtc::getAccesses(Value root) {
  SmallVector<exec::InstructionOpInterface> accesses;
  llvm::SmallPtrSet<Operation *, 8> seen;
  SmallVector<Value> names{root};
  while (!names.empty()) {
    Value name = names.pop_back_val();
    for (Operation *user : name.getUsers()) {
      if (auto view = dyn_cast<exec::ViewOp>(user))
        names.push_back(view);
      else if (auto instruction = dyn_cast<exec::InstructionOpInterface>(user);
               instruction && seen.insert(user).second)
        accesses.push_back(instruction);
    }
  }
  llvm::sort(accesses, [](exec::InstructionOpInterface a, exec::InstructionOpInterface b) {
    return comesBefore(a, b);
  });
  return accesses;
}

exec::BufferOp dtc::getRootOp(Value buffer) {
  return exec::getRange(buffer).root.getDefiningOp<exec::BufferOp>();
}

// Which instructions must keep their order.
#include "passes/schedule/Dependences.h"

#include "passes/schedule/Ordering.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace dtc;

namespace {
bool anyOverlap(ArrayRef<Value> a, ArrayRef<Value> b) {
  return llvm::any_of(a, [&](Value x) {
    exec::BufferRange range = exec::getRange(x);
    return llvm::any_of(b, [&](Value y) { return range.overlaps(exec::getRange(y)); });
  });
}
} // namespace

bool dtc::conflict(exec::InstructionOpInterface a, exec::InstructionOpInterface b) {
  SmallVector<Value> readsA = a.getReadBuffers(), writesA = a.getWrittenBuffers();
  SmallVector<Value> readsB = b.getReadBuffers(), writesB = b.getWrittenBuffers();
  return anyOverlap(writesA, readsB) || anyOverlap(writesA, writesB) || anyOverlap(readsA, writesB);
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

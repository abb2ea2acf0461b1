// Counts the instructions that a step of a program runs.
#include "passes/schedule/StepLength.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace dtc {
namespace {

bool isStop(Operation *op) {
  return isa<exec::RecordOp, exec::WaitOp, exec::CollectiveOp, exec::SendOp, exec::ReceiveOp>(op);
}

StepLength lengthOfTask(exec::TaskOp task) {
  StepLength length;
  task.walk([&](exec::InstructionOpInterface op) {
    auto repeat = dyn_cast<exec::RepeatOp>(op->getParentOp());
    int64_t layers = repeat ? static_cast<int64_t>(repeat.getCount()) : 1;
    length.instructions += layers;
    length.stops += isStop(op) ? layers : 0;
  });
  return length;
}

} // namespace

StepLength lengthOfStep(exec::ProgramOp program) {
  llvm::DenseMap<StringAttr, StepLength> lengths;
  for (auto task : program.getBody().getOps<exec::TaskOp>())
    lengths[task.getSymNameAttr()] = lengthOfTask(task);
  StepLength longest;
  for (auto entry : program.getBody().getOps<exec::EntryOp>()) {
    StepLength length;
    for (auto task : entry.getTasks().getAsRange<FlatSymbolRefAttr>()) {
      const StepLength &each = lengths[task.getAttr()];
      length.instructions += each.instructions;
      length.stops += each.stops;
    }
    longest.instructions = std::max(longest.instructions, length.instructions);
    longest.stops = std::max(longest.stops, length.stops);
  }
  return longest;
}

} // namespace dtc

// How much a step of a program runs.
#include "passes/schedule/StepLength.h"

#include "runtime/format/Limits.h"

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

std::string whyTooLong(const StepLength &length, int64_t microBatches) {
  auto over = [&](int64_t count, StringRef what, uint64_t most) -> std::string {
    if (count <= static_cast<int64_t>(most))
      return "";
    return ("a step of " + Twine(microBatches) + " micro-batches runs " + Twine(count) + " " +
            what + ", an executable at most " + Twine(most))
        .str();
  };
  std::string why = over(length.instructions, "instructions", format::maxExecuted);
  return why.empty()
             ? over(length.stops, "records, waits, collectives and transfers", format::maxStops)
             : why;
}

LogicalResult checkLength(exec::ProgramOp program) {
  std::string why =
      whyTooLong(lengthOfStep(program), static_cast<int64_t>(program.getMicroBatches()));
  if (why.empty())
    return success();
  InFlightDiagnostic diagnostic = emitError(program.getLoc()) << why;
  diagnostic.attachNote() << kShorterSteps;
  return diagnostic;
}

} // namespace dtc

#include "compiler/prove/verify/Execution.h"

namespace dtc {

Execution::Execution(const Steps &steps)
    : steps(steps), runsLeft(steps.runs), runsDone(steps.runs.size()) {}

void Execution::beginRun() {
  current = steps.entry.order()->Get(run);
  isLastRun = runsLeft[current->task()] == 1;
  isFirstRun = runsDone[current->task()] == 0;
}

void Execution::endRun() {
  --runsLeft[current->task()];
  ++runsDone[current->task()];
  ++run;
  step = 0;
}

bool Execution::beginInstruction() {
  uint32_t task = current->task();
  const Executed &executed = steps.executed(task)[step];
  source = &steps.accesses(task, executed.instruction);
  if (source->source->runs() == format::Runs::last && !isLastRun)
    return false;
  layer = executed.layer;
  stream = source->source->stream();
  isOfStep = steps.isOfStep(task, *source->source);
  return true;
}

void Execution::skip(uint32_t first, uint32_t last, uint32_t periods) {
  for (uint32_t each = first; each < last; ++each) {
    uint32_t task = steps.entry.order()->Get(each)->task();
    runsLeft[task] -= periods;
    runsDone[task] += periods;
  }
  run += periods * (last - first);
}

Fault Execution::fail(const char *check, std::string message, std::string note) const {
  return steps.fault(*current, steps.executed(current->task())[step], check, std::move(message),
                     std::move(note));
}

} // namespace dtc

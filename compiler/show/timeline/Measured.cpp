#include "compiler/show/timeline/Measured.h"

#include "compiler/show/timeline/ReadTrace.h"
#include "runtime/format/InstructionText.h"
#include "runtime/format/Instructions.h"

#include <algorithm>
#include <map>

namespace dtc {
namespace {

const char *kindName(const format::Instruction &instruction) {
  return format::opName(instruction.op_type());
}

} // namespace

Result<Comparison> compareWithTrace(const format::Manifest &manifest,
                                    const ProgramSimulation &simulation, const std::string &text,
                                    const std::string &file) {
  Comparison comparison;
  Result<std::vector<TracedRun>> events = readTrace(text, file, comparison.rank);
  if (!events)
    return events.error();
  UserError other("reading '" + file + "': it is of another program",
                  "give the trace of a run of this very file");
  if (comparison.rank >= manifest.rank_program()->size())
    return other;
  uint32_t index = manifest.rank_program()->Get(comparison.rank);
  const format::Program &program = *manifest.programs()->Get(index);
  auto of = std::find_if(simulation.classes.begin(), simulation.classes.end(),
                         [&](const SimulatedClass &each) { return each.program == index; });

  std::map<std::pair<uint32_t, uint32_t>, size_t> found; // task, instruction
  std::map<std::string, uint32_t> tasks;
  for (uint32_t t = 0; t < program.tasks()->size(); ++t)
    tasks[program.tasks()->Get(t)->name()->str()] = t;
  for (const SimulatedRun &run : of->runs) {
    auto [entry, isNew] =
        found.try_emplace({run.ofTask, run.instruction}, comparison.instructions.size());
    const format::Task &task = *program.tasks()->Get(run.ofTask);
    const format::Instruction &instruction = *task.instructions()->Get(run.instruction);
    if (isNew)
      comparison.instructions.push_back({task.name()->str(),
                                         format::describe(manifest, instruction),
                                         kindName(instruction), run.instruction, 0, 0, 0});
    ComparedInstruction &each = comparison.instructions[entry->second];
    const SimTime &time = simulation.result.tasks[static_cast<size_t>(run.task)];
    ++each.runs;
    each.simulatedSeconds += time.end - time.start;
  }

  uint64_t first = ~uint64_t(0), last = 0;
  for (const TracedRun &event : *events) {
    first = std::min(first, event.step);
    last = std::max(last, event.step);
  }
  if (last > first)
    ++first;
  comparison.steps = last - first + 1;
  std::map<uint64_t, std::pair<double, double>> spans;
  for (const TracedRun &event : *events) {
    auto task = tasks.find(event.task);
    auto at = task == tasks.end() ? found.end() : found.find({task->second, event.instruction});
    if (at == found.end() || comparison.instructions[at->second].name != event.name)
      return other;
    if (event.step < first)
      continue;
    comparison.instructions[at->second].measuredSeconds +=
        (event.end - event.begin) / static_cast<double>(comparison.steps);
    auto [span, isNew] = spans.try_emplace(event.step, event.begin, event.end);
    span->second.first = std::min(span->second.first, event.begin);
    span->second.second = std::max(span->second.second, event.end);
  }
  for (const auto &[step, span] : spans)
    comparison.measuredStep += (span.second - span.first) / static_cast<double>(comparison.steps);
  return comparison;
}

} // namespace dtc

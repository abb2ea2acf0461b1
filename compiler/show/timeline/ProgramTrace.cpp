#include "compiler/show/timeline/ProgramTrace.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/JSON.h"

namespace dtc {

void writeProgramTrace(llvm::raw_ostream &out, const format::Manifest &manifest,
                       const ProgramSimulation &simulation) {
  // A device is a class of ranks, and its streams follow one another.
  auto streams = simulation.simulation.allStreams();
  std::vector<int> firstStream(simulation.classes.size(), -1);
  for (int stream = 0; stream < static_cast<int>(streams.size()); ++stream)
    if (int &first = firstStream[static_cast<size_t>(streams[stream].device)]; first < 0)
      first = stream;
  llvm::DenseMap<std::pair<int, int>, const SimulatedRun *> runs; // key: stream and task
  for (size_t index = 0; index < simulation.classes.size(); ++index)
    for (const SimulatedRun &run : simulation.classes[index].runs)
      runs[{firstStream[index] + run.stream, run.task}] = &run;
  auto writeArgs = [&](llvm::raw_ostream &to, int task, int stream) {
    const SimulatedRun &run = *runs.at({stream, task});
    const SimulatedClass &of = simulation.classes[static_cast<size_t>(streams[stream].device)];
    const format::Task &source = *manifest.programs()->Get(of.program)->tasks()->Get(run.ofTask);
    to << ",\"task\":" << llvm::json::Value(llvm::json::fixUTF8(source.name()->string_view()))
       << ",\"micro_batch\":" << run.microBatch << ",\"instruction\":" << run.instruction;
    if (format::sizeOf(source.repeats()) > 0)
      to << ",\"layer\":" << run.layer;
  };
  writeTrace(out, simulation.simulation, simulation.result, simulation.memory, writeArgs);
}

} // namespace dtc

// A simulation as a time line for chrome://tracing and ui.perfetto.dev.
#pragma once

#include "compiler/show/simulate/Simulator.h"

#include "llvm/Support/raw_ostream.h"

namespace dtc {

// A quantity of a device over time, such as its memory.
struct TraceCounter {
  int device = 0;
  std::string name, unit; // the unit names the series
  // A value from a time on.
  struct Sample {
    double seconds = 0;
    int64_t value = 0;
  };
  std::vector<Sample> samples; // in order of time; a value holds until the next one
};

// Writes the Trace Event Format (JSON object form, "Trace Event Format", Google 2016): a process
// per device, a thread per stream, a slice per task and stream, arrows from what a transfer waited
// for last to the transfer and on to the tasks of other streams that wait for it, a track per
// counter. Times are in microseconds to the nanosecond. The same simulation gives the same bytes.
// `argsOf(task, stream)`, where given, writes further members of a slice's "args", each after a
// comma.
using TraceArgs = llvm::function_ref<void(llvm::raw_ostream &out, int task, int stream)>;
void writeTrace(llvm::raw_ostream &out, const Simulation &simulation, const SimResult &result,
                llvm::ArrayRef<TraceCounter> counters = {}, TraceArgs argsOf = {});

} // namespace dtc

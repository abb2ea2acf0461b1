// Time lines of instructions as a Chrome trace, to be opened in Perfetto (ui.perfetto.dev) or
// chrome://tracing.
#pragma once

#include "runtime/base/File.h"
#include "runtime/base/Status.h"
#include "runtime/exec/Binding.h"

#include <vector>

namespace dtc::rt {

// One run of an instruction.
struct TraceEvent {
  uint32_t task = 0, instruction = 0, microBatch = 0, layer = 0;
  uint32_t step = 0;                       // counted from 1
  double beginSeconds = 0, endSeconds = 0; // since the beginning of the first step
};

// Writes and commits one process for this rank and one thread for each stream. Each event has name,
// location in the model, class, step, task, micro-batch and index of its instruction, and its layer
// if it repeats; a collective also kind, role, group, its number of ranks and the bytes of its
// larger buffer. `streams[s]` are the events of stream s.
Status writeChromeTrace(AtomicFile &file, int rank, const format::Manifest &manifest,
                        const BoundProgram &program,
                        const std::vector<std::vector<TraceEvent>> &streams);

} // namespace dtc::rt

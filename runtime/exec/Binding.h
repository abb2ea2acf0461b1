// A program bound to one rank: addresses, rank scalars and communicators in place of indices, and
// the runs of its entries.
#pragma once

#include "runtime/base/TensorSpec.h"
#include "runtime/device/Device.h"
#include "runtime/exec/Groups.h"
#include "runtime/exec/Step.h"
#include "runtime/format/Operands.h"

#include <map>
#include <vector>

namespace dtc::rt {

// A buffer or scalar of a command that depends on slot, micro-batch or layer.
struct Moving {
  bool isScalar = false;
  uint32_t index = 0; // in the command's buffers or scalars
  int64_t slotStride = 0, microBatchStride = 0, layerStride = 0;
  uint32_t slots = 1;
  int64_t base = 0;      // a scalar's value, or a buffer's offset from the arena's start
  char *arena = nullptr; // the buffer's arena

  // Returns true if the value changes within a step.
  bool moves() const { return slotStride != 0 || microBatchStride != 0 || layerStride != 0; }
};

// An instruction with its command.
struct BoundInstruction {
  Command command;
  std::vector<Moving> moving;
  uint32_t index = 0; // in Task.instructions
  TimeClass timeClass = TimeClass::Kernel;
  int stream = 0;
  int event = -1;      // Record, Wait: the event in layer 0
  int eventStride = 0; // added per layer
  uint32_t eventSlots = 1;
  uint32_t layers = 1; // number of layers in which it runs, one after another

  // Returns the event in a layer and micro-batch.
  int eventIn(uint32_t layer, uint32_t microBatch) const {
    return event + eventStride * static_cast<int>(layer) +
           static_cast<int>(microBatch % eventSlots);
  }
};

// The instructions of a task.
struct BoundTask {
  std::vector<BoundInstruction> instructions; // in program order
  const format::Task *source = nullptr;       // has the repeats of the task
};

// A run of a task for a micro-batch.
struct BoundRun {
  uint32_t task = 0, microBatch = 0;
  bool isFirst = true, isLast = true; // first or last run of its task in the entry
};

// An instruction of a run, in a layer where it repeats.
struct Issue {
  uint32_t run = 0, instruction = 0; // in BoundEntry.runs and BoundTask.instructions
  uint32_t layer = 0;
};

// The runs of an entry.
struct BoundEntry {
  std::vector<BoundRun> runs;
  std::vector<Issue> issues; // in the order in which the host enqueues them
  std::vector<bool> streams; // per stream: true if the entry has anything on it
};

// All tasks and entries of a program.
struct BoundProgram {
  std::vector<BoundTask> tasks;
  std::map<format::EntryKind, BoundEntry> entries;
};

// Sets the command of an instruction to its values in a run and a layer.
void moveTo(const BoundRun &run, uint32_t layer, BoundInstruction &instruction);

// Returns the sizes of the mesh's axes.
std::vector<uint32_t> meshSizes(const format::Manifest &manifest);

// Returns the description of a tensor of the file for initialisation, --init and --dump-params.
TensorSpec tensorSpec(const format::Tensor &tensor);

// Returns base + sum of stride * coordinate on the axis of each term; 0 for null.
int64_t resolve(const format::RankScalar *scalar, const std::vector<uint32_t> &coordinates);

// Binds `program` to the arenas of `device` and loads its kernels' symbols, whose code segments the
// device has loaded: `codeSegments` maps Kernel.code_segment to the device's number of it.
Status bindProgram(const format::Manifest &manifest, const format::Program &program,
                   const std::vector<uint32_t> &coordinates, const Groups &groups,
                   const std::vector<int> &codeSegments, Device &device, BoundProgram &bound);

} // namespace dtc::rt

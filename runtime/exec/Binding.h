// A program made ready for one rank: addresses, rank scalars and communicators in place of indices,
// and the runs of its entries.
#pragma once

#include "runtime/base/TensorSpec.h"
#include "runtime/device/Device.h"
#include "runtime/exec/Executor.h"
#include "runtime/exec/Groups.h"
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
  int64_t base = 0;      // a scalar, or an offset from the arena's start
  char *arena = nullptr; // of a buffer

  bool moves() const { return slotStride != 0 || microBatchStride != 0 || layerStride != 0; }
};

struct BoundInstruction {
  Command command;
  std::vector<Moving> moving;
  uint32_t index = 0; // in Task.instructions
  TimeClass timeClass = TimeClass::Kernel;
  int stream = 0;
  int event = -1;      // Record, Wait: in layer 0
  int eventStride = 0; // from layer to layer
  uint32_t eventSlots = 1;
  uint32_t layers = 1; // in which it runs one after another

  int eventIn(uint32_t layer, uint32_t microBatch) const {
    return event + eventStride * static_cast<int>(layer) +
           static_cast<int>(microBatch % eventSlots);
  }
};

struct BoundTask {
  std::vector<BoundInstruction> instructions; // in program order
  const format::Task *source = nullptr;       // says which of them repeat
};

struct BoundRun {
  uint32_t task = 0, microBatch = 0;
  bool isFirst = true, isLast = true; // of its task in the entry
};

// An instruction of a run, in a layer where it repeats.
struct Issue {
  uint32_t run = 0, instruction = 0; // in BoundEntry.runs and BoundTask.instructions
  uint32_t layer = 0;
};

struct BoundEntry {
  std::vector<BoundRun> runs;
  std::vector<Issue> issues; // in the order in which the host enqueues them
  std::vector<bool> streams; // per stream whether the entry has anything on it
};

struct BoundProgram {
  std::vector<BoundTask> tasks;
  std::map<format::EntryKind, BoundEntry> entries;
};

// Makes the command that of a run, which has it, and a layer.
void moveTo(const BoundRun &run, uint32_t layer, BoundInstruction &instruction);

std::vector<uint32_t> meshSizes(const format::Manifest &manifest);

// What a tensor of the file is to initialisation, --init and --dump-params.
TensorSpec tensorSpec(const format::Tensor &tensor);

// base + sum of stride * coordinate on the axis of each term; 0 for null.
int64_t resolve(const format::RankScalar *scalar, const std::vector<uint32_t> &coordinates);

// Binds `program` to the arenas of `device` and loads its kernels' symbols, whose code segments the
// device has loaded: `codeSegments` maps Kernel.code_segment to the device's number of it.
Status bindProgram(const format::Manifest &manifest, const format::Program &program,
                   const std::vector<uint32_t> &coordinates, const Groups &groups,
                   const std::vector<int> &codeSegments, Device &device, BoundProgram &bound);

} // namespace dtc::rt

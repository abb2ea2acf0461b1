// The meaning of the bytes of a segment: their value, their origin, and what became of them.
#pragma once

#include "compiler/prove/verify/Columns.h"
#include "compiler/prove/verify/Steps.h"
#include "compiler/prove/verify/Value.h"

namespace dtc {

// The micro-batch of instructions that run once a step, and of what is there before the step.
inline constexpr int32_t kStep = -1;

// The origin of bytes: who wrote them, and when.
struct Provenance {
  uint64_t storage = 0;
  uint32_t run = 0, step = 0; // the run that wrote them, and the position in its task
  uint32_t time = 0;          // on the clock of its stream; 0: they were there before the step
  // The collective or receive that wrote them; 0: none, or one that counts as read.
  uint32_t communication = 0;
  int32_t microBatch = kStep;
  uint8_t stream = 0;
  bool isWritten = false;
  // The bytes of the segment that were written through its storage and are current.
  ColumnSets::Set columns = ColumnSets::kAll;
};

// The addends of a sum over micro-batches.
struct Addends {
  uint32_t count = 0;
  uint32_t begun = 0;   // run that wrote the first of them
  bool isMixed = false; // they are of several micro-batches
  bool operator==(const Addends &) const = default;
};

// The fate of bytes after they are written.
struct Liveness {
  bool isRead = false;
  bool isGradient = false; // has to be read: it is a gradient, or packed for other ranks
  bool operator==(const Liveness &) const = default;
};

// All that is known of a segment; common to all of its bytes.
struct Content {
  Value value;
  Provenance origin;
  Addends addends;
  Liveness liveness;
  uint32_t tensor = 0; // 1 + index of the parameter or state whose memory it is; 0: of none
};

// Returns the instruction that wrote bytes, as a note of a fault.
std::string describeWriter(const Steps &steps, const Provenance &origin);
// Returns the address range of a segment, for messages.
std::string describeBytes(const Steps &steps, uint32_t segment);

} // namespace dtc

// Which bytes an instruction reads and writes, and what it does with them.
#pragma once

#include "runtime/format/Repeats.h"

#include <vector>

namespace dtc {

// Mesh axes as bits: bit i is axis i. A file has 16 at most.
using AxisSet = uint16_t;

// Bytes of a buffer, from its first one on.
struct Piece {
  int64_t begin = 0, bytes = 0;
};

// One buffer of an instruction.
struct Touch {
  uint32_t buffer = 0;
  bool reads = false, writes = false;
  // Every byte of the pieces on every rank; else the pieces are the hull of what it touches.
  bool exact = true;
  AxisSet movesWith = 0; // axes on which ranks touch other bytes of the buffer
  int64_t layerShift = 0, microBatchShift = 0; // bytes that all pieces move on by
  std::vector<Piece> pieces;
  // Where Steps has noted its segments: of each layer, slot and piece. Not where it moves on with
  // micro-batches.
  static constexpr uint32_t kNotNoted = 0xffffffff;
  uint32_t noted = kNotNoted, slots = 1;
};

// What becomes of values.
enum class Flow : uint8_t {
  Function, // results are made of all that is read, alike on all ranks
  Copy,     // piece by piece; adds where the instruction accumulates
  Zero,
  Collective,
  Send,
  Receive,
  Record,
  Wait
};

struct Accesses {
  const format::Instruction *source = nullptr;
  Flow flow = Flow::Function;
  bool accumulates = false; // adds to what it writes
  AxisSet scalarAxes = 0;   // axes that its scalars depend on
  std::vector<Touch> touches;
};

// `source` has been verified, as one of `program`.
Accesses accessesOf(const format::Manifest &manifest, const format::Program &program,
                    const format::Instruction &source);

} // namespace dtc

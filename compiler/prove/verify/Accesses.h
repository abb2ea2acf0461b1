// The bytes that an instruction reads and writes, and how values flow through it.
#pragma once

#include "compiler/prove/verify/AxisSet.h"
#include "compiler/prove/verify/Columns.h"
#include "runtime/format/Repeats.h"

#include <vector>

namespace dtc {

// Bytes of a buffer, from its first one on.
struct Piece {
  int64_t begin = 0, bytes = 0;
};

// One buffer of an instruction.
struct Touch {
  uint32_t buffer = 0;
  bool reads = false, writes = false;
  // True if every byte of the pieces is touched on every rank; else the pieces are a hull.
  bool exact = true;
  // The bytes of a hull that are touched, from the begin of each piece on; nullopt if `exact`, or
  // if they are not known.
  std::optional<Columns> columns;
  AxisSet movesWith = 0; // axes on which ranks touch different bytes of the buffer
  int64_t layerShift = 0, microBatchShift = 0; // bytes that all pieces move on by
  std::vector<Piece> pieces;
  // Index of the touch's first segment in the table of Steps, per layer, slot and piece; kNotNoted
  // if the address moves with micro-batches.
  static constexpr uint32_t kNotNoted = 0xffffffff;
  uint32_t noted = kNotNoted, slots = 1;
};

// How the values that an instruction writes follow from those that it reads.
enum class Flow : uint8_t {
  Function, // every result depends on every operand, by the same function on all ranks
  Copy,     // piece by piece; adds where the instruction accumulates
  Zero,
  Collective,
  Send,
  Receive,
  Record,
  Wait
};

// The memory accesses of one instruction, and the flow of values between them.
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

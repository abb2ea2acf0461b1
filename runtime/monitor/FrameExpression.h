// DWARF's expressions, as far as frames have them: those of entries of procedure linkage tables,
// and of the code that signals' handlers return to.
#pragma once

#include "runtime/monitor/FrameTable.h"

namespace dtc::rt {

// Evaluates `bytes` (DWARF 5, 2.5) in a frame with `registers`, on a stack that begins with
// `first`, where there is one. False where it is none of these, or reads what it can't.
bool evaluate(std::span<const uint8_t> bytes, const ForeignMemory &memory,
              const Registers &registers, const uint64_t *first, uint64_t &value);

} // namespace dtc::rt

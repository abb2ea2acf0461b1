// Rules of tokens that pass round a ring of ranks: whose they are, and whom attention has met.
#pragma once

#include "compiler/prove/verify/ProgramState.h"

namespace dtc {

// Checks that an instruction reads tokens of one rank alone, but for attention, whose keys and
// values may be another rank's than its queries; and that nothing but attention's own kernels and
// copies reads what has not met the tokens of all ranks, or has results of attention that were
// merged without their sums of exponentials. `made` is what all operands make.
std::optional<Fault> checkPositions(const ProgramState &state, const Value &made);

// Sets the ranks that a result of an instruction is of, and those that it has met. `value` is what
// all operands make.
void setPositions(const ProgramState &state, uint32_t buffer, Value &value);

// Returns true if what an instruction reads of a buffer is of another rank's tokens alone.
bool hasPassedOn(const ProgramState &state, uint32_t buffer);

// Checks that what an instruction moves between ranks is of its own rank's tokens.
std::optional<Fault> checkAtHome(const ProgramState &state, uint32_t buffer);

// Checks that a send passes the tokens of one rank on along an axis of context parallelism.
std::optional<Fault> checkPassedOn(const ProgramState &state, const format::Transfer &op,
                                   const Value &value);

} // namespace dtc

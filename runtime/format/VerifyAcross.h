// A part of the check of a file: the agreement of programs with each other.
#pragma once

#include "runtime/format/VerifyContext.h"

namespace dtc::format {

// Checks the programs against each other. Relies on verifyInstruction for all instructions.
rt::Status verifyAcross(const VerifyContext &context);

} // namespace dtc::format

// A part of the check of a file: the buffers, tasks and entries of a program.
#pragma once

#include "runtime/format/VerifyContext.h"

namespace dtc::format {

// Checks a program, except its instructions. Relies on verifyTables.
rt::Status verifyProgram(const ProgramContext &context);

} // namespace dtc::format

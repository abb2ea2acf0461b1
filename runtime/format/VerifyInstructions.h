// A part of the check of a file: the instructions of a task.
#pragma once

#include "runtime/format/VerifyContext.h"

namespace dtc::format {

// Checks instruction `index` of a task, which runs in `layers` layers. Relies on verifyProgram.
rt::Status verifyInstruction(const ProgramContext &context, const Task &task, uint32_t index,
                             uint32_t layers);

} // namespace dtc::format

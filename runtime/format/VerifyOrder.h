// A part of the check of a file: the order in which ranks run instructions.
#pragma once

#include "runtime/format/VerifyContext.h"

namespace dtc::format {

// Checks that no wait hangs, and that collectives and transfers agree between ranks. It runs last.
rt::Status verifyOrder(const VerifyContext &context);

} // namespace dtc::format

// A part of the check of a file: the tables of a manifest.
#pragma once

#include "runtime/format/VerifyContext.h"

namespace dtc::format {

// Checks the tables of a manifest, except programs. It runs first.
rt::Status verifyTables(const VerifyContext &context);

} // namespace dtc::format

// The features of this processor.
#pragma once

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace dtc::rt {

// Returns those of `wanted` (names of runtime/format/CpuFeatures.def) that the processor or the
// operating system lacks, in the same order. A name that is not in the table counts as lacking.
// Example: on a 2010 machine {"sse2", "avx2"} gives {"avx2"}.
std::vector<std::string> missingCpuFeatures(const std::vector<std::string> &wanted);

// Returns Unavailable with the names of missing features, if there are any.
Status checkCpuFeatures(const std::vector<std::string> &wanted);

} // namespace dtc::rt

// What this processor can do.
#pragma once

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace dtc::rt {

// Those of `wanted` (names of runtime/format/CpuFeatures.def) that processor or operating system
// lack, in the same order. A name that is not in the table counts as lacking. Example: on a 2010
// machine {"sse2", "avx2"} gives {"avx2"}.
std::vector<std::string> missingCpuFeatures(const std::vector<std::string> &wanted);

// Unavailable where some are missing; it names them.
Status checkCpuFeatures(const std::vector<std::string> &wanted);

} // namespace dtc::rt

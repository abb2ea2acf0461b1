// The points of a job of ranks, as text that rank 0 gives to the process that started the ranks.
#pragma once

#include "compiler/describe/topology/Calibration.h"

namespace dtc {

// Prints the lists of points, one point per line. Levels of collectives are left out.
std::string printPoints(const Calibration &calibration);

// Appends the points of `text`. Collectives get the level `level`. The error names the line.
// Example: readPoints("memory copy 1024 2 1e-6 5 0.1\n", "memory", calibration).
Status readPoints(llvm::StringRef text, const std::string &level, Calibration &calibration);

} // namespace dtc

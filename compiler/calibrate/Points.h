// The points of a job of ranks, as rank 0 hands them to the process that started the ranks.
#pragma once

#include "compiler/topology/Calibration.h"

namespace dtc {

// One point a line; levels of collectives are left out. Only the lists of points.
std::string printPoints(const Calibration &calibration);

// Appends the points of `text`; collectives are of `level`. The error names the line.
// Example: readPoints("memory copy 1024 2 1e-6 5 0.1\n", "memory", calibration).
Outcome readPoints(llvm::StringRef text, const std::string &level, Calibration &calibration);

} // namespace dtc

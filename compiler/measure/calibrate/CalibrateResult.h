// The result of a calibration.
#pragma once

#include "compiler/describe/topology/Calibration.h"

#include <string>
#include <vector>

namespace dtc {

// The result of a calibration.
struct CalibrateResult {
  Calibration calibration;
  std::string text;                 // the topology file with the curves
  std::vector<std::string> remarks; // what was not measured, and why
};

} // namespace dtc

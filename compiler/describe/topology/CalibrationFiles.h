// Measured curves in topology files.
#pragma once

#include "compiler/describe/topology/Calibration.h"

#include <string>

namespace dtc {

// Reads the [calibration] of `curvesFile` (whatever else that file contains), for the topology file
// or catalogue system `nameOrFile`. Errors: those of withCalibration; a file without [calibration];
// a type or level that the system does not have, or more units than it has.
Result<Calibration> readCurves(const std::string &curvesFile, const std::string &nameOrFile);

// Returns the topology file `nameOrFile` (or catalogue system) as TOML text, with `calibration` in
// place of its own. Errors: those of loadTopology; a system with parts; points that the reader
// would refuse.
Result<std::string> withCalibration(const std::string &nameOrFile, const Calibration &calibration);

} // namespace dtc

// Reads and prints [calibration] of a topology file. Internal to this folder.
#pragma once

#include "compiler/describe/topology/Calibration.h"
#include "compiler/support/TomlReader.h"

namespace dtc {

// Reads the table. `device` and `levels` are the machine that the file describes. Every number is
// checked, because the file may come from an unknown source.
std::shared_ptr<const Calibration> readCalibration(const toml::table &table,
                                                   const DeviceKind &device,
                                                   llvm::ArrayRef<LinkLevel> levels,
                                                   FirstError &errors);

// Prints TOML that readCalibration can read. `prefix` is "" or "part.".
void printCalibration(const Calibration &calibration, const std::string &prefix,
                      llvm::raw_ostream &out);

} // namespace dtc

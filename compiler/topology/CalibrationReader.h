// Reads and prints [calibration] of a topology file. Internal to this folder.
#pragma once

#include "compiler/support/TomlReader.h"
#include "compiler/topology/Calibration.h"

namespace dtc {

// Reads the table; `device` and `levels` are what the file says of the machine. Every number is
// checked: the file may come from anywhere.
std::shared_ptr<const Calibration> readCalibration(const toml::table &table,
                                                   const DeviceKind &device,
                                                   llvm::ArrayRef<LinkLevel> levels,
                                                   FirstError &errors);

// TOML that readCalibration reads back; `prefix` is "" or "part.".
void printCalibration(const Calibration &calibration, const std::string &prefix,
                      llvm::raw_ostream &out);

} // namespace dtc

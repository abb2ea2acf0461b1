// Tables of measured points for people.
#pragma once

#include "compiler/measure/calibrate/CalibrateResult.h"
#include "llvm/Support/raw_ostream.h"

namespace dtc {

// Prints tables of all points for people.
void printCalibrationReport(const CalibrateResult &calibrateResult, llvm::raw_ostream &out);

} // namespace dtc

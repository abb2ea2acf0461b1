// Measurements of collectives of one job of ranks. Internal to this folder.
#pragma once

#include "compiler/measure/calibrate/Shapes.h"
#include "compiler/measure/calibrate/Stopwatch.h"

namespace dtc {

// Measures collectives of all ranks of `world`. Their `level` stays empty.
rt::Status measureCollectives(const CalibrationShapes &shapes, rt::Comm &world, Stopwatch &watch,
                              Calibration &result);

} // namespace dtc

// The measurements of one job of ranks. Internal to this folder.
#pragma once

#include "compiler/calibrate/Shapes.h"
#include "compiler/calibrate/Stopwatch.h"
#include "kernels/cpu/ThreadPool.h"

namespace dtc {

// Products, memory, attention and launch with `units` threads of every rank at the same time;
// appends to `result` what was measured.
rt::Status measureDevice(const CalibrationShapes &shapes, int units, Stopwatch &watch,
                         Calibration &result);

// Collectives of all ranks of `world`; `level` stays empty.
rt::Status measureCollectives(const CalibrationShapes &shapes, rt::Comm &world, Stopwatch &watch,
                              Calibration &result);

} // namespace dtc

// The measurements of one job of ranks. Internal to this folder.
#pragma once

#include "compiler/measure/calibrate/Shapes.h"
#include "compiler/measure/calibrate/Stopwatch.h"
#include "kernels/cpu/ThreadPool.h"

namespace dtc {

// Measures products, memory, attention and launches with `units` threads of every rank at the same
// time, and appends the points to `result`. Errors: those of the kernels and of the ranks'
// communication.
rt::Status measureDevice(const CalibrationShapes &shapes, int units, Stopwatch &watch,
                         Calibration &result);

} // namespace dtc

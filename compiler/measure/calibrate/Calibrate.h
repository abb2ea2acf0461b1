// Measures this CPU machine: makes the curves that the cost model then uses instead of constants.
#pragma once

#include "compiler/measure/calibrate/CalibrateResult.h"
#include "compiler/measure/calibrate/Ranks.h"

namespace dtc {

// Selects what is measured, and for how long.
struct CalibrateOptions {
  std::string topology = "cpu"; // a catalogue system or file of class cpu
  std::string program;          // the program to start as ranks, which is this program
  bool quick = false;           // measures only a few shapes
  double seconds = 60;          // approximate time to spend
  std::string curvesFile;       // if not "", the curves of this file are used instead of measuring
};

// Measures matrix products, memory traffic and attention with all cores in one process. Then
// measures, with 2 and more processes, collectives, and the same products and memory traffic in all
// processes at once, each with its part of the cores. Errors: a topology that cannot be this
// machine; those of withCalibration. Without mpirun or MPI no collectives are measured, and a
// remark tells so.
Result<CalibrateResult> calibrateMachine(const CalibrateOptions &options,
                                         llvm::raw_ostream &progress);

// Takes the curves in `curvesFile`, which another machine or tools/calibrate-gpu measured. Errors:
// those of readCurves.
Result<CalibrateResult> adoptCurves(const CalibrateOptions &options);

// Runs `dtc calibrate`: measures or adopts curves, prints the tables on `out` and writes the file,
// if its name is not "". Returns the exit code.
int runCalibrate(const CalibrateOptions &options, const std::string &outputFile,
                 llvm::raw_ostream &out, llvm::raw_ostream &errors);

} // namespace dtc

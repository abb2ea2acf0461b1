// Measures the CPU machine at hand: the curves that the cost model then uses instead of constants.
#pragma once

#include "compiler/calibrate/Ranks.h"

namespace dtc {

struct CalibrateOptions {
  std::string topology = "cpu"; // a catalogue system or file of class cpu
  std::string program;          // what to start as ranks: this program
  bool quick = false;           // few shapes
  double seconds = 60;          // to be spent, about
  std::string curvesFile;       // not "": take the curves of this file instead of measuring
};

struct CalibrateOutcome {
  Calibration calibration;
  std::string text;                 // the topology file with the curves
  std::vector<std::string> remarks; // what was not measured, and why
};

// Products, memory traffic and attention with all cores in one process; then, with 2 and more
// processes, collectives, and the same products and memory traffic in all of them at once, each
// with its part of the cores. Errors: a topology that is not of this machine; what withCalibration
// gives. Without mpirun or MPI there are no collectives, which is a remark.
Result<CalibrateOutcome> calibrateMachine(const CalibrateOptions &options,
                                          llvm::raw_ostream &progress);

// Tables of all points for people.
void printCalibrationReport(const CalibrateOutcome &outcome, llvm::raw_ostream &out);

// What another machine, or tools/calibrate-gpu there, measured: `curvesFile`. Errors: those of
// readCurves.
Result<CalibrateOutcome> adoptCurves(const CalibrateOptions &options);

// `dtc calibrate`: measures or adopts, prints the tables on `out` and writes the file, if it is not
// "". The exit code.
int runCalibrate(const CalibrateOptions &options, const std::string &outputFile,
                 llvm::raw_ostream &out, llvm::raw_ostream &errors);

} // namespace dtc

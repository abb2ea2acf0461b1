// Measures with several processes at once. Internal to this folder, except for runCalibrationRank.
#pragma once

#include "compiler/describe/topology/Calibration.h"

namespace dtc {

// The options of one rank of a measuring job, from its command line.
struct RankJob {
  std::string resultsFile; // written by rank 0
  int64_t units = 1;       // threads of each rank
  double seconds = 10;     // for the whole job
  bool quick = false;
};

// Measures as one rank of a job that the environment describes. Returns the exit code, with a
// message on `errors` if it is not 0.
int runCalibrationRank(const RankJob &job, llvm::raw_ostream &errors);

// Starts `ranks` processes of `program`, which call runCalibrationRank with `job`, and appends what
// they measured. Errors: no mpirun, no MPI plugin, a rank that failed.
Status measureRanks(const std::string &program, int64_t ranks, const RankJob &job,
                    const std::string &level, Calibration &calibration);

} // namespace dtc

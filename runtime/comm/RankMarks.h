// Marks by which the ranks of a job on one machine see each other without MPI.
// A mark is a Unix socket with an abstract name, which the kernel lists for everyone
// (/proc/net/unix). It leaves no file behind and ends with its process.
#pragma once

#include "runtime/comm/Environment.h"

#include <string>
#include <vector>

namespace dtc::rt {

// The mark of a rank.
struct RankMark {
  int rank = 0, phase = 0;
  int process = 0;        // its number
  bool isStopped = false; // stopped by a signal (SIGSTOP) or a debugger
};

// Leaves this rank's mark and reads the marks of others.
class RankMarks {
public:
  // The marks of the job that the launcher's variables name, or of `job` where that is not empty.
  explicit RankMarks(const LaunchEnvironment &launch, const std::string &job = {});
  ~RankMarks();
  RankMarks(const RankMarks &) = delete;
  RankMarks &operator=(const RankMarks &) = delete;

  // This rank begins `phase`. Where the system refuses, the rank is one that left no mark.
  void leave(int phase);
  // The marks of this machine, one of each rank, in order of rank.
  std::vector<RankMark> read() const;

private:
  std::string prefix; // prefix of all names of this job
  int rank;
  int socket = -1;
};

} // namespace dtc::rt

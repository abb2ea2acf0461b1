// Tracks which ranks of all hosts have started while MPI starts, as MPI does not tell.
// Beside MPI, ranks meet at the host that the launcher names for rank 0 (RendezvousAddress.h). The
// job does not depend on this: if the launcher names no host, a port is closed, or rank 0 is
// elsewhere, less is known, and the job starts as usual.
#pragma once

#include "runtime/comm/Environment.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace dtc::rt {

// Collects the ranks that have started, on a thread of its own.
class Attendance {
public:
  // Ranks are given `seconds` to come. Nothing is done in a job that is on one host.
  Attendance(const LaunchEnvironment &launch, const EnvironmentReader &read, double seconds);
  ~Attendance();
  Attendance(const Attendance &) = delete;
  Attendance &operator=(const Attendance &) = delete;

  // Ranks have met otherwise.
  void end() { isOver = true; }
  // Returns the ranks that have come, for a message, waiting up to `patience` seconds for the
  // answer; empty if nothing is known. Ranks that started before rank 0 get the answer after their
  // own deadline.
  //   "rank 5 of 6 has not come to port 20016 of host 'a'; here are rank 1 on host 'a', ranks 2 and
  // 3 on host 'b'"
  std::string words(double patience = 0);
  // Returns true if all ranks have come.
  bool haveAllCome();

private:
  std::atomic<bool> isOver = false;
  std::mutex mutex;
  std::condition_variable changed;
  bool isAsking = false; // true until the answer is known
  std::string known;
  bool isComplete = false;
  std::thread thread;
};

} // namespace dtc::rt

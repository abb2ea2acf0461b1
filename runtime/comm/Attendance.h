// Which ranks of all hosts have started, while MPI starts, which does not tell.
//
// Beside MPI, ranks meet where the launcher says that rank 0 is (MeetingPlace.h). Nothing depends on it: where it says
// nothing, a port is closed or rank 0 is elsewhere, that much is not known, and the job starts as it would.
#pragma once

#include "runtime/comm/Environment.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace dtc::rt {

class Attendance {
public:
  // Ranks are given `seconds` to come. Nothing is done in a job that is on one host.
  Attendance(const LaunchEnvironment &launch, const EnvironmentReader &read, double seconds);
  ~Attendance();
  Attendance(const Attendance &) = delete;
  Attendance &operator=(const Attendance &) = delete;

  // Ranks have met otherwise.
  void end() { isOver = true; }
  // What is known within `patience` seconds, for a message: who has come when the time has passed, or that all have; empty
  // where that is nothing. Ranks that started before rank 0 hear of it later than their own time has passed.
  //   "rank 5 of 6 has not come to port 20016 of host 'a'; here are rank 1 on host 'a', ranks 2 and 3 on host 'b'"
  std::string words(double patience = 0);
  // Whether all ranks have come.
  bool haveAllCome();

private:
  std::atomic<bool> isOver = false;
  std::mutex mutex;
  std::condition_variable changed;
  bool isAsking = false; // until it is known
  std::string known;
  bool isComplete = false;
  std::thread thread;
};

} // namespace dtc::rt

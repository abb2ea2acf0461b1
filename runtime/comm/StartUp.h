// Watches over a job until all of its ranks run.
//
// MPI waits for ever in MPI_Init, MPI_Comm_dup and MPI_Comm_split for a rank that never comes. So
// each phase of the start has a deadline, after which this process says who is missing and ends.
// What is known without MPI: a rank that begins a phase leaves a mark that the other ranks of its
// machine can see (RankMarks.h), and the machine knows which of them are stopped.
#pragma once

#include "runtime/comm/Environment.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace dtc::rt {

class RankMarks;

// In the order in which every rank goes through them. Ranks start MPI or meet, by what started them.
enum class Phase { StartingMpi, MeetingRanks, JoiningWorld, ComparingJob, MakingGroups };
// "starting MPI"
const char *nameOf(Phase phase);

// Hears of phases, and knows what this machine says of its ranks; the MPI plugin knows no more of StartUp.
class PhaseListener {
public:
  virtual ~PhaseListener() = default;
  virtual void enter(Phase phase) = 0;
  // Which ranks of this machine cannot go on, for a message; empty where none is known:
  //   "rank 1 (process 4711) is stopped by a signal; rank 2 has ended"
  virtual std::string suspects() = 0;
};

class StartUp final : public PhaseListener {
public:
  // Each phase may take `seconds`. Nothing is watched in a job of one rank.
  StartUp(const LaunchEnvironment &launch, double seconds);
  ~StartUp() override;
  StartUp(const StartUp &) = delete;
  StartUp &operator=(const StartUp &) = delete;

  // This rank begins `phase`; what came before is done.
  void enter(Phase phase) override;
  std::string suspects() override;
  // The start is over: all ranks were met.
  void done();

private:
  std::chrono::steady_clock::duration duration() const;
  void watch();
  void giveUp(Phase phase);

  LaunchEnvironment launch;
  double seconds;
  std::unique_ptr<RankMarks> marks;

  std::mutex mutex;
  std::condition_variable changed;
  int phase = -1; // none yet
  bool finished = false;
  std::chrono::steady_clock::time_point deadline;
  std::thread watcher;
};

// Who keeps the others waiting in `phase`, as the ranks of this machine see it, for a message:
//   "rank 1 has not started dtrun"
// `marks` must be of the job that `launch` describes.
std::string describeMissing(const LaunchEnvironment &launch, const RankMarks &marks, Phase phase);

// The same of ranks that have all been here: who of them is stopped or has ended; empty where none.
std::string describeLost(const LaunchEnvironment &launch, const RankMarks &marks);

} // namespace dtc::rt

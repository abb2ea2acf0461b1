// Watches over a job until all of its ranks run.
//
// MPI waits for ever in MPI_Init, MPI_Comm_dup and MPI_Comm_split for a rank that never comes. So
// each phase of the start has a deadline, after which this process says who is missing and ends.
// What is known without MPI: a rank that begins a phase leaves a mark that the other ranks of its
// machine can see (RankMarks.h), and the machine knows which of them are stopped. Of those of other
// machines the ranks know who has started, where they find each other without MPI (Attendance.h).
//
// In some phases a rank is at work on its own, for as long as its files are large. There the
// keepers of all ranks say who does not get on (Judge.h), and this deadline is for jobs that they
// don't watch.
#pragma once

#include "runtime/comm/Environment.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace dtc::rt {

class Attendance;
class RankMarks;

// In the order in which every rank goes through them. Ranks start MPI or meet, by what started
// them; not all read a checkpoint, or fill parameters.
enum class Phase : uint32_t {
  StartingMpi,
  Rendezvous,
  JoiningWorld,
  ComparingJob,
  ReadingProgram,
  OpeningDevice,
  MakingGroups,
  OpeningOutputs,
  OpeningData,
  ReadingCheckpoint,
  FillingParameters,
  ReadingBatch,
};
// "starting MPI"; "starting" for what is none of them.
const char *nameOf(Phase phase);
// Returns true if ranks work on their own in the phase and wait for each other only at its end.
bool isOwnWork(Phase phase);

// Hears of phases, and knows what this machine says of its ranks; the MPI plugin knows no more of
// StartUp.
class PhaseListener {
public:
  virtual ~PhaseListener() = default;
  // Called when a phase begins.
  virtual void enter(Phase phase) = 0;
  // Returns the ranks of this machine that cannot go on, for a message; empty if none is known:
  //   "rank 1 (process 4711) is stopped by a signal; rank 2 has ended"
  virtual std::string suspects() = 0;
  // Returns the time limit of a call on all ranks that usually has `seconds`.
  virtual double patienceOf(double seconds) { return seconds; }
};

// Settings of the start-up watch.
struct StartUpOptions {
  double seconds = 120;                 // limit of a phase
  double workSeconds = 600;             // the same of one where ranks are at work on their own
  std::function<bool()> isWatched = {}; // true while the keepers of all ranks watch; empty: never
  std::function<void(Phase)> onPhase = {}; // called for each phase
};

// Watches the phases of a job's start and reports ranks that keep the others waiting.
class StartUp final : public PhaseListener {
public:
  // Nothing is watched in a job of one rank.
  StartUp(const LaunchEnvironment &launch, const StartUpOptions &options);
  ~StartUp() override;
  StartUp(const StartUp &) = delete;
  StartUp &operator=(const StartUp &) = delete;

  // This rank begins `phase`; what came before is done.
  void enter(Phase phase) override;
  std::string suspects() override;
  // For ever while ranks are at work on their own: this class has the deadline then.
  double patienceOf(double seconds) override;
  // The start is over: the first step begins.
  void done();

private:
  double secondsOf(Phase phase) const;
  std::chrono::steady_clock::time_point deadlineOf(Phase phase) const;
  void watch();
  void giveUp(Phase phase);

  LaunchEnvironment launch;
  StartUpOptions options;
  std::unique_ptr<RankMarks> marks;
  std::unique_ptr<Attendance> attendance; // while MPI starts

  std::mutex mutex;
  std::condition_variable changed;
  int phase = -1; // none yet
  bool finished = false;
  std::chrono::steady_clock::time_point deadline;
  std::thread watcher;
};

// Describes the ranks that keep the others waiting in `phase`, as far as this machine's ranks see
// it:
//   "rank 1 has not started dtrun"
// `marks` must be of the job that `launch` describes. `others` describes the ranks of all hosts, or
// is empty; `haveAllCome` is true if all of them have started.
std::string describeMissing(const LaunchEnvironment &launch, const RankMarks &marks, Phase phase,
                            const std::string &others = {}, bool haveAllCome = false);

// The same of ranks that have all been here: who of them is stopped or has ended; empty where none.
std::string describeLost(const LaunchEnvironment &launch, const RankMarks &marks);

} // namespace dtc::rt

// The process of a rank, as the one knows it that has started it: what it says of itself, what
// becomes of it, and the signals to both.
#pragma once

#include "runtime/comm/Environment.h"
#include "runtime/monitor/Frames.h"

#include <csignal>
#include <functional>
#include <sys/types.h>

namespace dtc::rt {

// The process of a rank, started and followed by its keeper.
class RankProcess {
public:
  explicit RankProcess(const LaunchEnvironment &launch);

  // Before start(): what the two processes share. Signals to this one are its readSignals()'s from
  // now on.
  Status prepare();
  // In the child, true.
  bool start();
  // Installs the signal handlers in the child and returns the result of `run`.
  int become(const std::function<int(Progress &)> &run);
  // Returns true if the process has been started.
  bool hasStarted() const { return child > 0; }

  // Handles signals received since the last call: passes them on to the rank, and notes whether it
  // stopped, continued or ended.
  void readSignals();
  // Becomes readable where readSignals() has something to read.
  int descriptor() const { return signalQueue; }
  // Returns true if SIGUSR1 to either process has requested a flight record since the last call.
  bool takeWish();
  // A signal that ends jobs and came to this process; 0: none.
  int passedOn() const { return passed; }

  int id() const { return child; }
  const std::string &hostName() const { return host; }
  ProgressPage &page() { return *shared; }
  const ProgramNotes &notes() const { return program; }
  // Returns a frame with the position or the end of the rank; reading the stacks of a live rank
  // takes at most a second.
  Frame frameOf(FrameKind kind);

  bool hasEnded() const { return ended; }
  double endedAt() const { return endTime; }
  const Ending &ending() const { return end; }
  // Kills the rank.
  void kill();

private:
  void reap(int waitStatus);
  void followStop(bool stops);
  void readNotes();
  std::string takeStacks();

  int rank;
  std::string host;
  ProgressPage *shared = nullptr;
  int notesFile = -1, stacksFile = -1, signalQueue = -1;
  sigset_t signalsBefore = {};
  pid_t child = -1;
  clockid_t clock = CLOCK_PROCESS_CPUTIME_ID;
  bool knowsClock = false;
  ProgramNotes program;
  bool hasReadNotes = false;
  bool isWished = false;
  uint32_t wishes = 0; // requests received through the page that have been served
  int passed = 0;
  bool stopped = false, ended = false;
  int64_t stoppedAt = 0;
  uint64_t stoppedNanos = 0;
  uint64_t answered = 0; // bytes that the rank moved while it was asked for stacks
  double endTime = 0;
  Ending end;
  uint64_t memoryKills = 0;
};

} // namespace dtc::rt

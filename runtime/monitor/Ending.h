// The end of a rank's process, as seen by the process that started it.
#pragma once

#include <cstdint>
#include <string>

namespace dtc::rt {

// The end of a rank's process.
struct Ending {
  int exitCode = 0;         // if it exited
  int signal = 0;           // signal that killed it; 0 if it exited
  bool outOfMemory = false; // killed by the kernel because memory ran out
  bool isFinished = false;  // completed its work
  // Message of a rank that ended because of others; empty for one that has printed its own.
  std::string words;
};

// Returns true if the rank itself is at fault, or lost its peers.
bool isOwn(const Ending &ending);

// The exit code for the job.
int exitCodeOf(const Ending &ending);

// Returns true if the end deserves a flight record: not if the rank was asked to stop, nor for an
// error before the first step.
bool isWorthRecord(const Ending &ending, bool hasTrained);

// "died (signal 9, Killed); memory ran out: the kernel's out-of-memory killer chose it"
std::string describe(const Ending &ending);

// Returns the number of processes killed because memory ran out: within this process's cgroup if it
// is known, else on the machine; 0 if unknown. Reads the files below `root`.
uint64_t countMemoryKills(const std::string &root = "");

} // namespace dtc::rt

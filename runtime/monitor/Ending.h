// How a rank's process ended, as the process that started it knows.
#pragma once

#include <cstdint>
#include <string>

namespace dtc::rt {

struct Ending {
  int exitCode = 0;         // where it exited
  int signal = 0;           // that killed it; 0 where it exited
  bool outOfMemory = false; // whether the kernel killed it for its memory
  bool isFinished = false;  // whether it was done
  std::string words; // of a rank that ended because of others; empty for one that has had its say
};

// Whether the rank is at fault, or lost others.
bool isOwn(const Ending &ending);

// The exit code for the job.
int exitCodeOf(const Ending &ending);

// Whether what the rank did before is worth a flight record: not where it was asked to stop, nor where it
// had an error before there was a step.
bool isWorthRecord(const Ending &ending, bool hasTrained);

// "died (signal 9, Killed); memory ran out: the kernel's out-of-memory killer chose it"
std::string describe(const Ending &ending);

// How many processes the kernel has killed on this machine because memory ran out: those of this
// process's group of limits (cgroup) where it is known, else all; 0 where nothing is known.
// The files are those below `root`.
uint64_t countMemoryKills(const std::string &root = "");

} // namespace dtc::rt

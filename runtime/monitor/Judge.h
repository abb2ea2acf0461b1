// Finds the rank that blocks a job from the positions of all ranks.
#pragma once

#include "runtime/monitor/Standing.h"

#include <vector>

namespace dtc::rt {

// Limits of the time that a rank may stay at one position.
struct Patience {
  // Stopped, in a call that all others have begun, or in an instruction without using a processor.
  double hangSeconds = 60;
  // At work on its own before the first step, without computing, reading or writing.
  double startSeconds = 120;
  // Computing before the first step, at work on its own (files, data, evaluation), and in steps
  // while it is not known how long they take.
  double longestSeconds = 600;
  // Computing in one instruction of a step, or in a step on a device that does not tell where it
  // is: so many times as long as the longest step so far, but hangSeconds at least and
  // longestSeconds at most. A step that is slower for honest reasons, as on a machine that swaps,
  // goes from instruction to instruction; on a device that does not tell it has that many times.
  double longestSteps = 10;
  // Lower bound of the network's speed: calls get extra time for their bytes at this rate.
  double bytesPerSecond = 10e6;
};

// The position of a rank, and how long it has been there.
struct WatchedRank {
  Standing standing;
  bool isThere = true;           // it has joined, and not ended
  double longestStepSeconds = 0; // longest step so far; 0: not known
  double quietSeconds = 0;       // since it moved last
  double cpuShare = 0;           // share of one processor used meanwhile
};

// The rank that the others wait for, which has stayed where it is for longer than it may; -1 where
// nobody has.
//
// 1. From each rank that has been quiet for the least that any may, go on to the one that it waits
// for: of those
//    that have not begun the call which it is in, a stopped one, else one that waits for nobody,
// else
//    the one that has begun the fewest calls of the group. From one that is in a step on a device
// which
//    does not tell whom it waits for, to a stopped rank, else to one that has not come as far. 2.
// The end of the way, or the rank that would be met again, is the culprit where it has been quiet
//    for longer than it may.
//
// Example: rank 1 computes in steps of 2 s; 0 and 2 wait for it in call 7 of 'dp': the culprit is
// rank 1, once it is quiet for hangSeconds. Where steps took 30 s, after 300 s.
int findHung(const std::vector<WatchedRank> &ranks, const ProgramNotes &notes,
             const Patience &patience);

// The rank that `rank` waits for by `waiting`; -1 where all are there, or it is not known.
int blockerOf(const std::vector<WatchedRank> &ranks, const ProgramNotes &notes, int rank,
              const Waiting &waiting);

} // namespace dtc::rt

// How long ranks work in their steps, apart from what they wait for each other: who is slow.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace dtc::rt {

// Of one rank, all steps so far. Differences of two moments give the mean of the steps between them.
struct WorkTotals {
  uint32_t program = 0; // ranks of one program do the same work
  uint64_t steps = 0;
  uint64_t workNanos = 0;    // in instructions that meet nobody
  uint64_t stepNanos = 0;    // of whole steps
  uint64_t stoppedNanos = 0; // by signals, as its keeper has seen; may be in any of them
};

// What rank 0 may know of each rank: the mean of the steps of about a second.
struct RankWork {
  uint32_t step = 0;      // the last of them; 0: nothing is known
  double workSeconds = 0; // of a step
};

// The rank that is slower than those that do the same, and has been for some time.
struct Straggler {
  int rank = -1; // -1: none
  // Of a step: of the rank, and of ranks that do the same; in which signals kept the rank stopped.
  double workSeconds = 0, othersSeconds = 0, stoppedSeconds = 0;
  double costShare = 0; // of a step, that is lost by it
};

// Of ProgressPage: what a rank says of itself, and what rank 0's keeper says of all.
struct WorkPage {
  static constexpr size_t kMostRanks = 4096;
  struct Entry {
    std::atomic<uint32_t> step;
    std::atomic<double> workSeconds;
  };

  std::atomic<uint32_t> program;
  std::atomic<uint64_t> steps, workNanos, stepNanos;
  std::atomic<int32_t> straggler; // a rank and 1; 0: none
  std::atomic<double> stragglerWork, othersWork, stragglerStopped, stragglerCost;
  Entry ranks[kMostRanks];

  WorkTotals totals() const;
  void set(int rank, const RankWork &work);
  void set(const Straggler &straggler);
};

} // namespace dtc::rt

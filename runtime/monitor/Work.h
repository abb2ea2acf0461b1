// The time that ranks compute in their steps, without waiting for each other, which shows who is
// slow.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace dtc::rt {

// Totals of one rank over all steps so far. The difference of two totals gives the mean of the
// steps between.
struct WorkTotals {
  uint32_t program = 0; // ranks of one program do the same work
  uint64_t steps = 0;
  uint64_t workNanos = 0; // in instructions that meet nobody
  uint64_t stepNanos = 0; // duration of whole steps
  // Time stopped by signals, as seen by its keeper; may overlap any of the others.
  uint64_t stoppedNanos = 0;
};

// The mean work of a rank over the steps of about one second.
struct RankWork {
  uint32_t step = 0;      // the last of them; 0: nothing is known
  double workSeconds = 0; // per step
};

// The rank that is slower than those that do the same, and has been for some time.
struct Straggler {
  int rank = -1; // -1: none
  // Work per step of the rank and the median of its equals; time per step that signals stopped it.
  double workSeconds = 0, othersSeconds = 0, stoppedSeconds = 0;
  double costShare = 0; // share of a step that is lost by it
};

// The part of ProgressPage with a rank's own totals and the work of all ranks from rank 0's keeper.
struct WorkPage {
  static constexpr size_t kMostRanks = 4096;
  // The published work of one rank.
  struct Entry {
    std::atomic<uint32_t> step;
    std::atomic<double> workSeconds;
  };

  std::atomic<uint32_t> program;
  std::atomic<uint64_t> steps, workNanos, stepNanos;
  std::atomic<int32_t> straggler; // a rank and 1; 0: none
  std::atomic<double> stragglerWork, othersWork, stragglerStopped, stragglerCost;
  Entry ranks[kMostRanks];

  // Returns the totals of this rank.
  WorkTotals totals() const;
  // Publishes the work of a rank.
  void set(int rank, const RankWork &work);
  // Publishes the straggler.
  void set(const Straggler &straggler);
};

} // namespace dtc::rt

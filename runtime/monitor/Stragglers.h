// Finds the rank that holds the others up by being slower at the same work.
#pragma once

#include "runtime/monitor/Work.h"

#include <map>
#include <vector>

namespace dtc::rt {

// Told of all ranks' totals as they come, some times a second. It looks at them in windows of some
// steps and some seconds. A rank is a straggler once in three windows running
//
// - its work of a step is more than 1 / 0.7 of that of the ranks of its program (of their median);
//   of a program that one rank runs alone: of its own best window; or signals (SIGSTOP, a debugger)
//   keep it stopped; and
// - that makes up 5 % of a step or more.
//
// It is one no more after three windows in which it was not. Of several, the one that costs most,
// but the one that was named stays until another costs half as much again. A rank of which nothing
// was ever heard is left out. Example: 4 ranks of one program work 20, 20, 31 and 20 ms of steps of
// 33 ms: rank 2, which costs 11 / 33 of a step.
class Stragglers {
public:
  explicit Stragglers(int ranks) : ranks(static_cast<size_t>(ranks)) {}

  // Adds a report of a rank.
  void receive(int rank, const WorkTotals &totals);
  // True where who it is has changed.
  bool tick(double now);
  const Straggler &current() const { return found; }
  // Returns true if no other rank runs the same program.
  bool isAlone(int rank) const;

private:
  struct Rank {
    bool hasReported = false;
    WorkTotals begin, now;
    double seconds = 0, stopped = 0; // a step, in this window: at work; stopped by signals
    double best = 0;                 // best of all windows so far; 0: none
    int windows = 0;                 // running, in which it was slow; below 0: in which it was not
  };

  double othersOf(size_t index) const;
  bool isWindow(double now) const;
  Straggler judge(size_t index, double stepSeconds);

  std::vector<Rank> ranks;
  std::map<uint32_t, std::vector<double>> sorted; // seconds at work of the ranks of each program
  double windowBegin = -1;
  Straggler found;
};

} // namespace dtc::rt

// Moments at which stages may have something to start, the earliest first.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

#include <limits>
#include <vector>

namespace dtc {

// A queue of moments, by stage. Ties go to the stage with the smaller number. As a stage has few
// pending moments, the next stage is found by a tournament over stages: one match per level, where
// a binary heap of all moments moves an entry and compares two others.
class WakeQueue {
public:
  // A moment at which a stage is woken.
  struct Wake {
    double time = 0;
    int stage = 0;
  };

  explicit WakeQueue(int stages)
      : size(llvm::PowerOf2Ceil(static_cast<uint64_t>(stages))), ahead(static_cast<size_t>(stages)),
        first(size, never), winners(2 * size) {
    for (size_t stage = 0; stage < size; ++stage)
      winners[size + stage] = stage;
    for (size_t match = size - 1; match > 0; --match)
      winners[match] = winners[2 * match]; // all are equal: the smaller number
  }

  // Returns true if no moment is left.
  bool empty() const { return first[winners[1]] == never; }

  // Adds a moment.
  void push(Wake wake) {
    llvm::SmallVector<double, 6> &moments = ahead[static_cast<size_t>(wake.stage)];
    auto position = moments.end();
    while (position != moments.begin() && *(position - 1) < wake.time)
      --position;
    bool isFirst = position == moments.end();
    moments.insert(position, wake.time);
    if (isFirst)
      setFirst(static_cast<size_t>(wake.stage), wake.time);
  }

  // Removes and returns the earliest moment. The queue must not be empty.
  Wake pop() {
    size_t stage = winners[1];
    Wake wake{first[stage], static_cast<int>(stage)};
    llvm::SmallVector<double, 6> &moments = ahead[stage];
    moments.pop_back();
    setFirst(stage, moments.empty() ? never : moments.back());
    return wake;
  }

private:
  static constexpr double never = std::numeric_limits<double>::infinity();

  void setFirst(size_t stage, double time) {
    first[stage] = time;
    size_t winner = stage;
    for (size_t position = size + stage; position > 1; position /= 2) {
      size_t other = winners[position ^ 1];
      double mine = first[winner], others = first[other];
      // Selects the winner without a branch, as it cannot be predicted.
      bool loses = (others < mine) | ((others == mine) & (other < winner));
      winner ^= (winner ^ other) & (size_t(0) - size_t(loses));
      size_t &known = winners[position / 2];
      if (known == winner && winner != stage)
        return; // further up nothing changes
      known = winner;
    }
  }

  size_t size;                                     // number of stages, rounded up to a power of two
  std::vector<llvm::SmallVector<double, 6>> ahead; // per stage: its moments, the latest first
  std::vector<double> first;                       // per stage: its earliest moment
  std::vector<size_t> winners;                     // matches 1 to size - 1, then the stages
};

} // namespace dtc

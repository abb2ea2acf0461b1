// Moments at which stages may have something to start, the earliest first.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

#include <limits>
#include <vector>

namespace dtc {

// Of equal moments that of the stage with the smaller number is first. A stage has few moments ahead of it, and
// which stage is next is a knockout among them: one match per level, where a heap of all moments moves an
// entry and compares two others.
class WakeQueue {
public:
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

  bool empty() const { return first[winners[1]] == never; }

  void push(Wake wake) {
    llvm::SmallVector<double, 6> &moments = ahead[static_cast<size_t>(wake.stage)];
    auto place = moments.end();
    while (place != moments.begin() && *(place - 1) < wake.time)
      --place;
    bool isFirst = place == moments.end();
    moments.insert(place, wake.time);
    if (isFirst)
      setFirst(static_cast<size_t>(wake.stage), wake.time);
  }

  // Of a queue that is not empty.
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
    for (size_t place = size + stage; place > 1; place /= 2) {
      size_t other = winners[place ^ 1];
      double mine = first[winner], others = first[other];
      // Who wins is anyone's guess: chosen without a branch.
      bool loses = (others < mine) | ((others == mine) & (other < winner));
      winner ^= (winner ^ other) & (size_t(0) - size_t(loses));
      size_t &known = winners[place / 2];
      if (known == winner && winner != stage)
        return; // further up nothing changes
      known = winner;
    }
  }

  size_t size;                                     // of stages, to the next power of two
  std::vector<llvm::SmallVector<double, 6>> ahead; // of each stage, the last moment first
  std::vector<double> first;                       // of each stage its first moment
  std::vector<size_t> winners;                     // matches 1 to size - 1, then the stages
};

} // namespace dtc

// A blocked array of the bytes left over time.
#include "compiler/search/solver/UsageLedger.h"

#include <algorithm>

namespace dtc::solver {

UsageLedger::UsageLedger(const Network &network)
    : network(network), left(network.capacity),
      whole((network.capacity.size() + kBlock - 1) / kBlock, 0), least(whole.size(), 0) {}

void UsageLedger::assign(std::span<const int32_t> choice) {
  std::vector<int64_t> change(network.numTimes() + 1, 0);
  for (int32_t i = 0; i < network.numNodes(); ++i)
    for (const Network::Piece &piece : network.piecesOf(i)) {
      change[piece.begin] += network.usages[piece.offset + choice[i]];
      change[piece.end] -= network.usages[piece.offset + choice[i]];
    }
  int64_t used = 0;
  for (int32_t t = 0; t < network.numTimes(); ++t)
    left[t] = network.capacity[t] - (used += change[t]);
  std::fill(whole.begin(), whole.end(), 0);
  for (size_t block = 0; block < whole.size(); ++block) {
    auto begin = static_cast<int32_t>(block) * kBlock;
    least[block] = *std::min_element(left.begin() + begin,
                                     left.begin() + std::min(begin + kBlock, network.numTimes()));
  }
}

void UsageLedger::change(int32_t node, int32_t from, int32_t to) {
  for (const Network::Piece &piece : network.piecesOf(node)) {
    int64_t bytes = network.usages[piece.offset + from] - network.usages[piece.offset + to];
    if (bytes != 0)
      add(piece.begin, piece.end, bytes);
  }
}

void UsageLedger::addWithin(int32_t begin, int32_t end, int64_t bytes) {
  int32_t block = begin / kBlock;
  for (int32_t t = begin; t < end; ++t)
    left[t] += bytes;
  int32_t first = block * kBlock, last = std::min(first + kBlock, network.numTimes());
  int64_t smallest = left[first];
  for (int32_t t = first + 1; t < last; ++t)
    smallest = left[t] < smallest ? left[t] : smallest;
  least[block] = smallest;
}

void UsageLedger::add(int32_t begin, int32_t end, int64_t bytes) {
  int32_t firstWhole = (begin + kBlock - 1) / kBlock, lastWhole = end / kBlock;
  if (firstWhole >= lastWhole) {
    for (int32_t t = begin; t < end;) {
      int32_t stop = std::min(end, (t / kBlock + 1) * kBlock);
      addWithin(t, stop, bytes);
      t = stop;
    }
    return;
  }
  if (begin < firstWhole * kBlock)
    addWithin(begin, firstWhole * kBlock, bytes);
  for (int32_t block = firstWhole; block < lastWhole; ++block)
    whole[block] += bytes;
  if (lastWhole * kBlock < end)
    addWithin(lastWhole * kBlock, end, bytes);
}

bool UsageLedger::fits() const {
  for (size_t block = 0; block < whole.size(); ++block)
    if (whole[block] + least[block] < 0)
      return false;
  return true;
}

int32_t UsageLedger::tightest() const {
  size_t best = 0;
  for (size_t block = 1; block < whole.size(); ++block)
    if (whole[block] + least[block] < whole[best] + least[best])
      best = block;
  if (whole.empty())
    return -1;
  auto begin = left.begin() + static_cast<int64_t>(best) * kBlock;
  auto end = left.begin() +
             std::min((static_cast<int64_t>(best) + 1) * kBlock, static_cast<int64_t>(left.size()));
  return static_cast<int32_t>(std::min_element(begin, end) - left.begin());
}

double UsageLedger::overload() const {
  double sum = 0;
  for (size_t block = 0; block < whole.size(); ++block) {
    if (whole[block] + least[block] >= 0)
      continue;
    size_t end = std::min((block + 1) * kBlock, left.size());
    for (size_t t = block * kBlock; t < end; ++t)
      sum += static_cast<double>(std::max<int64_t>(0, -left[t] - whole[block]));
  }
  return sum;
}

} // namespace dtc::solver

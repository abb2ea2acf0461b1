// Numbers of nodes that may train faster than all of a system.
#include "compiler/planner/FewerNodes.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace dtc {
namespace {

// Ranks that axes other than dp have to take, and the largest prime factor of their number.
struct Rest {
  int64_t ranks, prime;
};

int64_t largestPrimeOf(int64_t value) {
  int64_t largest = 1;
  for (int64_t prime = 2; prime * prime <= value; ++prime)
    for (; value % prime == 0; value /= prime)
      largest = prime;
  return std::max(largest, value);
}

Rest restOf(int64_t devices, int64_t globalBatch) {
  int64_t ranks = devices / std::gcd(devices, globalBatch);
  return {ranks, largestPrimeOf(ranks)};
}

} // namespace

std::vector<int64_t> fewerNodeCounts(const Topology &topology, int64_t globalBatch, int64_t least) {
  std::vector<int64_t> counts;
  if (!topology.isUniform())
    return counts;
  std::vector<Rest> larger{restOf(topology.numDevices(), globalBatch)};
  for (int64_t nodes = topology.nodes - 1; nodes >= std::max<int64_t>(1, least); --nodes) {
    Rest rest = restOf(nodes * topology.devicesPerNode, globalBatch);
    bool isNoBetter = llvm::any_of(larger, [&](const Rest &other) {
      return other.ranks < 2 * rest.ranks && other.prime <= rest.prime;
    });
    if (isNoBetter)
      continue;
    larger.push_back(rest);
    counts.push_back(nodes);
  }
  for (int64_t nodes = topology.nodes / 2; nodes >= std::max<int64_t>(1, least); nodes /= 2)
    counts.push_back(nodes);
  llvm::sort(counts, std::greater<>());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

std::vector<int64_t> batchesForAll(const Plan &plan, int64_t allDevices) {
  const Decisions &d = plan.decisions;
  int64_t ofReplica = d.tp * d.pp * d.cp;
  if (allDevices % ofReplica != 0)
    return {};
  int64_t each = allDevices / ofReplica * d.microBatch, below = plan.globalBatch / each * each;
  std::vector<int64_t> batches{below, below + each};
  llvm::erase(batches, 0);
  llvm::sort(batches, [&](int64_t a, int64_t b) {
    return std::pair(std::llabs(a - plan.globalBatch), a) <
           std::pair(std::llabs(b - plan.globalBatch), b);
  });
  return batches;
}

} // namespace dtc

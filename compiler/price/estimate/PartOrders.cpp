// Orders in which pipeline stages go over the groups of devices of an uneven system.
#include "compiler/price/estimate/PartOrders.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>

namespace dtc {
namespace {

// At most 24 orders, as each is a mesh of its own to the search.
constexpr size_t kMostPermuted = 4;

using GroupOrder = std::vector<size_t>;

StageStarts startsOf(llvm::ArrayRef<DeviceGroup> groups, const GroupOrder &order,
                     int64_t stageSize) {
  StageStarts starts;
  for (size_t index : order)
    for (int64_t offset = 0; offset < groups[index].numDevices; offset += stageSize)
      starts.push_back(groups[index].firstDevice + offset);
  return starts;
}

// Returns a sort key: the fastest group first, of equal ones that with the faster links.
std::pair<double, double> speedOf(const DeviceGroup &group) {
  double peak = 0;
  for (double flops : group.device.peakFlops)
    peak = std::max(peak, flops);
  return {-peak, group.levels.empty() ? 0 : -group.levels.back().effectiveBandwidth()};
}

std::vector<GroupOrder> permutationsOf(size_t count) {
  GroupOrder order(count);
  std::iota(order.begin(), order.end(), size_t(0));
  std::vector<GroupOrder> all;
  do
    all.push_back(order);
  while (std::next_permutation(order.begin(), order.end()));
  return all;
}

std::vector<GroupOrder> sortedOrders(llvm::ArrayRef<DeviceGroup> groups) {
  GroupOrder bySpeed(groups.size());
  std::iota(bySpeed.begin(), bySpeed.end(), size_t(0));
  GroupOrder byMemory = bySpeed;
  // Equal ones in the order of ranks.
  llvm::sort(bySpeed, [&](size_t a, size_t b) {
    return std::pair(speedOf(groups[a]), a) < std::pair(speedOf(groups[b]), b);
  });
  llvm::sort(byMemory, [&](size_t a, size_t b) {
    return std::pair(-groups[a].device.memoryBytes, a) <
           std::pair(-groups[b].device.memoryBytes, b);
  });
  return {
      bySpeed, {bySpeed.rbegin(), bySpeed.rend()}, byMemory, {byMemory.rbegin(), byMemory.rend()}};
}

} // namespace

std::vector<StageStarts> partOrders(llvm::ArrayRef<DeviceGroup> groups, int64_t stageSize) {
  int64_t devices = groups.back().firstDevice + groups.back().numDevices;
  StageStarts ranks;
  for (int64_t start = 0; start + stageSize <= devices; start += stageSize)
    ranks.push_back(start);
  std::vector<StageStarts> orders{ranks, {ranks.rbegin(), ranks.rend()}};
  // A stage over the border of two groups needs them to be neighbours.
  if (llvm::any_of(groups, [&](const DeviceGroup &each) { return each.numDevices % stageSize; }))
    return orders;
  for (const GroupOrder &order :
       groups.size() <= kMostPermuted ? permutationsOf(groups.size()) : sortedOrders(groups)) {
    bool isReverse = std::is_sorted(order.rbegin(), order.rend());
    StageStarts starts = startsOf(groups, order, stageSize);
    if (!isReverse && !llvm::is_contained(orders, starts))
      orders.push_back(std::move(starts));
  }
  return orders;
}

} // namespace dtc

#include "runtime/cuda/MergeLaunches.h"

#include "runtime/base/Text.h"
#include "runtime/format/Operands.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

namespace dtc::rt {

using format::text;

namespace {

// Orders launches by their dependences and merges them into groups.
class Grouping {
public:
  explicit Grouping(const std::vector<const LaunchPiece *> &launches)
      : launches(launches), later(launches.size()), numBefore(launches.size()) {
    for (size_t i = 0; i < launches.size(); ++i) {
      ++kinds[launches[i]->merged].left;
      for (size_t before = 0; before < i; ++before)
        if (depend(*launches[before], *launches[i])) {
          later[before].push_back(i);
          ++numBefore[i];
        }
    }
    for (size_t i = 0; i < launches.size(); ++i)
      if (numBefore[i] == 0)
        kinds[launches[i]->merged].ready.insert(i);
  }

  // Runs launches that stay alone first; others wait for companions.
  std::vector<LaunchGroup> run() {
    while (true) {
      Kind &alone = kinds[nullptr];
      while (!alone.ready.empty())
        take(alone, /*most=*/1);
      Kind *kind = choose();
      if (!kind)
        return std::move(groups);
      take(*kind, launches.size());
    }
  }

private:
  // The launches that one merged kernel can do.
  struct Kind {
    std::set<size_t> ready;
    size_t left = 0; // ready or not
  };

  static bool depend(const LaunchPiece &a, const LaunchPiece &b) {
    for (const LaunchPiece::Range &range : a.ranges)
      for (const LaunchPiece::Range &other : b.ranges)
        if (range.meets(other))
          return true;
    return false;
  }

  // Returns the kind with the fewest launches still to become ready, the earliest one among equals.
  Kind *choose() {
    Kind *best = nullptr;
    auto key = [](const Kind &kind) {
      return std::pair(kind.left - kind.ready.size(), *kind.ready.begin());
    };
    for (auto &[merged, kind] : kinds)
      if (!kind.ready.empty() && (!best || key(kind) < key(*best)))
        best = &kind;
    return best;
  }

  void take(Kind &kind, size_t most) {
    LaunchGroup &group = groups.emplace_back();
    while (!kind.ready.empty() && group.members.size() < most) {
      group.members.push_back(*kind.ready.begin());
      kind.ready.erase(kind.ready.begin());
      --kind.left;
    }
    for (size_t member : group.members)
      for (size_t next : later[member])
        if (--numBefore[next] == 0)
          kinds[launches[next]->merged].ready.insert(next);
  }

  const std::vector<const LaunchPiece *> &launches;
  std::vector<std::vector<size_t>> later; // launches that wait for each launch
  std::vector<size_t> numBefore;          // number of launches that each one waits for
  std::map<cu::Function, Kind> kinds;
  std::vector<LaunchGroup> groups;
};

} // namespace

LaunchPiece describe(const format::StridedCopy &copy, const std::vector<char *> &buffers) {
  auto elementBytes = static_cast<int64_t>(format::bytesOf(copy.dtype()));
  auto range = [&](const flatbuffers::Vector<int64_t> *strides, const char *buffer) {
    int64_t first = 0, last = 0;
    for (uint32_t dim = 0; dim < format::sizeOf(copy.sizes()); ++dim) {
      int64_t reach = (static_cast<int64_t>(copy.sizes()->Get(dim)) - 1) * strides->Get(dim);
      first += std::min<int64_t>(reach, 0);
      last += std::max<int64_t>(reach, 0);
    }
    return LaunchPiece::Range{.begin = reinterpret_cast<uintptr_t>(buffer + first * elementBytes),
                              .end =
                                  reinterpret_cast<uintptr_t>(buffer + (last + 1) * elementBytes)};
  };
  LaunchPiece piece;
  piece.ranges = {range(copy.src_strides(), buffers[0]), range(copy.dst_strides(), buffers[1])};
  piece.ranges[1].isWritten = true;
  return piece;
}

std::vector<LaunchGroup> groupLaunches(const std::vector<const LaunchPiece *> &launches) {
  return Grouping(launches).run();
}

LaunchTables::~LaunchTables() {
  if (memory)
    (void)driver.cuMemFree(memory);
  if (host)
    (void)driver.cuMemFreeHost(host);
}

void LaunchTables::add(const std::vector<const LaunchPiece *> &pieces, size_t &firsts,
                       size_t &records) {
  firsts = words.size();
  uint64_t block = 0;
  for (const LaunchPiece *piece : pieces) {
    words.push_back(block);
    block += piece->blocks;
  }
  records = words.size();
  for (const LaunchPiece *piece : pieces)
    words.insert(words.end(), piece->record.begin(), piece->record.end());
}

Status LaunchTables::copy(cu::Stream stream) {
  uint64_t bytes = words.size() * sizeof(uint64_t);
  cu::Result result = driver.cuMemAlloc(&memory, bytes);
  if (result == cu::errorOutOfMemory)
    return Status::resourceExhausted(text("the GPU has no ", bytes,
                                          " bytes left for tables of launches; compile for more ",
                                          "ranks or a smaller batch, or stop what else uses it"));
  DTC_RETURN_IF_ERROR(cu::check(driver, "cuMemAlloc", result));
  DTC_CUDA(driver, cuMemAllocHost, &host, bytes);
  std::memcpy(host, words.data(), bytes);
  DTC_CUDA(driver, cuMemcpyHtoDAsync, memory, host, bytes, stream);
  return {};
}

} // namespace dtc::rt

#include "runtime/simt/AccessCounters.h"

#include "runtime/simt/Clocks.h"
#include "runtime/simt/SiteLocation.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace dtc::simt {

static constexpr uint64_t sectorBytes = 32, banks = 32, bankBytes = 4;

void AccessCounters::note(uint32_t thread, const abi::Site &site, uint64_t address, uint64_t bytes,
                          uint32_t align, bool shared) {
  uint64_t piece = std::min<uint64_t>(16, std::max<uint32_t>(align, 1));
  uint32_t &turn = turns[thread][&site];
  for (uint64_t at = 0; at < bytes; at += piece)
    touches.push_back({&site, thread / warpThreads, turn++, thread % warpThreads,
                       static_cast<uint32_t>(std::min(piece, bytes - at)), address + at, shared});
}

void AccessCounters::countGlobal(const Touch *begin, const Touch *end, AccessCount &count) {
  std::vector<uint64_t> sectors;
  std::vector<std::pair<uint64_t, uint64_t>> pieces;
  for (const Touch *touch = begin; touch != end; ++touch) {
    for (uint64_t s = touch->address / sectorBytes;
         s <= (touch->address + touch->bytes - 1) / sectorBytes; ++s)
      sectors.push_back(s);
    pieces.emplace_back(touch->address, touch->address + touch->bytes);
  }
  std::sort(sectors.begin(), sectors.end());
  std::sort(pieces.begin(), pieces.end());
  uint64_t used = 0, upTo = 0;
  for (auto [first, last] : pieces) {
    first = std::max(first, upTo);
    used += last > first ? last - first : 0;
    upTo = std::max(upTo, last);
  }
  ++count.globalRequests;
  count.globalSectors +=
      static_cast<uint64_t>(std::unique(sectors.begin(), sectors.end()) - sectors.begin());
  count.globalSectorsNeeded += (used + sectorBytes - 1) / sectorBytes;
}

// Counts how often shared memory serves one request. Lanes are served in groups that together ask
// for at most 128 bytes. A group is served once for each different word of the bank that has most
// of them.
void AccessCounters::countShared(const Touch *begin, const Touch *end, AccessCount &count) {
  uint64_t wide = std::max<uint64_t>(begin->bytes, bankBytes),
           lanesAtOnce = banks * bankBytes / wide;
  ++count.sharedRequests;
  for (uint64_t group = 0; group < warpThreads / lanesAtOnce; ++group) {
    std::array<std::vector<uint64_t>, banks> words;
    for (const Touch *touch = begin; touch != end; ++touch)
      if (touch->lane / lanesAtOnce == group)
        for (uint64_t word = touch->address / bankBytes;
             word <= (touch->address + touch->bytes - 1) / bankBytes; ++word)
          if (auto &bank = words[word % banks];
              std::find(bank.begin(), bank.end(), word) == bank.end())
            bank.push_back(word);
    size_t most = 0, all = 0;
    for (const auto &bank : words) {
      most = std::max(most, bank.size());
      all += bank.size();
    }
    count.sharedWavefronts += most;
    count.sharedWavefrontsNeeded += (all + banks - 1) / banks;
  }
}

void AccessCounters::finishBlock() {
  auto key = [](const Touch &touch) {
    return std::tuple(touch.site->index, touch.site, touch.warp, touch.turn);
  };
  std::sort(touches.begin(), touches.end(),
            [&](const Touch &a, const Touch &b) { return key(a) < key(b); });
  for (size_t first = 0; first < touches.size();) {
    size_t last = first;
    while (last < touches.size() && key(touches[last]) == key(touches[first]))
      ++last;
    const Touch *begin = touches.data() + first, *end = touches.data() + last;
    AccessCount &count = counts[begin->site];
    if (begin->shared)
      countShared(begin, end, count);
    else
      countGlobal(begin, end, count);
    first = last;
  }
  touches.clear();
  for (auto &turn : turns)
    turn.clear();
}

void AccessCounters::addTo(Counters &counters) const {
  std::map<std::string, AccessCount> locations;
  for (const Counters::Site &site : counters.sites)
    locations[site.location].add(site.count);
  for (const auto &[site, count] : counts) {
    locations[locationOf(*site)].add(count);
    counters.total.add(count);
  }
  counters.sites.clear();
  for (const auto &[location, count] : locations)
    counters.sites.push_back({location, count});
}

} // namespace dtc::simt

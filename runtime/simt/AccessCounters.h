// Counts memory sectors and bank conflicts. One request is what the lanes of a warp access by one
// instruction, each lane for the same time.
#pragma once

#include "runtime/simt/Abi.h"
#include "runtime/simt/AccessCount.h"

#include <map>
#include <unordered_map>
#include <vector>

namespace dtc::simt {

// Collects the accesses of one block and sums them up by site when the block ends.
class AccessCounters {
public:
  explicit AccessCounters(uint32_t numThreads) : turns(numThreads) {}

  // Records an access of `bytes` bytes by thread `thread` of the block. An access that is larger
  // than its alignment or than 16 bytes counts as several, as in PTX. For shared memory `address`
  // is an offset in bytes.
  void note(uint32_t thread, const abi::Site &site, uint64_t address, uint64_t bytes,
            uint32_t align, bool shared);
  // Counts the requests of the block that has run, and forgets its accesses.
  void finishBlock();
  // Adds all counts to `counters`, by location, and sorts its sites by location.
  void addTo(Counters &counters) const;

private:
  struct Touch {
    const abi::Site *site;
    uint32_t warp, turn, lane, bytes;
    uint64_t address;
    bool shared;
  };
  using Request = std::vector<Touch>;
  static void countGlobal(const Touch *begin, const Touch *end, AccessCount &count);
  static void countShared(const Touch *begin, const Touch *end, AccessCount &count);

  std::vector<std::unordered_map<const abi::Site *, uint32_t>>
      turns; // for each thread: how often it reached a site
  std::vector<Touch> touches;
  std::map<const abi::Site *, AccessCount> counts;
};

} // namespace dtc::simt

// Counts sectors and bank conflicts: what the lanes of a warp access by one instruction, for the same time each, is a
// request.
#pragma once

#include "runtime/simt/Abi.h"
#include "runtime/simt/Simt.h"

#include <map>
#include <unordered_map>
#include <vector>

namespace dtc::simt {

class AccessCounters {
public:
  explicit AccessCounters(uint32_t numThreads) : turns(numThreads) {}

  // An access of `bytes` bytes; one that is larger than its alignment or than 16 bytes is several, as in PTX. `address`
  // is an offset for shared memory.
  void note(uint32_t thread, const abi::Site &site, uint64_t address, uint64_t bytes,
            uint32_t align, bool shared);
  // All accesses of a block are there.
  void finishBlock();
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
      turns; // by thread: how often it was at a site
  std::vector<Touch> touches;
  std::map<const abi::Site *, AccessCount> counts;
};

} // namespace dtc::simt

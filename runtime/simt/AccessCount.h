// Counts of the memory accesses of kernels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dtc::simt {

// Counts how well the accesses of warps coalesce. A request is one access of up to 16 bytes per
// lane, made by all lanes of a warp that execute the instruction for the same time.
struct AccessCount {
  uint64_t globalRequests = 0;
  uint64_t globalSectors = 0;       // sectors of 32 bytes that requests access
  uint64_t globalSectorsNeeded = 0; // sectors that the accessed bytes would fill
  uint64_t sharedRequests = 0;
  uint64_t sharedWavefronts = 0;       // rounds in which shared memory serves
  uint64_t sharedWavefrontsNeeded = 0; // rounds without bank conflicts

  // Returns the sectors of global memory per request, 0 without requests.
  double sectorsPerRequest() const;
  // Returns sectors accessed over sectors needed: 1 if accesses coalesce, 8 if each uses 4 bytes of
  // a sector.
  double sectorRatio() const;
  // Returns wavefronts over wavefronts needed: 1 without bank conflicts.
  double bankConflicts() const;
  // Adds the counts of `other`.
  void add(const AccessCount &other);
};

// Totals over launches. Each launch adds to them.
struct Counters {
  // The counts of one location in the source.
  struct Site {
    std::string location; // "Norm.cu:12" or the function
    AccessCount count;
  };
  uint64_t launches = 0;
  uint64_t threads = 0;
  uint64_t steps = 0; // accesses, operations of warps and blocks, turns of other loops
  AccessCount total;
  std::vector<Site> sites; // sorted by location
};

} // namespace dtc::simt

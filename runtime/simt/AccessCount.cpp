#include "runtime/simt/AccessCount.h"

namespace dtc::simt {

static double ratio(uint64_t a, uint64_t b) {
  return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
}

double AccessCount::sectorsPerRequest() const { return ratio(globalSectors, globalRequests); }
double AccessCount::sectorRatio() const { return ratio(globalSectors, globalSectorsNeeded); }
double AccessCount::bankConflicts() const {
  return ratio(sharedWavefronts, sharedWavefrontsNeeded);
}

void AccessCount::add(const AccessCount &other) {
  globalRequests += other.globalRequests;
  globalSectors += other.globalSectors;
  globalSectorsNeeded += other.globalSectorsNeeded;
  sharedRequests += other.sharedRequests;
  sharedWavefronts += other.sharedWavefronts;
  sharedWavefrontsNeeded += other.sharedWavefrontsNeeded;
}

} // namespace dtc::simt

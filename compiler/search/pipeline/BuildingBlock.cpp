// Moments and peaks of building blocks.
#include "compiler/search/pipeline/BuildingBlock.h"

namespace dtc {

// The way down takes 2 moments a stage in V-Half, all others 1. What stages wait at the turn lets
// their tasks fall on different moments: with 3 p (V-Half) or 2 p (V-Min) a multiple of the
// interval, F of the first and B of the second chunk would be on the same.
BlockMoments blockMoments(ScheduleKind kind, int stages, int stage) {
  int p = stages, i = stage;
  if (kind == ScheduleKind::VMin) {
    int wait = p % 3 == 0 ? 2 : 0;
    return {i, 2 * p - 1 - i, 2 * p + wait + i, 4 * p + wait - 1 - i};
  }
  int wait = p % 2 == 0 ? 3 : 0;
  return {2 * i, 3 * p - 2 - i, 3 * p - 1 + wait + 2 * i, 6 * p - 2 + wait - i};
}

// All stages wait as long for a block's tasks together, in its two chunks: 6 p moments and what it
// waits in V-Half, 4 p in V-Min, of which each interval starts two chunks. W is late by less than
// one.
int blockPeak(ScheduleKind kind, int stages) {
  return kind == ScheduleKind::VMin ? 2 * ((stages + 1) / 3 + 1) : 2 * (stages / 2 + 1);
}

} // namespace dtc

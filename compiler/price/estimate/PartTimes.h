// Seconds of one part of a model (a layer, the embedding or the head) for one micro-batch on one
// rank. Internal to this folder.
#pragma once

#include "compiler/price/estimate/LayerWay.h"

#include <array>

namespace dtc {

// Exposed seconds of collectives, for one micro-batch.
struct ExposedSeconds {
  double tp = 0, cp = 0, ep = 0, gather = 0;
};

// The seconds of one part for one micro-batch.
struct PartTimes {
  double forward = 0, backwardInput = 0, backwardWeight = 0; // collectives that nothing hides too
  ExposedSeconds exposed;                                    // part of these
  double compute = 0;                                        // part of these: kernels
  // Part of these: collectives of ZeRO-2 and 3, as waits and as the slowdown of compute beside
  // them.
  double gathers = 0;
  std::array<double, kNumRecomputes> recompute{}; // added, by recomputation
  // The seconds by which copies of the saved activations to the host and back outlast the part's
  // passes, by recomputation.
  std::array<double, kNumRecomputes> toHost{}, fromHost{};

  // Returns the seconds of all passes.
  double total() const { return forward + backwardInput + backwardWeight; }
  // Returns the seconds that a recomputation adds.
  double recomputeOf(Recompute how) const { return recompute[static_cast<size_t>(how)]; }
  // Returns the exposed seconds of copies to the host.
  double toHostOf(LayerWay way) const {
    return way.isOnHost ? toHost[static_cast<size_t>(way.recompute)] : 0;
  }
  // Returns the exposed seconds of copies from the host.
  double fromHostOf(LayerWay way) const {
    return way.isOnHost ? fromHost[static_cast<size_t>(way.recompute)] : 0;
  }
  // Returns all seconds that a way adds.
  double againOf(LayerWay way) const {
    return recomputeOf(way.recompute) + toHostOf(way) + fromHostOf(way);
  }
};

} // namespace dtc

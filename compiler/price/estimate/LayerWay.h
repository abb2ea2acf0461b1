// The ways in which a layer saves fewer bytes on its device: recomputation and offloading.
#pragma once

#include "dialects/graph/Recompute.h"

#include <cstddef>

namespace dtc {

struct BlockCost;

// One way.
struct LayerWay {
  Recompute recompute = Recompute::None;
  bool isOnHost = false; // activations that are still saved lie on the host
  bool operator==(const LayerWay &) const = default;
  // Returns a number below kNumLayerWays.
  size_t index() const { return static_cast<size_t>(recompute) + (isOnHost ? kNumRecomputes : 0); }
};
constexpr size_t kNumLayerWays = 2 * kNumRecomputes;

// Returns the bytes of activations that a layer saves on its device, of one micro-batch.
double keptBy(const BlockCost &block, LayerWay way);

// Returns the bytes that a layer holds while it is recomputed, beyond its saved activations; if
// offloaded also the copies of this layer and of the one before it.
double workspaceOf(const BlockCost &block, LayerWay way);

} // namespace dtc

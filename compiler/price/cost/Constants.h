// Every constant of the cost model that is not a figure of a topology file, in one table per device
// type.
#pragma once

#include "compiler/describe/topology/Topology.h"

namespace dtc {

// A blocking of a matrix product: each compute unit makes one tile of the result at a time.
struct TileShape {
  int64_t m, n;
  double efficiency; // relative to the best tile, when it divides the problem
};

// Attention reaches share x T / (T + halfLength) of the peak for T keys.
struct AttentionCurve {
  double share;
  double halfLength;
};

// The shares of a data sheet's rates that a device reaches.
struct DeviceConstants {
  llvm::StringRef prefix; // prefix of DeviceKind::name; "": any device of the class
  std::array<double, numComputeTypes> productShare; // share of the peak for large matmuls
  // Share of the isolated rate of matmuls and attention that training steps reach: under sustained
  // power, with real data. secondsOf does not apply it.
  double sustained = 1;
  double pointwiseShare; // share of the f32 peak for additions and the like
  double memoryShare;    // share of the memory bandwidth
  double halfK;          // a product of this depth k reaches half the rate
  int64_t splitK;        // least depth of a part when k is split over idle units; 0: never
  std::array<TileShape, 3> tiles;
  AttentionCurve attention64,
      attention128; // head dimensions 64 and less, 128 and more; between: interpolated
};

// Returns the constants of a kind of device.
const DeviceConstants &constantsOf(const DeviceKind &device);

} // namespace dtc

// The analytic model of ops, with constants in Constants.cpp; OpCost.h corrects it by measured
// curves.
#pragma once

#include "compiler/price/cost/Cost.h"

namespace dtc {

// A product of f32 or 16-bit operands with its flops and bytes filled in: 2 batch m n k flops, each
// operand and the result moved once. Example: productWork(1024, 3072, 768, 1,
// ComputeType::BF16).flops is 4831838208.
OpWork productWork(int64_t m, int64_t n, int64_t k, int64_t batch, ComputeType type);

// Returns the seconds that one launch takes.
double launchSeconds(const DeviceKind &device, Launch launch);

// Returns the seconds of a launch in the model: max(flops / (peak x efficiency), bytes / achieved
// bandwidth) + launch; see secondsOf.
double modelSeconds(const OpWork &work, const DeviceKind &device, Launch launch);

// Returns the seconds that the model gives a device at least for that much work of the kind; see
// leastSecondsOf.
double leastModelSeconds(const OpWork &work, const DeviceKind &device);

// The terms of an op's seconds in the analytic model. A share of 1 means fully used.
struct OpTerms {
  // The op takes launch + the larger of the other two.
  double computeSeconds = 0, memorySeconds = 0, launchSeconds = 0;
  double peakFlops = 0; // peak of the type, per second
  // Share of the peak that large matmuls, or attention of this length, sustain.
  double sustained = 1;
  // Matmuls: the tile of the model, the number of waves of tiles, and the number of parts that k is
  // cut into for idle units; then the shares left by overhanging tiles, by a partial last wave, and
  // by filling and draining of k, and the tile's own efficiency.
  int64_t tileM = 0, tileN = 0;
  double waves = 0, parts = 1;
  double tileUse = 1, waveUse = 1, depthUse = 1, tileEfficiency = 1;
  double alignedUse = 1; // less where rows are not of whole 16-byte pieces
  bool measured = false; // the device has measured curves, which secondsOf takes instead
};
// Returns the terms of an op's seconds.
OpTerms explainOp(const OpWork &work, const DeviceKind &device, Launch launch = Launch::Single);

} // namespace dtc

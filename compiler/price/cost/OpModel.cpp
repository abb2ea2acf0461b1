// Rates of products, attention and memory by the device, and what an op takes at them.
#include "compiler/price/cost/OpModel.h"

#include "compiler/price/cost/Constants.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

namespace dtc {
namespace {

double divideUp(int64_t value, int64_t by) {
  return static_cast<double>(llvm::divideCeil(value, by));
}

// Tensor cores read rows in 16 bytes: 8 elements of 16 bits. Products whose rows are not of whole
// ones keep about this much (NVIDIA, "Matrix Multiplication Background User's Guide", figure 2;
// BigScience measured it on head dimensions of 108).
constexpr double kUnalignedShare = 0.35;

double alignedShare(const OpWork &work, const DeviceKind &device) {
  bool halves = work.type == ComputeType::BF16 || work.type == ComputeType::F16;
  // A matmul with a short k is bound by bytes, so k's alignment counts only for many matrices, as
  // with heads.
  bool aligned = work.n % 8 == 0 && (work.batch == 1 || work.k % 8 == 0);
  return halves && device.deviceClass == DeviceClass::Gpu && !aligned ? kUnalignedShare : 1;
}

// More parts than that move more sums of parts than fuller waves save: an H200 takes 214 us for
// 3072 x 768 x 32768, 217 by five (bench/results/gpu.md).
constexpr double kMostParts = 5;

// The share of a matmul's rate that one tile shape reaches. Example: 384 x 128 x 1024 on 4 units
// with tiles of 128 x 128 is 3 tiles, which 4 units compute in one wave: 0.75 of the units are
// used.
struct ProductTerms {
  TileShape tile{};
  double tileUse = 0, waveUse = 0, depthUse = 0, waves = 0, parts = 1;
  double share() const { return tile.efficiency * tileUse * waveUse * depthUse; }
};

ProductTerms productTerms(const OpWork &work, const TileShape &tile,
                          const DeviceConstants &constants, int64_t units) {
  ProductTerms terms;
  terms.tile = tile;
  double tiles =
      divideUp(work.m, tile.m) * divideUp(work.n, tile.n) * static_cast<double>(work.batch);
  terms.tileUse = static_cast<double>(work.m) * static_cast<double>(work.n) *
                  static_cast<double>(work.batch) /
                  (tiles * static_cast<double>(tile.m) * static_cast<double>(tile.n));
  double k = static_cast<double>(work.k), unitCount = static_cast<double>(units);
  // Idle units take parts of k: the weight gradient of a small layer is deep and narrow.
  double most = 1;
  if (constants.splitK)
    most = std::floor(k / static_cast<double>(constants.splitK));
  // At most the parts that give each unit a tile, or kMostParts if there are more than a few tiles.
  most = std::min(most, std::max(kMostParts, std::floor(unitCount / tiles)));
  double best = 0;
  for (double parts = 1; parts <= std::max(most, 1.0); ++parts) {
    double waves = std::ceil(tiles * parts / unitCount), depth = k / parts;
    double waveUse = tiles * parts / (waves * unitCount),
           depthUse = depth / (depth + constants.halfK);
    if (waveUse * depthUse > best) {
      best = waveUse * depthUse;
      terms.waves = waves;
      terms.waveUse = waveUse;
      terms.depthUse = depthUse;
      terms.parts = parts;
    }
  }
  return terms;
}

ProductTerms bestProduct(const OpWork &work, const DeviceConstants &constants,
                         const DeviceKind &device) {
  ProductTerms best;
  for (const TileShape &tile : constants.tiles) {
    ProductTerms terms = productTerms(work, tile, constants, device.computeUnits);
    if (terms.share() > best.share())
      best = terms;
  }
  return best;
}

double productRate(const OpWork &work, ComputeType type, const DeviceConstants &constants,
                   const DeviceKind &device) {
  double rate = device.peak(type) * constants.productShare[static_cast<size_t>(type)];
  return rate * bestProduct(work, constants, device).share() * alignedShare(work, device);
}

double attentionRate(const OpWork &work, ComputeType type, const DeviceConstants &constants,
                     const DeviceKind &device) {
  double length = static_cast<double>(work.n);
  auto reached = [&](const AttentionCurve &curve) {
    return curve.share * length / (length + curve.halfLength);
  };
  // Heads of 96 are half way between 64 and 128.
  double wide = std::clamp((static_cast<double>(work.k) - 64) / 64, 0.0, 1.0);
  return device.peak(type) *
         ((1 - wide) * reached(constants.attention64) + wide * reached(constants.attention128));
}

bool hasShape(const OpWork &work) {
  return work.m > 0 && work.n > 0 && work.k > 0 && work.batch > 0;
}

ComputeType typeOf(const OpWork &work, const DeviceKind &device) {
  return device.peak(work.type) > 0 ? work.type : ComputeType::F32;
}

double memorySeconds(const OpWork &work, const DeviceKind &device) {
  return work.bytes / (device.memoryBandwidth * constantsOf(device).memoryShare);
}

} // namespace

double launchSeconds(const DeviceKind &device, Launch launch) {
  return launch == Launch::Replayed ? device.replayLatency() : device.launchLatency;
}

OpWork productWork(int64_t m, int64_t n, int64_t k, int64_t batch, ComputeType type) {
  OpWork work;
  work.kind = WorkKind::Product;
  work.m = m;
  work.n = n;
  work.k = k;
  work.batch = batch;
  work.type = type;
  double rows = static_cast<double>(m), columns = static_cast<double>(n),
         depth = static_cast<double>(k);
  double elementBytes = type == ComputeType::FP8                                ? 1
                        : type == ComputeType::BF16 || type == ComputeType::F16 ? 2
                                                                                : 4;
  work.flops = 2 * static_cast<double>(batch) * rows * columns * depth;
  work.bytes =
      elementBytes * static_cast<double>(batch) * (rows * depth + depth * columns + rows * columns);
  return work;
}

double modelSeconds(const OpWork &work, const DeviceKind &device, Launch launch) {
  if (work.flops <= 0 && work.bytes <= 0)
    return 0;
  const DeviceConstants &constants = constantsOf(device);
  double rate = device.peak(ComputeType::F32) * constants.pointwiseShare;
  if (work.kind == WorkKind::Product && hasShape(work))
    rate = productRate(work, typeOf(work, device), constants, device);
  else if (work.kind == WorkKind::Attention && hasShape(work))
    rate = attentionRate(work, typeOf(work, device), constants, device);
  double compute = work.flops > 0 ? work.flops / rate : 0;
  return std::max(compute, memorySeconds(work, device)) + launchSeconds(device, launch);
}

double leastModelSeconds(const OpWork &work, const DeviceKind &device) {
  const DeviceConstants &constants = constantsOf(device);
  if (work.kind == WorkKind::Memory)
    return memorySeconds(work, device);
  ComputeType type = typeOf(work, device);
  double rate = 0;
  if (work.kind == WorkKind::Attention) {
    rate = attentionRate(work, type, constants, device);
  } else {
    for (const TileShape &tile : constants.tiles)
      rate = std::max(rate, tile.efficiency);
    rate *= device.peak(type) * constants.productShare[static_cast<size_t>(type)];
  }
  return work.flops / rate;
}

OpTerms explainOp(const OpWork &work, const DeviceKind &device, Launch launch) {
  const DeviceConstants &constants = constantsOf(device);
  ComputeType type = typeOf(work, device);
  OpTerms terms;
  terms.measured = device.calibration != nullptr;
  if (work.flops > 0 || work.bytes > 0)
    terms.launchSeconds = launchSeconds(device, launch);
  terms.memorySeconds = memorySeconds(work, device);
  terms.peakFlops = device.peak(type);
  double rate = device.peak(ComputeType::F32) * constants.pointwiseShare;
  if (work.kind == WorkKind::Product && hasShape(work)) {
    ProductTerms product = bestProduct(work, constants, device);
    terms.sustained = constants.productShare[static_cast<size_t>(type)];
    terms.tileM = product.tile.m;
    terms.tileN = product.tile.n;
    terms.waves = product.waves;
    terms.parts = product.parts;
    terms.tileUse = product.tileUse;
    terms.waveUse = product.waveUse;
    terms.depthUse = product.depthUse;
    terms.tileEfficiency = product.tile.efficiency;
    terms.alignedUse = alignedShare(work, device);
    rate = terms.peakFlops * terms.sustained * product.share() * terms.alignedUse;
  } else if (work.kind == WorkKind::Attention && hasShape(work)) {
    rate = attentionRate(work, type, constants, device);
    terms.sustained = rate / terms.peakFlops;
  }
  terms.computeSeconds = work.flops > 0 ? work.flops / rate : 0;
  return terms;
}

} // namespace dtc

// Measured curves as the cost model asks them.
#include "compiler/price/cost/CalibratedCost.h"

#include "compiler/price/cost/CollectiveModel.h"
#include "compiler/price/cost/Curves.h"
#include "compiler/price/cost/OpModel.h"
#include "compiler/price/cost/UsedLevels.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

namespace dtc {
namespace {

double lg(int64_t value) { return std::log2(static_cast<double>(value)); }

// The part of the device of the file that `units` of its units are: all of it for a GPU.
DeviceKind partOf(const Calibration &calibration, int64_t units) {
  const DeviceKind &whole = calibration.device;
  DeviceKind device = whole;
  double share = static_cast<double>(units) / static_cast<double>(whole.computeUnits);
  device.computeUnits = units;
  setLaunches(device, calibration);
  device.memoryBandwidth *= share;
  device.memoryBytes =
      std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(whole.memoryBytes) * share));
  for (double &peak : device.peakFlops)
    peak *= share;
  return device;
}

OpWork memoryWork(double bytes) {
  OpWork work;
  work.bytes = bytes;
  return work;
}

// Blocked attention of `heads` heads on one device, as the planner counts it.
OpWork attentionWork(const AttentionPoint &point) {
  OpWork work;
  work.kind = WorkKind::Attention;
  work.type = point.type;
  work.batch = point.heads;
  work.m = work.n = point.sequence;
  work.k = point.headDim;
  work.causal = point.causal;
  work.backward = point.backward;
  double length = static_cast<double>(point.sequence), heads = static_cast<double>(point.heads);
  double depth = static_cast<double>(point.headDim);
  double elementBytes = productWork(1, 1, 1, 1, point.type).bytes / 3;
  work.flops =
      (point.backward ? 8 : 4) * (point.causal ? 0.5 : 1) * heads * length * length * depth;
  // Queries, keys, values and the result; their gradients beside them.
  work.bytes = (point.backward ? 8 : 4) * elementBytes * heads * length * depth;
  return work;
}

PointCloud::Coordinates productCoordinates(const OpWork &work, int64_t units) {
  return {lg(work.m), lg(work.n), lg(work.k), lg(work.batch), lg(units)};
}

PointCloud::Coordinates attentionCoordinates(const OpWork &work, int64_t units) {
  return {lg(work.n), lg(work.k), lg(units), 0, 0};
}

size_t attentionForm(const OpWork &work) {
  return (work.causal ? 1U : 0U) + (work.backward ? 2U : 0U);
}

struct MemoryCurve {
  DeviceKind device; // device that the units of the curve refer to
  ByteCurve seconds;
};

struct CollectiveCurve {
  CollectiveKind kind;
  std::string level;
  int64_t ranks;
  Topology reference; // the ranks and their level alone
  ByteCurve seconds;

  double model(double bytes) const {
    return modelChoice(kind, bytes, {{ranks, 1}}, reference).seconds;
  }
};

using TypeClouds = std::array<PointCloud, numComputeTypes>;

} // namespace

struct Curves {
  TypeClouds products;
  std::array<TypeClouds, 4> attention;      // indexed by attentionForm
  std::vector<MemoryCurve> memory;          // units ascend
  std::vector<CollectiveCurve> collectives; // kind, level, ranks ascend
};

namespace {

void addProducts(Curves &curves, const Calibration &calibration) {
  for (const ProductPoint &point : calibration.products) {
    OpWork work = productWork(point.m, point.n, point.k, point.batch, point.type);
    double model = modelSeconds(work, partOf(calibration, point.units), Launch::Single);
    curves.products[static_cast<size_t>(point.type)].add(productCoordinates(work, point.units),
                                                         model / point.time.seconds);
  }
}

void addAttention(Curves &curves, const Calibration &calibration) {
  for (const AttentionPoint &point : calibration.attention) {
    OpWork work = attentionWork(point);
    double model = modelSeconds(work, partOf(calibration, point.units), Launch::Single);
    curves.attention[attentionForm(work)][static_cast<size_t>(point.type)].add(
        attentionCoordinates(work, point.units), model / point.time.seconds);
  }
}

// Compiled programs run fused chains; where those were not measured the triad is nearest to them.
// On GPUs it is nearer than the chain of calibrate-gpu: sums of two tensors reach 99 percent of a
// copy, activations all of it, the optimizer 80 to 86 (bench/results/gpu.md); that chain reached
// 83.
MemoryPattern patternOf(const Calibration &calibration) {
  using enum MemoryPattern;
  bool onGpu = calibration.device.deviceClass == DeviceClass::Gpu;
  for (MemoryPattern pattern : onGpu ? std::array{Triad, Pointwise} : std::array{Pointwise, Triad})
    if (llvm::any_of(calibration.memory,
                     [&](const MemoryPoint &point) { return point.pattern == pattern; }))
      return pattern;
  return Copy;
}

void addMemory(Curves &curves, const Calibration &calibration) {
  std::vector<MemoryPoint> points;
  MemoryPattern pattern = patternOf(calibration);
  llvm::copy_if(calibration.memory, std::back_inserter(points),
                [&](const MemoryPoint &point) { return point.pattern == pattern; });
  llvm::sort(points, [](const MemoryPoint &a, const MemoryPoint &b) {
    return std::tie(a.units, a.bytes) < std::tie(b.units, b.bytes);
  });
  for (const MemoryPoint &point : points) {
    if (curves.memory.empty() || curves.memory.back().device.computeUnits != point.units)
      curves.memory.push_back({partOf(calibration, point.units), {}});
    curves.memory.back().seconds.add(static_cast<double>(point.bytes), point.time.seconds);
  }
}

// `ranks` devices and the level that joins them. The processes of a cpu node share it.
Topology referenceOf(const Calibration &calibration, const LinkLevel &level, int64_t ranks) {
  Topology topology;
  bool shares = calibration.device.deviceClass == DeviceClass::Cpu;
  topology.device = calibration.device;
  topology.levels = {level};
  LinkLevel &own = topology.levels.front();
  if (shares)
    own.bandwidth /= static_cast<double>(ranks);
  // A level that is measured in part keeps its size, so that the model knows what share is used.
  own.groupSize = std::max(own.groupSize, ranks);
  topology.devicesPerNode = own.groupSize;
  return topology;
}

void addCollectives(Curves &curves, const Calibration &calibration) {
  std::vector<CollectivePoint> points = calibration.collectives;
  llvm::sort(points, [](const CollectivePoint &a, const CollectivePoint &b) {
    return std::tie(a.kind, a.level, a.ranks, a.bytes) <
           std::tie(b.kind, b.level, b.ranks, b.bytes);
  });
  for (const CollectivePoint &point : points) {
    CollectiveCurve *last = curves.collectives.empty() ? nullptr : &curves.collectives.back();
    if (!last || last->kind != point.kind || last->level != point.level ||
        last->ranks != point.ranks) {
      const auto *level = llvm::find_if(calibration.levels, [&](const LinkLevel &each) {
                            return each.name == point.level;
                          }).base();
      assert(level != calibration.levels.data() + calibration.levels.size() &&
             "the reader has checked the names of levels");
      curves.collectives.push_back({point.kind,
                                    point.level,
                                    point.ranks,
                                    referenceOf(calibration, *level, point.ranks),
                                    {}});
      last = &curves.collectives.back();
    }
    last->seconds.add(static_cast<double>(point.bytes), point.time.seconds);
  }
}

const Curves &curvesOf(const DeviceKind &device) {
  const Calibration &calibration = *device.calibration;
  return calibration.curves.get([&] {
    auto curves = std::make_shared<Curves>();
    addProducts(*curves, calibration);
    addAttention(*curves, calibration);
    addMemory(*curves, calibration);
    addCollectives(*curves, calibration);
    return curves;
  });
}

// The cloud of a type, or of one that runs on the same units; null where nothing was measured.
const PointCloud *cloudFor(const TypeClouds &clouds, ComputeType type, const DeviceKind &device) {
  llvm::SmallVector<ComputeType, 3> order = {type};
  if (type == ComputeType::BF16)
    order.push_back(ComputeType::F16);
  if (type == ComputeType::F16)
    order.push_back(ComputeType::BF16);
  if (device.deviceClass == DeviceClass::Cpu)
    order.push_back(ComputeType::F32); // falls back to F32 if 16-bit matmuls are computed in it
  for (ComputeType each : order)
    if (!clouds[static_cast<size_t>(each)].isEmpty())
      return &clouds[static_cast<size_t>(each)];
  return nullptr;
}

// Attention of its own form, or else of the nearest: the same pass before the same mask.
const PointCloud *attentionCloud(const Curves &curves, const OpWork &work, ComputeType type,
                                 const DeviceKind &device) {
  size_t form = attentionForm(work);
  for (size_t other : {form, form ^ 1U, form ^ 2U, form ^ 3U})
    if (const PointCloud *cloud = cloudFor(curves.attention[other], type, device))
      return cloud;
  return nullptr;
}

double memorySeconds(const OpWork &work, const DeviceKind &device, const Curves &curves,
                     llvm::function_ref<double(const OpWork &)> model) {
  OpWork arithmetic = work;
  arithmetic.bytes = 0;
  double compute = arithmetic.flops > 0 ? model(arithmetic) : 0;
  if (work.bytes <= 0)
    return compute;
  const MemoryCurve *nearest = &curves.memory.front();
  auto distance = [&](const MemoryCurve &curve) {
    return std::abs(lg(curve.device.computeUnits) - lg(device.computeUnits));
  };
  for (const MemoryCurve &curve : curves.memory)
    if (distance(curve) < distance(*nearest))
      nearest = &curve;
  auto reference = [&](double bytes) {
    return modelSeconds(memoryWork(bytes), nearest->device, Launch::Single);
  };
  // Units that were not measured take their share as the model has it.
  double scale = model(memoryWork(work.bytes)) / reference(work.bytes);
  return std::max(compute, nearest->seconds.at(work.bytes, reference) * scale);
}

} // namespace

// Null where nothing of the kind was measured.
static const PointCloud *cloudOf(const OpWork &work, const DeviceKind &device) {
  const Curves &curves = curvesOf(device);
  ComputeType type = device.peak(work.type) > 0 ? work.type : ComputeType::F32;
  return work.kind == WorkKind::Product ? cloudFor(curves.products, type, device)
                                        : attentionCloud(curves, work, type, device);
}

double mostEfficiency(const OpWork &work, const DeviceKind &device) {
  const PointCloud *cloud = cloudOf(work, device);
  return cloud ? cloud->most() : 1;
}

double calibratedSeconds(const OpWork &work, const DeviceKind &device,
                         llvm::function_ref<double(const OpWork &)> model) {
  const Curves &curves = curvesOf(device);
  if (work.kind == WorkKind::Memory)
    return curves.memory.empty() ? model(work) : memorySeconds(work, device, curves, model);
  if (work.m <= 0 || work.n <= 0 || work.k <= 0 || work.batch <= 0)
    return model(work);
  bool isProduct = work.kind == WorkKind::Product;
  const PointCloud *cloud = cloudOf(work, device);
  if (!cloud)
    return model(work);
  return model(work) / cloud->at(isProduct ? productCoordinates(work, device.computeUnits)
                                           : attentionCoordinates(work, device.computeUnits));
}

double calibratedCollective(CollectiveKind kind, double bytes, const RankGroup &group,
                            const Topology &topology, double model) {
  llvm::SmallVector<int64_t> ranks = ranksPerLevel(group, topology);
  if (llvm::count_if(ranks, [](int64_t count) { return count > 1; }) != 1)
    return model;
  size_t level = static_cast<size_t>(llvm::find_if(ranks, [](int64_t count) { return count > 1; }) -
                                     ranks.begin());
  // The curves of the next fewer and the next more ranks.
  const CollectiveCurve *fewer = nullptr, *more = nullptr;
  for (const CollectiveCurve &curve : curvesOf(topology.device).collectives) {
    if (curve.kind != kind || curve.level != topology.levels[level].name)
      continue;
    if (curve.ranks <= ranks[level])
      fewer = &curve;
    if (curve.ranks >= ranks[level] && !more)
      more = &curve;
  }
  fewer = fewer ? fewer : more;
  more = more ? more : fewer;
  if (!fewer)
    return model;
  auto correction = [&](const CollectiveCurve &curve) {
    auto reference = [&](double size) { return curve.model(size); };
    return curve.seconds.at(bytes, reference) / reference(bytes);
  };
  if (fewer == more)
    return model * correction(*fewer);
  double share = (lg(ranks[level]) - lg(fewer->ranks)) / (lg(more->ranks) - lg(fewer->ranks));
  return model * std::pow(correction(*fewer), 1 - share) * std::pow(correction(*more), share);
}

} // namespace dtc

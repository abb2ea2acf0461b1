// Measures collectives through the communicator that compiled programs use.
#include "compiler/measure/calibrate/CollectiveRuns.h"

#include "compiler/measure/calibrate/DeviceRuns.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <tuple>

namespace dtc {
namespace {

struct Buffers {
  std::vector<float> in, out;
};

// Makes one call of a kind on tensors of `count` floats per rank, or a part of one.
rt::Status call(CollectiveKind kind, size_t count, rt::Comm &world, Buffers &buffers) {
  constexpr rt::DataType type = rt::DataType::F32;
  const float *in = buffers.in.data();
  float *out = buffers.out.data();
  switch (kind) {
  case CollectiveKind::AllReduce:
    return world.allReduce(in, out, count, type, rt::Reduction::Sum);
  case CollectiveKind::AllGather:
    return world.allGather(in, out, count, type);
  case CollectiveKind::ReduceScatter:
    return world.reduceScatter(in, out, count, type, rt::Reduction::Sum);
  case CollectiveKind::AllToAll:
    return world.allToAll(in, out, count, type);
  case CollectiveKind::Broadcast:
    return world.broadcast(out, count, type, 0);
  case CollectiveKind::SendRecv: {
    int peer = world.rank() ^ 1;
    if (peer >= world.size())
      return {}; // the last of an odd number
    return world.rank() < peer ? world.send(in, count, type, peer)
                               : world.receive(out, count, type, peer);
  }
  }
  return {};
}

bool countsParts(CollectiveKind kind) {
  return kind == CollectiveKind::AllGather || kind == CollectiveKind::ReduceScatter ||
         kind == CollectiveKind::AllToAll;
}

} // namespace

rt::Status measureCollectives(const CalibrationShapes &shapes, rt::Comm &world, Stopwatch &watch,
                              Calibration &result) {
  int64_t ranks = world.size();
  // Sizes are the outer loop, so that every kind has its small sizes if the time runs out.
  for (int64_t bytes : shapes.collectiveBytes)
    for (int kind = 0; kind < numCollectiveKinds; ++kind) {
      auto each = static_cast<CollectiveKind>(kind);
      int64_t part = std::max<int64_t>(1, bytes / 4 / ranks), whole = part * ranks;
      auto count = static_cast<size_t>(countsParts(each) ? part : whole);
      Buffers buffers{std::vector<float>(static_cast<size_t>(whole), 1.0F),
                      std::vector<float>(static_cast<size_t>(whole), 1.0F)};
      std::optional<Measured> time;
      DTC_RETURN_IF_ERROR(watch.time([&] { return call(each, count, world, buffers); }, time));
      if (time)
        result.collectives.push_back({each, "", ranks, 4 * whole, *time});
    }
  llvm::sort(result.collectives, [](const CollectivePoint &a, const CollectivePoint &b) {
    return std::tie(a.kind, a.bytes) < std::tie(b.kind, b.bytes);
  });
  return {};
}

} // namespace dtc

// Initial values of parameters by global element index.
#include "runtime/base/Fill.h"

#include "kernels/cpu/Philox.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <thread>

namespace dtc::rt {
using format::text;

namespace {
struct Normal {
  uint64_t seed, key;
  double mean, stddev;

  // Draws elements 2 * pair and 2 * pair + 1.
  void draw(uint64_t pair, float &even, float &odd) const {
    std::array<uint32_t, 4> words =
        cpu::philox4x32({static_cast<uint32_t>(pair), static_cast<uint32_t>(pair >> 32),
                         static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)},
                        seed);
    double u0 = (words[0] + 0.5) * 0x1p-32, u1 = (words[1] + 0.5) * 0x1p-32;
    double radius = std::sqrt(-2 * std::log(u0)), angle = 2 * std::numbers::pi * u1;
    double sine, cosine;
    ::sincos(angle, &sine, &cosine);
    even = static_cast<float>(mean + stddev * (radius * cosine));
    odd = static_cast<float>(mean + stddev * (radius * sine));
  }

  void fill(uint64_t first, float *out, uint64_t count) const {
    float skipped;
    uint64_t i = 0;
    if (first % 2 == 1 && count > 0)
      draw(first / 2, skipped, out[i++]);
    for (; i + 2 <= count; i += 2)
      draw((first + i) / 2, out[i], out[i + 1]);
    if (i < count)
      draw((first + i) / 2, out[i], skipped);
  }
};
} // namespace

// Fills elements [first, first + count) of the global tensor.
static void fillRun(const TensorSpec &spec, uint64_t seed, uint64_t first, float *out,
                    uint64_t count) {
  switch (spec.init) {
  case InitKind::Zeros:
    std::fill(out, out + count, 0.0f);
    return;
  case InitKind::Ones:
    std::fill(out, out + count, 1.0f);
    return;
  case InitKind::Constant:
    std::fill(out, out + count, spec.mean);
    return;
  case InitKind::Normal:
    Normal{seed, spec.initKey, spec.mean, spec.stddev}.fill(first, out, count);
    return;
  }
}

Status initialiseTensor(const TensorSpec &spec, uint64_t seed, std::span<const uint32_t> meshSizes,
                        std::span<const uint32_t> coordinates, std::span<float> local,
                        int threads) {
  if (spec.localShape.size() != spec.globalShape.size() ||
      local.size() != elementCount(spec.localShape))
    return Status::invalidArgument(text("initialising tensor '", spec.name, "': the buffer has ",
                                        local.size(), " elements, its local shape ",
                                        elementCount(spec.localShape)));
  std::vector<ShardBox> boxes;
  DTC_RETURN_IF_ERROR(shardBoxes(spec, meshSizes, coordinates, boxes));
  if (elementCount(boxes) != local.size())
    std::fill(local.begin(), local.end(), 0.0f);

  // A thread is worth its start only for some milliseconds of work.
  constexpr uint64_t minPerThread = 1 << 18;
  uint64_t parts = std::clamp<uint64_t>(local.size() / minPerThread, 1, std::max(threads, 1));
  auto fillPart = [&](uint64_t part) {
    forEachRun(spec, boxes, [&](uint64_t global, uint64_t at, uint64_t length) {
      // Part p takes [p, p + 1) / parts of the local buffer, and here its intersection with this
      // run.
      uint64_t begin = std::clamp(local.size() / parts * part, at, at + length);
      uint64_t end = part + 1 == parts
                         ? at + length
                         : std::clamp(local.size() / parts * (part + 1), at, at + length);
      fillRun(spec, seed, global + (begin - at), local.data() + begin, end - begin);
    });
  };
  std::vector<std::thread> workers;
  for (uint64_t part = 1; part < parts; ++part)
    workers.emplace_back(fillPart, part);
  fillPart(0);
  for (std::thread &worker : workers)
    worker.join();
  return Status::okStatus();
}

} // namespace dtc::rt

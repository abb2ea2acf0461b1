// Lengthens the outline of a step by layers.
#include "compiler/price/memory/RepeatLayer.h"

#include "compiler/price/memory/StepOutline.h"

#include "llvm/ADT/STLExtras.h"

#include <optional>

namespace dtc {
namespace {

// Middle layers have numbers from 1 to `count`; the first of them is the one that was there.
class LayerRepeater {
public:
  LayerRepeater(const StepOutline &outline, llvm::ArrayRef<LayerRun> runs, int64_t copies)
      : outline(outline), runs(runs), count(copies + 1) {}

  StepOutline run() {
    result.persistent = outline.persistent;
    result.persistentOnHost = outline.persistentOnHost;
    result.length = moved(outline.length);
    result.lastRepeated = outline.lastRepeated < 0 ? -1 : moved(outline.lastRepeated);
    for (const StepOutline::Buffer &buffer : outline.buffers)
      addBuffer(buffer);
    for (const StepOutline::Collective &collective : outline.collectives)
      addCollective(collective);
    llvm::sort(result.collectives, [](const auto &a, const auto &b) { return a.time < b.time; });
    return std::move(result);
  }

private:
  static int64_t lengthOf(const LayerRun &run) { return run.end - run.begin; }

  // The run whose middle layer `time` is in; null outside of all.
  const LayerRun *runAt(int64_t time) const {
    for (const LayerRun &run : runs)
      if (time >= run.begin && time < run.end)
        return &run;
    return nullptr;
  }

  // Returns the new time of an instruction outside of middle layers.
  int64_t moved(int64_t time) const {
    int64_t more = 0;
    for (const LayerRun &run : runs)
      if (run.end <= time)
        more += (count - 1) * lengthOf(run);
    return time + more;
  }

  // Returns the start of a middle layer.
  int64_t startOf(const LayerRun &run, int64_t layer) const {
    int64_t index = run.isDescending ? count - layer : layer - 1;
    return moved(run.begin) + index * lengthOf(run);
  }

  // The layer on this side of the middle ones: the last of them above, the first below.
  int64_t nearestLayer(int64_t time) const {
    bool isAbove = false;
    for (const LayerRun &run : runs)
      if (time >= run.end)
        isAbove = !run.isDescending;
    return isAbove ? count : 1;
  }

  // The time for middle layer `layer` of what has to do with it. Its neighbours are like it, as far
  // as they are middle layers.
  int64_t timeFor(int64_t layer, int64_t time) const {
    if (const LayerRun *run = runAt(time))
      return startOf(*run, layer) + time - run->begin;
    for (const LayerRun &run : runs) {
      int64_t after = run.isDescending ? layer - 1 : layer + 1;
      int64_t before = run.isDescending ? layer + 1 : layer - 1;
      if (time >= run.end && time < run.end + lengthOf(run) && isMiddle(after))
        return startOf(run, after) + time - run.end;
      if (time < run.begin && time >= run.begin - lengthOf(run) && isMiddle(before))
        return startOf(run, before) + lengthOf(run) - (run.begin - time);
    }
    return moved(time);
  }

  bool isMiddle(int64_t layer) const { return layer >= 1 && layer <= count; }

  void addBuffer(const StepOutline::Buffer &buffer) {
    positions.push_back(static_cast<int>(result.buffers.size()));
    isRepeated.push_back(runAt(buffer.begin) != nullptr);
    StepOutline::Buffer image = buffer;
    if (!isRepeated.back()) {
      image.begin = moved(buffer.begin);
      image.end =
          runAt(buffer.end) ? timeFor(nearestLayer(buffer.begin), buffer.end) : moved(buffer.end);
      result.buffers.push_back(image);
      return;
    }
    for (int64_t layer = 1; layer <= count; ++layer) {
      image.begin = timeFor(layer, buffer.begin);
      image.end = timeFor(layer, buffer.end);
      result.buffers.push_back(image);
    }
  }

  // Returns the image of a buffer for `layer`, for buffers that each layer has.
  int positionOf(int buffer, int64_t layer) const {
    if (buffer < 0)
      return buffer;
    auto index = static_cast<size_t>(buffer);
    return positions[index] + (isRepeated[index] ? static_cast<int>(layer - 1) : 0);
  }

  void addCollective(const StepOutline::Collective &collective) {
    bool repeats = runAt(collective.time) != nullptr;
    int64_t nearest = nearestLayer(collective.time);
    for (int64_t layer = repeats ? 1 : nearest; layer <= (repeats ? count : nearest); ++layer) {
      StepOutline::Collective image = collective;
      image.src = positionOf(collective.src, layer);
      image.dst = positionOf(collective.dst, layer);
      image.time = repeats ? timeFor(layer, collective.time) : moved(collective.time);
      image.packedAt = repeats ? timeFor(layer, collective.packedAt) : moved(collective.packedAt);
      image.neededAt = timeFor(layer, collective.neededAt);
      result.collectives.push_back(image);
    }
  }

  const StepOutline &outline;
  llvm::ArrayRef<LayerRun> runs;
  int64_t count;
  StepOutline result;
  std::vector<int> positions; // per buffer: index of its first image
  std::vector<bool> isRepeated;
};

} // namespace

StepOutline repeatMiddleLayer(const StepOutline &outline, llvm::ArrayRef<LayerRun> runs,
                              int64_t copies) {
  return LayerRepeater(outline, runs, copies).run();
}

} // namespace dtc

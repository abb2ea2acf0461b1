// A scheduled step as far as its memory goes: what is live when, and what data parallelism sends.
#pragma once

#include "dialects/exec/Exec.h"

#include <array>
#include <string>
#include <vector>

namespace dtc {

using BytesByKind = std::array<int64_t, 8>; // by exec::BufferKind

// Time is the position of an instruction.
struct StepOutline {
  struct Buffer {
    int64_t bytes;
    int64_t begin, end; // first and last use
    exec::BufferKind kind;
    bool isSum = false;    // over micro-batches
    bool isOnHost = false; // in the host's memory, which is planned by itself
  };
  // A reduction of gradients or a gather of parameters, on a stream of its own.
  struct Collective {
    exec::CollectiveKind kind;
    std::string key; // of its bucket
    bool isMember;   // that a bucket can take
    int64_t bucketBytes, partBytes, ranks;
    int64_t time;
    // Buffers; -1: kept between steps.
    int src, dst;
    // Whether these become parts of the buffers of a bucket, and from when on the source is written
    // there.
    bool movesSource, movesDestination;
    int64_t packedAt;
    int64_t neededAt;              // by the first later instruction that depends on it
    bool reducesScattered = false; // what others scatter: such are merged before those
  };

  BytesByKind persistent{}; // of the device's memory
  int64_t persistentOnHost = 0;
  std::vector<Buffer> buffers; // that are not kept between steps
  std::vector<Collective> collectives;
  int64_t length = 0;
  int64_t lastRepeated =
      -1; // the last instruction that every micro-batch runs; -1: there is one only
};

// Where the instructions go through three layers one after another, the time of the middle one:
// forward, backward (descending), updates.
struct LayerRun {
  int64_t begin, end; // [begin, end)
  bool isDescending;
};

// The outline of a step with `copies` layers more, which are like the middle one.
//
// Example: forward L0 L1 L2, backward L2 L1 L0 and one copy give L0 L1 L1' L2, L2 L1' L1 L0; what
// L1 keeps for its backward pass is there twice, the copy's from L1' to L1'.
StepOutline repeatMiddleLayer(const StepOutline &outline, llvm::ArrayRef<LayerRun> runs,
                              int64_t copies);

// Keeps sums over micro-batches in all that these run: the one before has filled them.
void keepSums(StepOutline &outline);

// Merges collectives into buckets as dtc-bucket-collectives does, and keeps their buffers until
// compute waits for their stream, as dtc-assign-streams does.
void runCollectivesAside(StepOutline &outline, int64_t bucketBytes, size_t inFlight);

// What is kept between steps and what is live at the time when most is; what the arena of the
// static plan needs beyond that counts as temporary. Of the device's memory.
// An arena of `goodEnough` bytes is not made smaller.
BytesByKind plannedBytes(const StepOutline &outline, int64_t goodEnough = 0);
// Of these the first alone: no arena needs less.
BytesByKind mostLiveBytes(const StepOutline &outline);
// The bytes of the arena in the host's memory.
int64_t plannedOnHost(const StepOutline &outline);

} // namespace dtc

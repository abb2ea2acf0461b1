// A scheduled step as far as its memory goes: what is live when, and what data parallelism sends.
#pragma once

#include "dialects/exec/Exec.h"

#include <array>
#include <string>
#include <vector>

namespace dtc {

using BytesByKind = std::array<int64_t, 8>; // indexed by exec::BufferKind

// Time is the position of an instruction.
struct StepOutline {
  // A buffer with its lifetime.
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
    std::string key; // key of its bucket
    bool isMember;   // true if a bucket can take it
    int64_t bucketBytes, partBytes, ranks;
    int64_t time;
    // Buffers; -1: kept between steps.
    int src, dst;
    // True if src or dst becomes part of a bucket's buffers; from `packedAt` on the source is
    // written there.
    bool movesSource, movesDestination;
    int64_t packedAt;
    int64_t neededAt; // time of the first later instruction that depends on it
    // Reduces the results of reduce-scatters, which are merged before it.
    bool reducesScattered = false;
  };

  BytesByKind persistent{}; // bytes of device memory
  int64_t persistentOnHost = 0;
  std::vector<Buffer> buffers; // buffers that do not persist between steps
  std::vector<Collective> collectives;
  int64_t length = 0;
  int64_t lastRepeated =
      -1; // the last instruction that every micro-batch runs; -1: there is one only
};

// Keeps sums over micro-batches in all that these run: the one before has filled them.
void keepSums(StepOutline &outline);

// Merges collectives into buckets as dtc-bucket-collectives does, and keeps their buffers until
// compute waits for their stream, as dtc-assign-streams does.
void runCollectivesAside(StepOutline &outline, int64_t bucketBytes, size_t inFlight);

// Returns the bytes of device memory: persistent ones, and those live at the peak; additional bytes
// of the static plan's arena count as temporary. An arena of at most `goodEnough` bytes is not
// improved further.
BytesByKind plannedBytes(const StepOutline &outline, int64_t goodEnough = 0);
// Returns a lower bound of plannedBytes: persistent bytes and those live at the peak, without an
// arena.
BytesByKind mostLiveBytes(const StepOutline &outline);
// The bytes of the arena in the host's memory.
int64_t plannedOnHost(const StepOutline &outline);

} // namespace dtc

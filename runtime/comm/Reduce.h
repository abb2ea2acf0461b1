// Blocks of elements in host memory, and their reductions, which the backends share. Floats of 16
// bits are summed in f32 and rounded once, at the end.
//
// Example, a block of three ranks:
//   startReduction(sums, a, count, type);
//   reduceInto(sums, b, count, type, op);
//   reduceInto(sums, c, count, type, op);
//   finishReduction(to, sums, count, type);
#pragma once

#include "runtime/comm/Comm.h"

namespace dtc::rt {

// Returns the address of element `index`.
inline char *at(void *base, size_t index, DataType type) {
  return static_cast<char *>(base) + index * bytesOf(type);
}
// Returns the address of element `index`.
inline const char *at(const void *base, size_t index, DataType type) {
  return static_cast<const char *>(base) + index * bytesOf(type);
}

// The type of sums: f32 for floats of 16 bits, else `type`, which is one that checkReducible takes.
DataType accumulatorOf(DataType type);

// sums[i] = from[i]. `sums` has elements of accumulatorOf(type), `from` of `type`; the blocks don't
// overlap.
void startReduction(void *sums, const void *from, size_t count, DataType type);

// sums[i] = sums[i] + from[i], or the larger of both. Integers wrap, as they do in MPI.
void reduceInto(void *sums, const void *from, size_t count, DataType type, Reduction op);

// to[i] = sums[i]
void finishReduction(void *to, const void *sums, size_t count, DataType type);

} // namespace dtc::rt

// The facts of a parameter that the runtime needs to fill, save and load it: shapes, and ranks that
// hold it.
//
// Example: global [50257, 768] with dimension 0 over a mesh axis of size 2 has local shape [25129,
// 768]; the rank at coordinate 1 owns rows [25129, 50257) and one row of padding.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace dtc::rt {

enum class InitKind { Zeros, Ones, Constant, Normal }; // in the order of dte.fbs

// A dim split over a mesh axis. Axes that split the same dim are listed outermost first; see
// dte.fbs.
struct ShardedDim {
  uint32_t dim, axis;
  bool zigzag = false;
};

// The shapes, sharding and initial value of a tensor.
struct TensorSpec {
  std::string name;                  // name in the model file
  std::vector<uint64_t> globalShape; // without padding
  std::vector<uint64_t> storedShape; // in safetensors: as many elements as globalShape, row-major
  std::vector<uint64_t> localShape;  // with padding: ceil(global / ranks) if sharded
  std::string dtype = "F32";         // in safetensors: "F32", "BF16", "F16", "I32", "I64" or "U8"
  std::vector<ShardedDim> shards;    // no axis twice
  InitKind init = InitKind::Zeros;
  float mean = 0, stddev = 1; // Normal: both; Constant: `mean` is the value
  uint64_t initKey = 0;
  std::vector<uint32_t> holders; // ranks that have a part, ascending; empty: all

  // Returns true if the rank has a part of the tensor.
  bool isHeldBy(uint32_t rank) const;
};

// A box of elements that one rank holds: global indices [begin, begin + extent) per dimension, at
// `local` in the rank's part. An extent of 0 means that there is only padding.
struct ShardBox {
  std::vector<uint64_t> begin, local, extent;
};

// Returns the number of elements of a shape.
uint64_t elementCount(std::span<const uint64_t> shape);

// Checks shapes and shards against each other and the mesh. InvalidArgument names tensor and dim.
Status checkTensorSpec(const TensorSpec &spec, std::span<const uint32_t> meshSizes);

// Returns the boxes that the rank at `coordinates` (one per mesh axis) holds: one box, or two for
// every dimension of which it has two pieces. `spec` must have passed the check.
Status shardBoxes(const TensorSpec &spec, std::span<const uint32_t> meshSizes,
                  std::span<const uint32_t> coordinates, std::vector<ShardBox> &boxes);

// Returns the number of elements in the boxes: the elements of the rank's part without padding.
uint64_t elementCount(std::span<const ShardBox> boxes);

// An array of `shape`, row-major, with a box that begins at index `at`.
struct BoxInArray {
  std::span<const uint64_t> shape;
  std::vector<uint64_t> at;
};

// Calls run(from, to, length) for the longest pieces of a box of `extent` that are contiguous in
// two arrays: elements [from, from + length) of the one are [to, to + length) of the other. Pieces
// come in rising order of both. Every extent is at least 1, and the box lies within both arrays.
// Example: extent {2, 2}, from shape {2, 4} at {0, 2}, to shape {2, 2} at {0, 0} gives (2, 0, 2)
// and (6, 2, 2).
void forEachRun(std::span<const uint64_t> extent, const BoxInArray &from, const BoxInArray &to,
                const std::function<void(uint64_t, uint64_t, uint64_t)> &run);

// Calls run(global flat index, local flat index, length) for the longest pieces of each box that
// are contiguous in both the unpadded global and the padded local tensor, in rising order.
void forEachRun(const TensorSpec &spec, std::span<const ShardBox> boxes,
                const std::function<void(uint64_t, uint64_t, uint64_t)> &run);

} // namespace dtc::rt

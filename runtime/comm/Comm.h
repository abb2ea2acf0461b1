// A group of hosts with blocking collectives in host memory: control, and what moves the data of
// devices that compute in host memory. Loopback (threads) and MPI implement it.
#pragma once

#include "runtime/comm/Control.h"

#include <memory>

namespace dtc::rt {

// The operation that combines elements in a reduction.
enum class Reduction { Sum, Max };

// A group of ranks with an order. Of programs' collectives only the CPU device knows this class:
// its streams' threads call it, each on groups of its own. As with Control, every member makes the
// same calls in the same order. InvalidArgument for a type that the backend cannot reduce.
class Comm : public Control {
public:
  // dst[i] = reduction over ranks of src[i]; src may equal dst.
  virtual Status allReduce(const void *src, void *dst, size_t count, DataType type,
                           Reduction op) = 0;
  // dst[i] = reduction over ranks of src[rank() * count + i]; dst must not overlap src.
  virtual Status reduceScatter(const void *src, void *dst, size_t count, DataType type,
                               Reduction op) = 0;
  // dst[r * count + i] = src[rank() * count + i] of rank r.
  virtual Status allToAll(const void *src, void *dst, size_t count, DataType type) = 0;

  // The subgroup of the ranks that pass the same colour, ordered by key. Collective over this
  // group. Groups that share members may be used from different threads at once.
  virtual Status split(int colour, int key, std::unique_ptr<Comm> &group) = 0;

  // Sets the name of this group in messages, e.g. "dp"; the default is "world" and "part 3 of
  // world". Local.
  virtual void setName(std::string name) = 0;
  // Returns the name of this group in messages.
  virtual const std::string &name() const = 0;

  // Sets values[i] to the largest value that any rank passes.
  Status largest(std::span<int64_t> values) final {
    return allReduce(values.data(), values.data(), values.size(), DataType::I64, Reduction::Max);
  }
};

} // namespace dtc::rt

// Collectives among the ranks of one group; loopback (threads), MPI and NCCL implement the same
// interface.
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace dtc::rt {

enum class DataType { F32, Bf16, F16, I32, I64, U8 };
enum class Reduction { Sum, Max };

size_t bytesOf(DataType type);

// A group of ranks with an order. Calls are collective: every member makes the same calls in the
// same order. All block until the local result is complete. Counts are elements. Errors: Aborted
// when a peer died or the time-out passed (the message names group and operation); InvalidArgument
// for a type that the backend cannot reduce.
class Comm {
public:
  virtual ~Comm() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // dst[i] = reduction over ranks of src[i]; src may equal dst.
  virtual Status allReduce(const void *src, void *dst, size_t count, DataType type,
                           Reduction op) = 0;
  // dst[r * count + i] = src[i] of rank r; src may equal dst + rank() * count elements.
  virtual Status allGather(const void *src, void *dst, size_t count, DataType type) = 0;
  // dst[i] = reduction over ranks of src[rank() * count + i]; dst must not overlap src.
  virtual Status reduceScatter(const void *src, void *dst, size_t count, DataType type,
                               Reduction op) = 0;
  // dst[r * count + i] = src[rank() * count + i] of rank r.
  virtual Status allToAll(const void *src, void *dst, size_t count, DataType type) = 0;
  virtual Status broadcast(void *data, size_t count, DataType type, int root) = 0;
  virtual Status send(const void *data, size_t count, DataType type, int peer) = 0;
  virtual Status receive(void *data, size_t count, DataType type, int peer) = 0;
  virtual Status barrier() = 0;

  // The subgroup of the ranks that pass the same colour, ordered by key. Collective over this
  // group. Groups that share members may be used from different threads at once.
  virtual Status split(int colour, int key, std::unique_ptr<Comm> &group) = 0;

  // What messages call this group, e.g. "dp"; "world" and "part 3 of world" unless set. Local.
  virtual void setName(std::string name) = 0;
  virtual const std::string &name() const = 0;

  // This rank gives up: calls of the whole job that wait, or will wait, for it end in Aborted (for
  // loopback at once, for MPI when this process exits). Any thread may call it. Afterwards every
  // call on any group of this rank returns Aborted, and destruction does not wait for the others.
  virtual void abandon(const std::string &reason) = 0;
};

} // namespace dtc::rt

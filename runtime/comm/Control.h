// Control among the hosts of a job: what its processes tell each other before, between and after
// steps. Collectives of a program are none of it: those belong to the device (runtime/device).
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace dtc::rt {

// The type of an element.
enum class DataType { F32, Bf16, F16, I32, I64, U8 };

// Returns the bytes of an element.
size_t bytesOf(DataType type);

// The ranks of a job, in host memory and small messages. Calls are collective but for send and
// receive: every rank makes the same calls in the same order, from one thread. All block until the
// local result is complete. Counts are elements. Errors: Aborted when a peer died or the time-out
// passed (the message names group and operation).
class Control {
public:
  virtual ~Control() = default;
  // Returns this rank's number in the group, from 0.
  virtual int rank() const = 0;
  // Returns the number of ranks in the group.
  virtual int size() const = 0;

  // values[i] becomes the largest that any rank passes.
  virtual Status largest(std::span<int64_t> values) = 0;
  // dst[r * count + i] = src[i] of rank r; src may equal dst + rank() * count elements.
  virtual Status allGather(const void *src, void *dst, size_t count, DataType type) = 0;
  // Copies `count` elements from the rank `root` to all ranks.
  virtual Status broadcast(void *data, size_t count, DataType type, int root) = 0;
  // Sends `count` elements to `peer`.
  virtual Status send(const void *data, size_t count, DataType type, int peer) = 0;
  // Receives `count` elements from `peer`.
  virtual Status receive(void *data, size_t count, DataType type, int peer) = 0;
  // Blocks until all ranks have called.
  virtual Status barrier() = 0;

  // This rank gives up: calls of the whole job that wait, or will wait, for it end in Aborted (for
  // loopback at once, for MPI when this process exits). Any thread may call it. Afterwards every
  // call on any group of this rank returns Aborted, and destruction does not wait for the others.
  virtual void abandon(const std::string &reason) = 0;
};

} // namespace dtc::rt

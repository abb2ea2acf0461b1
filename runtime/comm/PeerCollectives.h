// Collectives among MPI ranks of one machine, each of which reads what it needs out of the memory
// of the others.
//
// MPI's non-blocking collectives advance only while they are polled, and copy pieces to and fro.
// Here every rank makes one share of the result from the buffers of all, and MPI says when buffers
// may be read and written. An all-reduce of n ranks moves each rank's share of 1/n, n - 1 times in
// and n - 1 times out: 2 (n - 1) / n of the buffer, a ring's bytes.
#pragma once

#include "runtime/comm/MpiWait.h"
#include "runtime/comm/PeerMemory.h"

#include <memory>
#include <vector>

namespace dtc::rt {

// One at a time, as with the group's communicator. Results are those of Loopback to the bit:
// reductions go from rank 0 up.
class PeerCollectives {
public:
  // Collective over `comm`. `made` stays null on all ranks where one can't read the memory of
  // another.
  static Status create(MpiJob &job, MPI_Comm comm, const CommCall &call,
                       std::unique_ptr<PeerCollectives> &made);

  // Reduces as Comm::allReduce; `call` has count and type.
  Status allReduce(const CommCall &call, const void *src, void *dst, Reduction op);
  // Gathers as Comm::allGather.
  Status allGather(const CommCall &call, const void *src, void *dst);
  // Reduces as Comm::reduceScatter.
  Status reduceScatter(const CommCall &call, const void *src, void *dst, Reduction op);
  // Exchanges as Comm::allToAll.
  Status allToAll(const CommCall &call, const void *src, void *dst);

private:
  struct Posted { // one rank's buffer at the start of a collective
    uint64_t address, bytes;
  };

  PeerCollectives(MpiJob &job, MPI_Comm comm) : job(job), comm(comm) {}
  // Tells the others what to read from this rank, and returns when all have done so.
  Status post(const CommCall &call, const void *address, size_t bytes);
  // Returns when all ranks are here: what they read has been read, what they wrote is there.
  Status meet(const CommCall &call);
  // Copies bytes from `offset` of what `rank` posted.
  Status fetch(const CommCall &call, size_t rank, size_t offset, void *to, size_t bytes);
  // to[i] = reduction over ranks of the element at byte offset + i * size of what each posted.
  Status reduce(const CommCall &call, size_t offset, void *to, size_t count, Reduction op);

  MpiJob &job;
  MPI_Comm comm;
  size_t me = 0;
  PeerMemory memory;
  std::vector<Posted> posted;
  std::vector<char> sum, addend; // a block of a reduction
};

} // namespace dtc::rt

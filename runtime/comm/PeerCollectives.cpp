#include "runtime/comm/PeerCollectives.h"

#include "runtime/base/Text.h"
#include "runtime/comm/Reduce.h"

#include <algorithm>
#include <cstring>

namespace dtc::rt {
using format::text;

namespace {
constexpr size_t kBlockBytes = 64 * 1024; // two blocks stay in a core's own cache
} // namespace

Status PeerCollectives::create(MpiJob &job, MPI_Comm comm, const CommCall &call,
                               std::unique_ptr<PeerCollectives> &made) {
  int rank = 0, size = 1;
  DTC_MPI(job, call, MPI_Comm_rank(comm, &rank));
  DTC_MPI(job, call, MPI_Comm_size(comm, &size));
  if (size == 1)
    return Status::okStatus();
  auto result = std::unique_ptr<PeerCollectives>(new PeerCollectives(job, comm));
  result->me = static_cast<size_t>(rank);
  result->posted.resize(static_cast<size_t>(size));
  std::vector<PeerCard> cards(static_cast<size_t>(size));
  PeerCard mine = makePeerCard();
  MPI_Request request;
  DTC_MPI(job, call,
          MPI_Iallgather(&mine, sizeof(mine), MPI_BYTE, cards.data(), sizeof(mine), MPI_BYTE, comm,
                         &request));
  DTC_RETURN_IF_ERROR(waitForMpi(job, request, call));
  int readable = result->memory.open(cards) ? 1 : 0;
  DTC_MPI(job, call, MPI_Iallreduce(MPI_IN_PLACE, &readable, 1, MPI_INT, MPI_MIN, comm, &request));
  DTC_RETURN_IF_ERROR(waitForMpi(job, request, call));
  if (!readable)
    return Status::okStatus();
  result->sum.resize(kBlockBytes);
  result->addend.resize(kBlockBytes);
  made = std::move(result);
  return Status::okStatus();
}

Status PeerCollectives::post(const CommCall &call, const void *address, size_t bytes) {
  Posted mine = {reinterpret_cast<uint64_t>(address), bytes};
  MPI_Request request;
  DTC_MPI(job, call,
          MPI_Iallgather(&mine, sizeof(mine), MPI_BYTE, posted.data(), sizeof(mine), MPI_BYTE, comm,
                         &request));
  DTC_RETURN_IF_ERROR(waitForMpi(job, request, call));
  for (size_t rank = 0; rank < posted.size(); ++rank)
    if (posted[rank].bytes != bytes)
      return Status::internal(text(call.words(), ": rank ", rank, " brought ", posted[rank].bytes,
                                   " bytes, this rank ", bytes));
  return Status::okStatus();
}

Status PeerCollectives::meet(const CommCall &call) {
  MPI_Request request;
  DTC_MPI(job, call, MPI_Ibarrier(comm, &request));
  return waitForMpi(job, request, call);
}

Status PeerCollectives::fetch(const CommCall &call, size_t rank, size_t offset, void *to,
                              size_t bytes) {
  const auto *from = reinterpret_cast<const char *>(posted[rank].address) + offset;
  if (rank == me) {
    if (bytes > 0 && from != to)
      std::memcpy(to, from, bytes);
    return Status::okStatus();
  }
  Status status = memory.read(rank, from, to, bytes);
  if (status.ok())
    return status;
  job.fail(status.message());
  return Status::aborted(text(call.words(), ": ", status.message()));
}

Status PeerCollectives::reduce(const CommCall &call, size_t offset, void *to, size_t count,
                               Reduction op) {
  size_t element = bytesOf(call.type);
  size_t perBlock = kBlockBytes / bytesOf(accumulatorOf(call.type));
  bool widens = accumulatorOf(call.type) != call.type;
  for (size_t first = 0; first < count; first += perBlock) {
    size_t length = std::min(perBlock, count - first), bytes = length * element;
    size_t at = offset + first * element;
    for (size_t rank = 0; rank < posted.size(); ++rank) {
      bool isSum = rank == 0 && !widens;
      DTC_RETURN_IF_ERROR(fetch(call, rank, at, isSum ? sum.data() : addend.data(), bytes));
      if (rank)
        reduceInto(sum.data(), addend.data(), length, call.type, op);
      else if (widens)
        startReduction(sum.data(), addend.data(), length, call.type);
    }
    finishReduction(static_cast<char *>(to) + first * element, sum.data(), length, call.type);
  }
  return Status::okStatus();
}

Status PeerCollectives::allReduce(const CommCall &call, const void *src, void *dst, Reduction op) {
  size_t element = bytesOf(call.type), ranks = posted.size();
  auto beginOf = [&](size_t rank) {
    return call.count / ranks * rank + std::min(call.count % ranks, rank);
  };
  auto at = [&](size_t index) { return static_cast<char *>(dst) + index * element; };
  DTC_RETURN_IF_ERROR(post(call, src, call.count * element));
  // If src is dst, only this rank reads the share that it overwrites.
  size_t mine = beginOf(me);
  DTC_RETURN_IF_ERROR(reduce(call, mine * element, at(mine), beginOf(me + 1) - mine, op));
  // Shares are there, and sources are free to be overwritten: now results are what is read.
  DTC_RETURN_IF_ERROR(post(call, dst, call.count * element));
  for (size_t rank = 0; rank < ranks; ++rank)
    if (rank != me)
      DTC_RETURN_IF_ERROR(fetch(call, rank, beginOf(rank) * element, at(beginOf(rank)),
                                (beginOf(rank + 1) - beginOf(rank)) * element));
  return meet(call);
}

Status PeerCollectives::allGather(const CommCall &call, const void *src, void *dst) {
  size_t bytes = call.count * bytesOf(call.type);
  DTC_RETURN_IF_ERROR(post(call, src, bytes));
  for (size_t rank = 0; rank < posted.size(); ++rank)
    DTC_RETURN_IF_ERROR(fetch(call, rank, 0, static_cast<char *>(dst) + rank * bytes, bytes));
  return meet(call);
}

Status PeerCollectives::reduceScatter(const CommCall &call, const void *src, void *dst,
                                      Reduction op) {
  size_t bytes = call.count * bytesOf(call.type);
  DTC_RETURN_IF_ERROR(post(call, src, bytes * posted.size()));
  DTC_RETURN_IF_ERROR(reduce(call, me * bytes, dst, call.count, op));
  return meet(call);
}

Status PeerCollectives::allToAll(const CommCall &call, const void *src, void *dst) {
  size_t bytes = call.count * bytesOf(call.type);
  DTC_RETURN_IF_ERROR(post(call, src, bytes * posted.size()));
  for (size_t rank = 0; rank < posted.size(); ++rank)
    DTC_RETURN_IF_ERROR(
        fetch(call, rank, me * bytes, static_cast<char *>(dst) + rank * bytes, bytes));
  return meet(call);
}

} // namespace dtc::rt

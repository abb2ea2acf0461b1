// The MPI backend, built as the plugin libdtc_mpi.so.
//
// Every group is a communicator of its own, so that threads may use different groups at once. All
// calls are non-blocking ones that are polled (MpiWait.h), so that a dead peer ends in an error.
// Large buffers of ranks of one machine don't go through MPI (PeerCollectives.h).
#include "runtime/base/Text.h"
#include "runtime/comm/MpiPlugin.h"
#include "runtime/comm/MpiWait.h"
#include "runtime/comm/Names.h"
#include "runtime/comm/PeerCollectives.h"
#include "runtime/comm/Reduce.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <vector>

namespace dtc::rt {
using format::text;

namespace {
MPI_Datatype mpiType(DataType type) {
  switch (type) {
  case DataType::F32:
    return MPI_FLOAT;
  case DataType::I32:
    return MPI_INT32_T;
  case DataType::I64:
    return MPI_INT64_T;
  case DataType::Bf16:
  case DataType::F16:
    return MPI_UINT16_T; // moved, never reduced
  case DataType::U8:
    return MPI_UINT8_T;
  }
  return MPI_DATATYPE_NULL;
}

MPI_Op mpiOp(Reduction op) { return op == Reduction::Sum ? MPI_SUM : MPI_MAX; }

// `count` elements of which one follows the other at `stride` elements: what one rank's piece of a
// chunk looks like in a buffer of whole pieces.
class ChunkType {
public:
  ~ChunkType() {
    if (type != MPI_DATATYPE_NULL)
      MPI_Type_free(&type);
  }
  Status make(MpiJob &job, const CommCall &call, int count, size_t stride) {
    MPI_Datatype contiguous;
    DTC_MPI(job, call, MPI_Type_contiguous(count, mpiType(call.type), &contiguous));
    auto extent = static_cast<MPI_Aint>(stride * bytesOf(call.type));
    int resized = MPI_Type_create_resized(contiguous, 0, extent, &type);
    MPI_Type_free(&contiguous);
    DTC_MPI(job, call, resized);
    DTC_MPI(job, call, MPI_Type_commit(&type));
    return Status::okStatus();
  }
  MPI_Datatype get() const { return type; }

private:
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

class MpiComm final : public Comm {
public:
  MpiComm(std::shared_ptr<MpiJob> job, MPI_Comm comm, std::string name, bool isWorld)
      : job(std::move(job)), comm(comm), groupName(std::move(name)), isWorld(isWorld) {}
  ~MpiComm() override;

  // Reads rank and size; before any other call.
  Status start() {
    CommCall call{this, "joining", 0, DataType::U8, -1, false};
    DTC_MPI(*job, call, MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    DTC_MPI(*job, call, MPI_Comm_rank(comm, &myRank));
    DTC_MPI(*job, call, MPI_Comm_size(comm, &numRanks));
    return PeerCollectives::create(*job, comm, call, peers);
  }

  int rank() const override { return myRank; }
  int size() const override { return numRanks; }
  void setName(std::string name) override { groupName = std::move(name); }
  const std::string &name() const override { return groupName; }
  void abandon(const std::string &reason) override { job->fail(text("given up: ", reason)); }

  Status allReduce(const void *src, void *dst, size_t count, DataType type, Reduction op) override;
  Status allGather(const void *src, void *dst, size_t count, DataType type) override;
  Status reduceScatter(const void *src, void *dst, size_t count, DataType type,
                       Reduction op) override;
  Status allToAll(const void *src, void *dst, size_t count, DataType type) override;
  Status broadcast(void *data, size_t count, DataType type, int root) override;
  Status send(const void *data, size_t count, DataType type, int peer) override;
  Status receive(void *data, size_t count, DataType type, int peer) override;
  Status barrier() override;
  Status split(int colour, int key, std::unique_ptr<Comm> &group) override;

private:
  // Calls piece(first, length) for pieces of `count` that one MPI call can move.
  template <typename Piece> Status inPieces(size_t count, Piece piece) {
    for (size_t first = 0; first < count; first += static_cast<size_t>(job->maxElements)) {
      size_t length = std::min(count - first, static_cast<size_t>(job->maxElements));
      DTC_RETURN_IF_ERROR(piece(first, static_cast<int>(length)));
    }
    return Status::okStatus();
  }
  // Aborted when the job was given up.
  Status begin(const CommCall &call) const;
  // Returns true if a collective with a buffer of `elements` reads the memory of peers directly.
  bool usesPeers(const CommCall &call, size_t elements) const {
    return peers && elements * bytesOf(call.type) >= job->peerBytes;
  }
  Status wait(MPI_Request &request, const CommCall &call) {
    return waitForMpi(*job, request, call);
  }
  Status scatterPieces(const CommCall &call, const void *src, void *dst, Reduction op);
  // Reductions of 16-bit floats, which MPI does not have.
  Status reduceNarrow(const void *src, void *dst, size_t count, DataType type, Reduction op);
  Status scatterNarrow(const void *src, void *dst, size_t count, DataType type, Reduction op);

  std::shared_ptr<MpiJob> job;
  MPI_Comm comm;
  std::string groupName;
  bool isWorld;
  int myRank = 0, numRanks = 1;
  std::unique_ptr<PeerCollectives> peers; // null where a rank can't read another's memory
  std::vector<char> sent, received, mine; // buffers of 16-bit reductions; grow to the largest
  std::vector<float> sums;
};
} // namespace

MpiComm::~MpiComm() {
  // If a call is still pending, freeing and finalising would block for ever; when this process
  // exits without finalising, the launcher ends the other ranks.
  if (job->failed)
    return;
  MPI_Comm_free(&comm);
  if (!isWorld)
    return;
  if (job->reportEnd)
    job->reportEnd(myRank);
  MPI_Finalize();
}

Status MpiComm::begin(const CommCall &call) const {
  return job->failed ? Status::aborted(text(call.words(), ": ", job->reason()))
                     : Status::okStatus();
}

Status MpiComm::allReduce(const void *src, void *dst, size_t count, DataType type, Reduction op) {
  CommCall call{this, "all-reduce", count, type};
  DTC_RETURN_IF_ERROR(checkReducible(type, "all-reduce"));
  DTC_RETURN_IF_ERROR(begin(call));
  if (usesPeers(call, count))
    return peers->allReduce(call, src, dst, op);
  if (accumulatorOf(type) != type)
    return reduceNarrow(src, dst, count, type, op);
  return inPieces(count, [&](size_t first, int length) -> Status {
    MPI_Request request;
    const void *from = src == dst ? MPI_IN_PLACE : at(src, first, type);
    DTC_MPI(*job, call,
            MPI_Iallreduce(from, at(dst, first, type), length, mpiType(type), mpiOp(op), comm,
                           &request));
    return wait(request, call);
  });
}

Status MpiComm::allGather(const void *src, void *dst, size_t count, DataType type) {
  CommCall call{this, "all-gather", count, type};
  DTC_RETURN_IF_ERROR(begin(call));
  if (usesPeers(call, count * static_cast<size_t>(numRanks)))
    return peers->allGather(call, src, dst);
  bool inPlace = src == at(dst, static_cast<size_t>(myRank) * count, type);
  return inPieces(count, [&](size_t first, int length) -> Status {
    MPI_Request request;
    ChunkType chunk;
    bool whole = static_cast<size_t>(length) == count;
    if (!whole)
      DTC_RETURN_IF_ERROR(chunk.make(*job, call, length, count));
    DTC_MPI(*job, call,
            MPI_Iallgather(inPlace ? MPI_IN_PLACE : at(src, first, type), length, mpiType(type),
                           at(dst, first, type), whole ? length : 1,
                           whole ? mpiType(type) : chunk.get(), comm, &request));
    return wait(request, call);
  });
}

// Ranks send each other the parts that they are to sum, add them up in f32, and round once: as many
// bytes as of a reduction that MPI knows.
Status MpiComm::scatterNarrow(const void *src, void *dst, size_t count, DataType type,
                              Reduction op) {
  received.resize(static_cast<size_t>(numRanks) * count * bytesOf(type));
  sums.resize(count);
  DTC_RETURN_IF_ERROR(allToAll(src, received.data(), count, type));
  for (size_t rank = 0; rank < static_cast<size_t>(numRanks); ++rank) {
    const char *part = at(received.data(), rank * count, type);
    if (rank == 0)
      startReduction(sums.data(), part, count, type);
    else
      reduceInto(sums.data(), part, count, type, op);
  }
  finishReduction(dst, sums.data(), count, type);
  return Status::okStatus();
}

Status MpiComm::reduceNarrow(const void *src, void *dst, size_t count, DataType type,
                             Reduction op) {
  auto ranks = static_cast<size_t>(numRanks);
  size_t part = (count + ranks - 1) / ranks, bytes = count * bytesOf(type);
  sent.resize(ranks * part * bytesOf(type)); // the rest is padding
  mine.resize(part * bytesOf(type));
  if (count > 0)
    std::memcpy(sent.data(), src, bytes);
  DTC_RETURN_IF_ERROR(scatterNarrow(sent.data(), mine.data(), part, type, op));
  DTC_RETURN_IF_ERROR(allGather(mine.data(), sent.data(), part, type));
  if (count > 0)
    std::memcpy(dst, sent.data(), bytes);
  return Status::okStatus();
}

// Predefined reductions take predefined types only, so the pieces are packed.
Status MpiComm::scatterPieces(const CommCall &call, const void *src, void *dst, Reduction op) {
  size_t count = call.count;
  DataType type = call.type;
  std::vector<char> packed;
  return inPieces(count, [&](size_t first, int length) -> Status {
    size_t bytes = static_cast<size_t>(length) * bytesOf(type);
    packed.resize(bytes * static_cast<size_t>(numRanks));
    for (size_t r = 0; r < static_cast<size_t>(numRanks); ++r)
      std::memcpy(packed.data() + r * bytes, at(src, r * count + first, type), bytes);
    MPI_Request request;
    DTC_MPI(*job, call,
            MPI_Ireduce_scatter_block(packed.data(), at(dst, first, type), length, mpiType(type),
                                      mpiOp(op), comm, &request));
    return wait(request, call);
  });
}

Status MpiComm::reduceScatter(const void *src, void *dst, size_t count, DataType type,
                              Reduction op) {
  CommCall call{this, "reduce-scatter", count, type};
  DTC_RETURN_IF_ERROR(checkReducible(type, "reduce-scatter"));
  DTC_RETURN_IF_ERROR(begin(call));
  if (usesPeers(call, count * static_cast<size_t>(numRanks)))
    return peers->reduceScatter(call, src, dst, op);
  if (accumulatorOf(type) != type)
    return scatterNarrow(src, dst, count, type, op);
  if (count > static_cast<size_t>(job->maxElements))
    return scatterPieces(call, src, dst, op);
  MPI_Request request;
  DTC_MPI(*job, call,
          MPI_Ireduce_scatter_block(src, dst, static_cast<int>(count), mpiType(type), mpiOp(op),
                                    comm, &request));
  return wait(request, call);
}

Status MpiComm::allToAll(const void *src, void *dst, size_t count, DataType type) {
  CommCall call{this, "all-to-all", count, type};
  DTC_RETURN_IF_ERROR(begin(call));
  if (usesPeers(call, count * static_cast<size_t>(numRanks)))
    return peers->allToAll(call, src, dst);
  return inPieces(count, [&](size_t first, int length) -> Status {
    MPI_Request request;
    ChunkType chunk;
    DTC_RETURN_IF_ERROR(chunk.make(*job, call, length, count));
    DTC_MPI(*job, call,
            MPI_Ialltoall(at(src, first, type), 1, chunk.get(), at(dst, first, type), 1,
                          chunk.get(), comm, &request));
    return wait(request, call);
  });
}

Status MpiComm::broadcast(void *data, size_t count, DataType type, int root) {
  CommCall call{this, "broadcast", count, type, root};
  DTC_RETURN_IF_ERROR(checkPeer(call, /*mayBeSelf=*/true));
  DTC_RETURN_IF_ERROR(begin(call));
  return inPieces(count, [&](size_t first, int length) -> Status {
    MPI_Request request;
    DTC_MPI(*job, call,
            MPI_Ibcast(at(data, first, type), length, mpiType(type), root, comm, &request));
    return wait(request, call);
  });
}

Status MpiComm::send(const void *data, size_t count, DataType type, int peer) {
  CommCall call{this, "send", count, type, peer};
  DTC_RETURN_IF_ERROR(checkPeer(call, /*mayBeSelf=*/false));
  DTC_RETURN_IF_ERROR(begin(call));
  return inPieces(count, [&](size_t first, int length) -> Status {
    MPI_Request request;
    DTC_MPI(*job, call,
            MPI_Isend(at(data, first, type), length, mpiType(type), peer, 0, comm, &request));
    return wait(request, call);
  });
}

Status MpiComm::receive(void *data, size_t count, DataType type, int peer) {
  CommCall call{this, "receive", count, type, peer};
  DTC_RETURN_IF_ERROR(checkPeer(call, /*mayBeSelf=*/false));
  DTC_RETURN_IF_ERROR(begin(call));
  return inPieces(count, [&](size_t first, int length) -> Status {
    MPI_Request request;
    DTC_MPI(*job, call,
            MPI_Irecv(at(data, first, type), length, mpiType(type), peer, 0, comm, &request));
    return wait(request, call);
  });
}

Status MpiComm::barrier() {
  CommCall call{this, "barrier", 0, DataType::U8, -1, false};
  DTC_RETURN_IF_ERROR(begin(call));
  MPI_Request request;
  DTC_MPI(*job, call, MPI_Ibarrier(comm, &request));
  return wait(request, call);
}

Status MpiComm::split(int colour, int key, std::unique_ptr<Comm> &group) {
  CommCall call{this, "split", 0, DataType::U8, -1, false};
  DTC_RETURN_IF_ERROR(begin(call));
  if (colour < 0)
    return Status::invalidArgument(text(call.words(), ": colour ", colour, "; wanted 0 or more"));
  // MPI_Comm_split blocks without a deadline; after the barrier all ranks are about to call it.
  DTC_RETURN_IF_ERROR(barrier());
  MPI_Comm made = MPI_COMM_NULL;
  DTC_MPI(*job, call, MPI_Comm_split(comm, colour, key, &made));
  auto result =
      std::make_unique<MpiComm>(job, made, text("part ", colour, " of ", groupName), false);
  DTC_RETURN_IF_ERROR(result->start());
  group = std::move(result);
  return Status::okStatus();
}

static Status createWorld(const MpiOptions &options, std::unique_ptr<Comm> &world) {
  auto job = std::make_shared<MpiJob>();
  job->timeoutSeconds = options.timeoutSeconds;
  job->pollMicros = std::max<uint64_t>(options.pollMicros, 1);
  job->peerBytes = options.peerBytes;
  job->phases = options.phases;
  job->reportEnd = options.reportEnd;
  job->maxElements = static_cast<int>(
      options.maxElements ? std::min<uint64_t>(options.maxElements, INT_MAX) : INT_MAX);
  CommCall call{nullptr, "starting MPI", 0, DataType::U8, -1, false};
  int given = 0;
  auto enter = [&](Phase phase) {
    if (options.phases)
      options.phases->enter(phase);
  };
  enter(Phase::StartingMpi);
  DTC_MPI(*job, call, MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &given));
  // Errors outside a group go to the world.
  DTC_MPI(*job, call, MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  if (given < MPI_THREAD_MULTIPLE) {
    MPI_Finalize();
    return Status::unavailable(text(call.words(), ": it gives thread level ", given, "; wanted ",
                                    int(MPI_THREAD_MULTIPLE), " (MPI_THREAD_MULTIPLE)"));
  }
  enter(Phase::JoiningWorld);
  MPI_Comm comm;
  DTC_MPI(*job, call, MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  // Ranks that took different ways for one buffer would wait for each other, or worse.
  MPI_Request request;
  call.operation = "telling how buffers go";
  DTC_MPI(*job, call, MPI_Ibcast(&job->peerBytes, 1, MPI_UINT64_T, 0, comm, &request));
  DTC_RETURN_IF_ERROR(waitForMpi(*job, request, call));
  auto made = std::make_unique<MpiComm>(job, comm, "world", true);
  DTC_RETURN_IF_ERROR(made->start());
  world = std::move(made);
  return Status::okStatus();
}

extern "C" {
[[gnu::visibility("default")]] int dtcMpiPluginVersion() { return kMpiPluginVersion; }
[[gnu::visibility("default")]] void
dtcMpiCreateWorld(const MpiOptions &options, std::unique_ptr<Comm> &world, Status &status) {
  status = createWorld(options, world);
}
}
} // namespace dtc::rt

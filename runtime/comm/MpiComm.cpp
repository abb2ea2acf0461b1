// The MPI backend, built as the plugin libdtc_mpi.so.
//
// Every group is a communicator of its own, so that threads may use different groups at once. All
// calls are non-blocking ones that are polled (MpiWait.h), so that a dead peer ends in an error.
#include "runtime/comm/MpiPlugin.h"
#include "runtime/comm/MpiWait.h"
#include "runtime/comm/Names.h"
#include "runtime/format/Text.h"

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
  Status make(MpiJob &job, const std::string &what, int count, size_t stride, DataType element) {
    MPI_Datatype contiguous;
    DTC_MPI(job, what, MPI_Type_contiguous(count, mpiType(element), &contiguous));
    auto extent = static_cast<MPI_Aint>(stride * bytesOf(element));
    int code = MPI_Type_create_resized(contiguous, 0, extent, &type);
    MPI_Type_free(&contiguous);
    DTC_MPI(job, what, code);
    DTC_MPI(job, what, MPI_Type_commit(&type));
    return Status::okStatus();
  }
  MPI_Datatype get() const { return type; }

private:
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

char *at(void *base, size_t elements, DataType type) {
  return static_cast<char *>(base) + elements * bytesOf(type);
}
const char *at(const void *base, size_t elements, DataType type) {
  return static_cast<const char *>(base) + elements * bytesOf(type);
}

class MpiComm final : public Comm {
public:
  MpiComm(std::shared_ptr<MpiJob> job, MPI_Comm comm, std::string name, bool isWorld)
      : job(std::move(job)), comm(comm), groupName(std::move(name)), isWorld(isWorld) {}
  ~MpiComm() override;

  // Reads rank and size; before any other call.
  Status start() {
    DTC_MPI(*job, "joining a group", MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    DTC_MPI(*job, "joining a group", MPI_Comm_rank(comm, &myRank));
    DTC_MPI(*job, "joining a group", MPI_Comm_size(comm, &numRanks));
    return Status::okStatus();
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
  // What messages say, and whether the job still runs.
  Status begin(const std::string &call, std::string &what) const {
    what = text(call, describeMember(*this));
    return job->failed ? Status::aborted(text(what, ": ", job->reason())) : Status::okStatus();
  }
  Status beginWithPeer(const char *operation, size_t count, DataType type, int peer,
                       std::string &what) const;
  Status wait(MPI_Request &request, const std::string &what) {
    return waitForMpi(*job, request, what);
  }
  Status scatterPieces(const void *src, void *dst, size_t count, DataType type, Reduction op,
                       const std::string &what);

  std::shared_ptr<MpiJob> job;
  MPI_Comm comm;
  std::string groupName;
  bool isWorld;
  int myRank = 0, numRanks = 1;
};
} // namespace

MpiComm::~MpiComm() {
  // With a call still under way, freeing and finalising would wait for it for ever; the launcher
  // ends the other ranks when this process exits without finalising.
  if (job->failed)
    return;
  MPI_Comm_free(&comm);
  if (isWorld)
    MPI_Finalize();
}

Status MpiComm::allReduce(const void *src, void *dst, size_t count, DataType type, Reduction op) {
  std::string what;
  DTC_RETURN_IF_ERROR(checkReducible(type, "all-reduce"));
  DTC_RETURN_IF_ERROR(begin(describeCall("all-reduce", count, type), what));
  return inPieces(count, [&](size_t first, int length) -> Status {
    MPI_Request request;
    const void *from = src == dst ? MPI_IN_PLACE : at(src, first, type);
    DTC_MPI(*job, what,
            MPI_Iallreduce(from, at(dst, first, type), length, mpiType(type), mpiOp(op), comm,
                           &request));
    return wait(request, what);
  });
}

Status MpiComm::allGather(const void *src, void *dst, size_t count, DataType type) {
  std::string what;
  DTC_RETURN_IF_ERROR(begin(describeCall("all-gather", count, type), what));
  bool inPlace = src == at(dst, static_cast<size_t>(myRank) * count, type);
  return inPieces(count, [&](size_t first, int length) -> Status {
    MPI_Request request;
    ChunkType chunk;
    bool whole = static_cast<size_t>(length) == count;
    if (!whole)
      DTC_RETURN_IF_ERROR(chunk.make(*job, what, length, count, type));
    DTC_MPI(*job, what,
            MPI_Iallgather(inPlace ? MPI_IN_PLACE : at(src, first, type), length, mpiType(type),
                           at(dst, first, type), whole ? length : 1,
                           whole ? mpiType(type) : chunk.get(), comm, &request));
    return wait(request, what);
  });
}

// Predefined reductions take predefined types only, so the pieces are packed.
Status MpiComm::scatterPieces(const void *src, void *dst, size_t count, DataType type, Reduction op,
                              const std::string &what) {
  std::vector<char> packed;
  return inPieces(count, [&](size_t first, int length) -> Status {
    size_t bytes = static_cast<size_t>(length) * bytesOf(type);
    packed.resize(bytes * static_cast<size_t>(numRanks));
    for (size_t r = 0; r < static_cast<size_t>(numRanks); ++r)
      std::memcpy(packed.data() + r * bytes, at(src, r * count + first, type), bytes);
    MPI_Request request;
    DTC_MPI(*job, what,
            MPI_Ireduce_scatter_block(packed.data(), at(dst, first, type), length, mpiType(type),
                                      mpiOp(op), comm, &request));
    return wait(request, what);
  });
}

Status MpiComm::reduceScatter(const void *src, void *dst, size_t count, DataType type,
                              Reduction op) {
  std::string what;
  DTC_RETURN_IF_ERROR(checkReducible(type, "reduce-scatter"));
  DTC_RETURN_IF_ERROR(begin(describeCall("reduce-scatter", count, type), what));
  if (count > static_cast<size_t>(job->maxElements))
    return scatterPieces(src, dst, count, type, op, what);
  MPI_Request request;
  DTC_MPI(*job, what,
          MPI_Ireduce_scatter_block(src, dst, static_cast<int>(count), mpiType(type), mpiOp(op),
                                    comm, &request));
  return wait(request, what);
}

Status MpiComm::allToAll(const void *src, void *dst, size_t count, DataType type) {
  std::string what;
  DTC_RETURN_IF_ERROR(begin(describeCall("all-to-all", count, type), what));
  return inPieces(count, [&](size_t first, int length) -> Status {
    MPI_Request request;
    ChunkType chunk;
    DTC_RETURN_IF_ERROR(chunk.make(*job, what, length, count, type));
    DTC_MPI(*job, what,
            MPI_Ialltoall(at(src, first, type), 1, chunk.get(), at(dst, first, type), 1,
                          chunk.get(), comm, &request));
    return wait(request, what);
  });
}

Status MpiComm::beginWithPeer(const char *operation, size_t count, DataType type, int peer,
                              std::string &what) const {
  DTC_RETURN_IF_ERROR(
      begin(text(describeCall(operation, count, type), ", rank ", peer, ","), what));
  if (peer < 0 || peer >= numRanks)
    return Status::invalidArgument(text(what, ": rank ", peer, " is outside the group"));
  return Status::okStatus();
}

Status MpiComm::broadcast(void *data, size_t count, DataType type, int root) {
  std::string what;
  DTC_RETURN_IF_ERROR(beginWithPeer("broadcast", count, type, root, what));
  return inPieces(count, [&](size_t first, int length) -> Status {
    MPI_Request request;
    DTC_MPI(*job, what,
            MPI_Ibcast(at(data, first, type), length, mpiType(type), root, comm, &request));
    return wait(request, what);
  });
}

Status MpiComm::send(const void *data, size_t count, DataType type, int peer) {
  std::string what;
  DTC_RETURN_IF_ERROR(beginWithPeer("send", count, type, peer, what));
  if (peer == myRank)
    return Status::invalidArgument(text(what, ": to itself"));
  return inPieces(count, [&](size_t first, int length) -> Status {
    MPI_Request request;
    DTC_MPI(*job, what,
            MPI_Isend(at(data, first, type), length, mpiType(type), peer, 0, comm, &request));
    return wait(request, what);
  });
}

Status MpiComm::receive(void *data, size_t count, DataType type, int peer) {
  std::string what;
  DTC_RETURN_IF_ERROR(beginWithPeer("receive", count, type, peer, what));
  if (peer == myRank)
    return Status::invalidArgument(text(what, ": from itself"));
  return inPieces(count, [&](size_t first, int length) -> Status {
    MPI_Request request;
    DTC_MPI(*job, what,
            MPI_Irecv(at(data, first, type), length, mpiType(type), peer, 0, comm, &request));
    return wait(request, what);
  });
}

Status MpiComm::barrier() {
  std::string what;
  DTC_RETURN_IF_ERROR(begin("barrier", what));
  MPI_Request request;
  DTC_MPI(*job, what, MPI_Ibarrier(comm, &request));
  return wait(request, what);
}

Status MpiComm::split(int colour, int key, std::unique_ptr<Comm> &group) {
  std::string what;
  DTC_RETURN_IF_ERROR(begin("split", what));
  if (colour < 0)
    return Status::invalidArgument(text(what, ": colour ", colour, "; wanted 0 or more"));
  // MPI_Comm_split blocks without a deadline; after the barrier all ranks are about to call it.
  DTC_RETURN_IF_ERROR(barrier());
  MPI_Comm made = MPI_COMM_NULL;
  DTC_MPI(*job, what, MPI_Comm_split(comm, colour, key, &made));
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
  job->maxElements = static_cast<int>(
      options.maxElements ? std::min<uint64_t>(options.maxElements, INT_MAX) : INT_MAX);
  const char *what = "starting MPI";
  int given = 0;
  DTC_MPI(*job, what, MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &given));
  // Errors outside a group go to the world.
  DTC_MPI(*job, what, MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  if (given < MPI_THREAD_MULTIPLE) {
    MPI_Finalize();
    return Status::unavailable(text(what, ": it gives thread level ", given, "; wanted ",
                                    int(MPI_THREAD_MULTIPLE), " (MPI_THREAD_MULTIPLE)"));
  }
  MPI_Comm comm;
  DTC_MPI(*job, what, MPI_Comm_dup(MPI_COMM_WORLD, &comm));
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

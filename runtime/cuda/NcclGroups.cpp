#include "runtime/cuda/NcclGroups.h"

#include "runtime/base/Backoff.h"
#include "runtime/base/Text.h"
#include "runtime/cuda/NcclVersion.h"
#include "runtime/format/Communicators.h"
#include "runtime/format/Operands.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>
#include <utility>

namespace dtc::rt {
namespace {

using format::text;
using Clock = std::chrono::steady_clock;
using Line = NcclLine;

cu::NcclType typeOf(format::DType type) {
  switch (type) {
  case format::DType::f32:
    return cu::ncclFloat32;
  case format::DType::bf16:
    return cu::ncclBfloat16;
  case format::DType::f16:
    return cu::ncclFloat16;
  case format::DType::i32:
    return cu::ncclInt32;
  case format::DType::i64:
    return cu::ncclInt64;
  case format::DType::u8:
    break;
  }
  return cu::ncclUint8;
}

// The communicators of a group. Collectives have one. Transfers have one for sends and one for
// receives of this rank, of two ranks each: NCCL runs the operations of a communicator one after
// another, and a rank that waits to send would not receive. A direction that the program does not
// use has none.
struct Group {
  int ranks = 1;
  Line *line = nullptr; // of collectives, or of sends
  Line *receives = nullptr;
  bool isTransfer = false;
};
static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

// CUDA versions. With older drivers NCCL keeps the order of communicators in a graph by running
// them one after another, so that ranks could deadlock.
constexpr int kLeastForGraphs = 12090;
// The same holds in streams with drivers before this one.
constexpr int kLeastForStreams = 12030;

class NcclGroups : public CudaGroups {
public:
  NcclGroups(CudaLibraries &libraries, const cu::Driver &driver, int leastDriver,
             const NcclWatchOptions &options)
      : libraries(libraries), driver(driver), options(options), leastDriver(leastDriver) {}
  ~NcclGroups() override;

  Status create(Control &control, const GroupSpec &spec, int &group) override;
  Status setArena(cu::DevicePtr address, uint64_t bytes) override;
  Status prepare(const Command &command, int stream, PreparedCommunication &prepared) override;
  void noteSteps(uint64_t done) override {
    if (watch)
      watch->noteSteps(done);
  }
  void stop() override;
  bool awaitStop() override { return !watch || watch->awaitStop(); }
  void close() override {
    if (watch)
      watch->close();
  }

private:
  Status open(size_t ranks);
  // Starts to connect; settle() ends it. The rank at position 0 of each line creates its identity.
  Status connect(const cu::NcclId &id, const Line &like, const format::Communicator &kind,
                 Line *&made);
  Status finish(Line &line);
  // Adds to an error of NCCL that the GPU's memory is nearly full, which NCCL does not say.
  Status explain(Status status) const;
  Status registerArena(Line &line);
  Status makeNotes(Line &line);
  // Sends a byte over every connection that the lines of a group will use, because hosts connect at
  // the first send, for which a step has no order. Greets on all lines at once: the ranks of a ring
  // would deadlock otherwise.
  Status greet(const Group &group);
  Status awaitGreeting(const Line &line);
  // Waits until the communicator has accepted a call; `what` names it in messages.
  Status settle(Line &line, const char *what);
  Status call(const Line &line, const Command &command, cu::Stream stream);
  Status exchangeAll(const Line &line, const Command &command, cu::Stream stream);
  // Copies the data of an operation of one rank.
  Status copyHere(const Command &command, cu::Stream stream) const;
  Status close(Line &line);

  CudaLibraries &libraries;
  const cu::Driver &driver;
  NcclWatchOptions options;
  const cu::Nccl *nccl = nullptr;
  int leastDriver;        // of all ranks
  bool hasBeside = false; // operations of some rank may wait beside other work of it
  std::vector<Group> groups;
  std::vector<std::unique_ptr<Line>> lines;
  cu::DevicePtr arena = 0;
  uint64_t arenaBytes = 0;
  uint64_t bufferBytes = 0; // an estimate of those of the lines
  // Resources of greetings: sends use a separate stream, and there are two bytes for each rank of
  // the job.
  std::array<cu::Stream, 2> streams{};
  std::array<cu::Event, 2> events{};
  cu::DevicePtr greetings = 0;
  std::mutex mutex; // guards the following fields
  bool stopped = false;
  std::unique_ptr<NcclWatch> watch; // watches all lines
};

// After an error communicators are gone, or cannot be destroyed in order.
NcclGroups::~NcclGroups() {
  close();
  for (auto &line : lines)
    if (!watch->isStopped() && !close(*line).ok())
      watch->stop();
  if (watch && !watch->awaitStop())
    return;
  for (auto &line : lines)
    if (line->running)
      (void)driver.cuMemFreeHost(line->running);
  for (cu::Event event : events)
    if (event)
      (void)driver.cuEventDestroy(event);
  for (cu::Stream stream : streams)
    if (stream)
      (void)driver.cuStreamDestroy(stream);
  if (greetings)
    (void)driver.cuMemFree(greetings);
}

Status NcclGroups::open(size_t ranks) {
  if (watch)
    return {};
  DTC_RETURN_IF_ERROR(libraries.nccl(nccl));
  if (leastDriver < kLeastForStreams)
    return Status::unavailable(text("NCCL needs a driver of CUDA 12.3 or later here, the oldest "
                                    "one of all ranks is of ",
                                    leastDriver / 1000, ".", leastDriver % 1000 / 10,
                                    "; update the NVIDIA driver"));
  std::lock_guard lock(mutex);
  watch = std::make_unique<NcclWatch>(*nccl, driver, options);
  if (stopped)
    watch->stop();
  for (size_t i = 0; i < streams.size(); ++i) {
    DTC_CUDA(driver, cuStreamCreateWithPriority, &streams[i], cu::streamNonBlocking, 0);
    DTC_CUDA(driver, cuEventCreate, &events[i], cu::eventDisableTiming);
  }
  DTC_CUDA(driver, cuMemAlloc, &greetings, 2 * ranks);
  DTC_CUDA(driver, cuMemsetD8, greetings, 0, 2 * ranks);
  DTC_CUDA(driver, cuCtxSynchronize);
  return {};
}

void NcclGroups::stop() {
  std::lock_guard lock(mutex);
  stopped = true;
  if (watch)
    watch->stop();
}

Status NcclGroups::close(Line &line) {
  if (!line.comm)
    return {};
  if (line.registration)
    DTC_NCCL_CALL(*nccl, ncclCommDeregister, line.comm, std::exchange(line.registration, nullptr));
  DTC_NCCL_CALL(*nccl, ncclCommFinalize, line.comm);
  DTC_RETURN_IF_ERROR(settle(line, "ncclCommFinalize"));
  DTC_NCCL_CALL(*nccl, ncclCommDestroy, std::exchange(line.comm, nullptr));
  return {};
}

// Most calls are accepted within some 10 us, and a nap takes longer than it says.
Status NcclGroups::settle(Line &line, const char *what) {
  constexpr auto spins = std::chrono::microseconds(50), nap = std::chrono::microseconds(20);
  Clock::time_point begin = Clock::now();
  for (;;) {
    cu::NcclResult state = cu::ncclSuccess;
    {
      std::lock_guard lock(watch->mutex);
      if (!line.comm)
        return Status::aborted("the device was stopped");
      DTC_NCCL_CALL(*nccl, ncclCommGetAsyncError, line.comm, &state);
      line.isCalling = state == cu::ncclInProgress;
    }
    if (state != cu::ncclInProgress)
      return cu::check(*nccl, what, state);
    Clock::duration waited = Clock::now() - begin;
    if (waited > std::chrono::duration<double>(options.timeoutSeconds))
      return Status::aborted(text(what, " of group '", line.name, "' of ", line.ranks,
                                  " ranks did not end within ", options.timeoutSeconds,
                                  " s: another rank has not come to it"));
    if (waited > spins)
      std::this_thread::sleep_for(nap);
  }
}

// Creates a group. The first rank of a line creates its identity and sends it to all others. A rank
// starts all its lines before it waits for one: the ranks of a ring would deadlock otherwise.
Status NcclGroups::create(Control &control, const GroupSpec &spec, int &number) {
  number = static_cast<int>(groups.size());
  groups.push_back({});
  if (spec.size == 1)
    return {};
  DTC_RETURN_IF_ERROR(open(static_cast<size_t>(control.size())));
  hasBeside = hasBeside || spec.numBeside > 0;
  std::span<const uint32_t> list; // the list with this rank
  size_t position = 0;
  for (size_t i = 0; i < spec.ranks.size(); ++i)
    if (spec.ranks[i] == static_cast<uint32_t>(control.rank())) {
      position = i % spec.size;
      list = spec.ranks.subspan(i - position, spec.size);
    }
  cu::NcclId id{};
  bool isTransfer = spec.shift != 0;
  if (!list.empty() && (isTransfer ? spec.sends : position == 0))
    DTC_NCCL_CALL(*nccl, ncclGetUniqueId, &id);
  std::vector<cu::NcclId> ids(static_cast<size_t>(control.size()));
  DTC_RETURN_IF_ERROR(control.allGather(&id, ids.data(), sizeof(id), DataType::U8));
  if (list.empty())
    return {};
  Group &group = groups.back();
  group.ranks = static_cast<int>(spec.size);
  group.isTransfer = isTransfer;
  format::Communicator kind{isTransfer ? 2 : spec.size, spec.mostBlocks, isTransfer, spec.exchanges,
                            false};
  Line like;
  like.name = spec.name;
  like.ranks = group.ranks;
  like.position = static_cast<int>(position);
  if (!isTransfer) {
    DTC_RETURN_IF_ERROR(connect(ids[list[0]], like, kind, group.line));
    DTC_RETURN_IF_ERROR(finish(*group.line));
    return spec.exchanges ? greet(group) : Status();
  }
  like.ranks = 2;
  size_t sender = (position + spec.size - spec.shift % spec.size) % spec.size;
  like.position = 0;
  if (spec.sends)
    DTC_RETURN_IF_ERROR(connect(id, like, kind, group.line));
  like.position = 1;
  kind.receives = true;
  if (spec.receives)
    DTC_RETURN_IF_ERROR(connect(ids[list[sender]], like, kind, group.receives));
  for (Line *line : {group.line, group.receives})
    if (line)
      DTC_RETURN_IF_ERROR(finish(*line));
  return greet(group);
}

Status NcclGroups::greet(const Group &group) {
  if (!group.line && !group.receives)
    return {};
  auto send = [&](const Line &line, int peer, cu::Stream stream) {
    return cu::check(*nccl, "ncclSend",
                     nccl->ncclSend(reinterpret_cast<const void *>(greetings), 1, cu::ncclUint8,
                                    peer, line.comm, stream));
  };
  auto receive = [&](const Line &line, int peer, cu::Stream stream) {
    auto to = static_cast<uintptr_t>(greetings) + static_cast<uintptr_t>(line.ranks + peer);
    return cu::check(
        *nccl, "ncclRecv",
        nccl->ncclRecv(reinterpret_cast<void *>(to), 1, cu::ncclUint8, peer, line.comm, stream));
  };
  auto greetAll = [&]() -> Status {
    if (group.isTransfer) {
      if (group.line)
        DTC_RETURN_IF_ERROR(send(*group.line, 1, streams[0]));
      return group.receives ? receive(*group.receives, 0, streams[1]) : Status();
    }
    for (int peer = 0; peer < group.ranks; ++peer) {
      DTC_RETURN_IF_ERROR(send(*group.line, peer, streams[0]));
      DTC_RETURN_IF_ERROR(receive(*group.line, peer, streams[0]));
    }
    return {};
  };
  {
    std::lock_guard lock(watch->mutex);
    if (watch->isStopped())
      return Status::aborted("the device was stopped");
    DTC_NCCL_CALL(*nccl, ncclGroupStart);
    Status said = greetAll();
    Status ended = cu::check(*nccl, "ncclGroupEnd", nccl->ncclGroupEnd());
    DTC_RETURN_IF_ERROR(said);
    DTC_RETURN_IF_ERROR(ended);
  }
  for (Line *line : {group.line, group.receives})
    if (line)
      DTC_RETURN_IF_ERROR(settle(*line, "its first transfer"));
  return awaitGreeting(group.line ? *group.line : *group.receives);
}

Status NcclGroups::awaitGreeting(const Line &line) {
  for (size_t i = 0; i < streams.size(); ++i)
    DTC_CUDA(driver, cuEventRecord, events[i], streams[i]);
  Clock::time_point begin = Clock::now();
  for (cu::Event event : events)
    for (Backoff backoff;;) {
      cu::Result result = driver.cuEventQuery(event);
      if (result != cu::errorNotReady) {
        DTC_RETURN_IF_ERROR(cu::check(driver, "cuEventQuery", result));
        break;
      }
      if (watch->isStopped())
        return Status::aborted("the device was stopped");
      if (Clock::now() - begin > std::chrono::duration<double>(options.timeoutSeconds))
        return Status::aborted(text("the first transfer of group '", line.name,
                                    "' did not end within ", options.timeoutSeconds,
                                    " s: another rank has not come to it"));
      backoff.pause();
    }
  return {};
}

Status NcclGroups::connect(const cu::NcclId &id, const Line &like, const format::Communicator &kind,
                           Line *&made) {
  bufferBytes += format::bufferBytesOf(kind);
  lines.push_back(std::make_unique<Line>(like));
  made = lines.back().get();
  DTC_RETURN_IF_ERROR(makeNotes(*made));
  watch->add(*made);
  cu::NcclConfig config = cu::configOf(nccl->version);
  config.blocking = 0;
  config.mostBlocks = kind.blocks > 0 ? static_cast<int>(kind.blocks) : cu::ncclUnsetInt;
  config.name = made->name.c_str();
  config.graphUsage = 1; // a step is a graph or is not, and nothing of the start runs beside steps
  std::lock_guard lock(watch->mutex);
  if (watch->isStopped())
    return Status::aborted("the device was stopped");
  made->isCalling = true;
  return explain(cu::check(
      *nccl, "ncclCommInitRankConfig",
      nccl->ncclCommInitRankConfig(&made->comm, made->ranks, id, made->position, &config)));
}

Status NcclGroups::finish(Line &line) {
  DTC_RETURN_IF_ERROR(explain(settle(line, "ncclCommInitRankConfig")));
  return registerArena(line);
}

Status NcclGroups::explain(Status status) const {
  constexpr size_t little = size_t(1) << 30;
  size_t free = 0, total = 0;
  if (status.ok() || status.statusCode() == StatusCode::Aborted ||
      driver.cuMemGetInfo(&free, &total) != cu::success || free >= little)
    return status;
  return Status(status.statusCode(),
                text(status.message(), "; the GPU has ", free >> 20, " MiB left of ", total >> 20,
                     ": the buffers of NCCL's ", lines.size(),
                     " communicators of this rank, which want some ", bufferBytes >> 20,
                     " MiB, may have no room, plan with less memory "
                     "(--max-memory)"));
}

Status NcclGroups::makeNotes(Line &line) {
  void *address = nullptr;
  DTC_CUDA(driver, cuMemAllocHost, &address, sizeof(*line.running));
  line.running = new (address) std::atomic<uint32_t>(0);
  DTC_CUDA(driver, cuMemHostGetDevicePointer, &line.runningOnDevice, address, 0);
  return {};
}

Status NcclGroups::registerArena(Line &line) {
  {
    std::lock_guard lock(watch->mutex);
    if (!arena || !line.comm || line.registration)
      return {};
    DTC_NCCL_CALL(*nccl, ncclCommRegister, line.comm, reinterpret_cast<void *>(arena), arenaBytes,
                  &line.registration);
  }
  return settle(line, "ncclCommRegister");
}

Status NcclGroups::setArena(cu::DevicePtr address, uint64_t bytes) {
  arena = address;
  arenaBytes = bytes;
  for (auto &line : lines)
    DTC_RETURN_IF_ERROR(registerArena(*line));
  return {};
}

Status NcclGroups::copyHere(const Command &command, cu::Stream stream) const {
  const format::Collective *op = command.source->op_as_Collective();
  if (op && command.buffers[0] != command.buffers[1])
    DTC_CUDA(driver, cuMemcpyDtoDAsync, reinterpret_cast<uintptr_t>(command.buffers[1]),
             reinterpret_cast<uintptr_t>(command.buffers[0]),
             op->count() * format::bytesOf(op->dtype()), stream);
  return {};
}

// Exchanges parts with all ranks at once: one after another, they would deadlock.
Status NcclGroups::exchangeAll(const Line &line, const Command &command, cu::Stream stream) {
  const format::Collective &op = *command.source->op_as_Collective();
  uint64_t bytes = op.count() * format::bytesOf(op.dtype());
  DTC_NCCL_CALL(*nccl, ncclGroupStart);
  Status status;
  for (int peer = 0; peer < line.ranks && status.ok(); ++peer) {
    uint64_t offset = static_cast<uint64_t>(peer) * bytes;
    status = cu::check(*nccl, "ncclSend",
                       nccl->ncclSend(command.buffers[0] + offset, op.count(), typeOf(op.dtype()),
                                      peer, line.comm, stream));
    if (status.ok())
      status = cu::check(*nccl, "ncclRecv",
                         nccl->ncclRecv(command.buffers[1] + offset, op.count(), typeOf(op.dtype()),
                                        peer, line.comm, stream));
  }
  Status ended = cu::check(*nccl, "ncclGroupEnd", nccl->ncclGroupEnd());
  return status.ok() ? ended : status;
}

Status NcclGroups::call(const Line &line, const Command &command, cu::Stream stream) {
  if (const format::Transfer *op = command.source->op_as_Transfer()) {
    int peer = 1 - line.position;
    cu::NcclType type = typeOf(op->dtype());
    if (op->kind() == format::TransferKind::send)
      DTC_NCCL_CALL(*nccl, ncclSend, command.buffers[0], op->count(), type, peer, line.comm,
                    stream);
    else
      DTC_NCCL_CALL(*nccl, ncclRecv, command.buffers[0], op->count(), type, peer, line.comm,
                    stream);
    return {};
  }
  const format::Collective &op = *command.source->op_as_Collective();
  const char *src = command.buffers[0];
  char *dst = command.buffers[1];
  cu::NcclType type = typeOf(op.dtype());
  cu::NcclReduction reduction = op.reduce() == format::ReduceKind::max ? cu::ncclMax : cu::ncclSum;
  switch (op.kind()) {
  case format::CollectiveKind::all_reduce:
    DTC_NCCL_CALL(*nccl, ncclAllReduce, src, dst, op.count(), type, reduction, line.comm, stream);
    return {};
  case format::CollectiveKind::all_gather:
    DTC_NCCL_CALL(*nccl, ncclAllGather, src, dst, op.count(), type, line.comm, stream);
    return {};
  case format::CollectiveKind::reduce_scatter:
    DTC_NCCL_CALL(*nccl, ncclReduceScatter, src, dst, op.count(), type, reduction, line.comm,
                  stream);
    return {};
  case format::CollectiveKind::all_to_all:
    return exchangeAll(line, command, stream);
  }
  return Status::internal("a collective of unknown kind passed the verifier");
}

std::string describe(const Command &command, const Line &line) {
  const format::Collective *op = command.source->op_as_Collective();
  const char *kind = op ? format::EnumNameCollectiveKind(op->kind())
                        : format::EnumNameTransferKind(command.source->op_as_Transfer()->kind());
  return text(kind, " over group '", line.name, "'");
}

Status NcclGroups::prepare(const Command &command, int, PreparedCommunication &prepared) {
  const Group &group = groups[static_cast<size_t>(command.group)];
  if (group.ranks == 1) {
    prepared.work = [this, command](cu::Stream on) { return copyHere(command, on); };
    return {};
  }
  const format::Transfer *transfer = command.source->op_as_Transfer();
  bool receives = transfer && transfer->kind() == format::TransferKind::receive;
  Line &line = receives ? *group.receives : *group.line;
  uint32_t number = 0;
  {
    std::lock_guard lock(watch->mutex);
    line.operations.push_back({describe(command, line), 0});
    number = static_cast<uint32_t>(line.operations.size());
  }
  // NCCL demands that all ranks of an operation capture it, or none, so that all ranks of the job
  // decide alike: by the oldest driver, and by the file.
  if (leastDriver < kLeastForGraphs && hasBeside)
    prepared.inGraph = InGraph::Never;
  prepared.announce = [this, &line, number](uint64_t tag) {
    std::lock_guard lock(watch->mutex);
    line.operations[number - 1].tag = tag;
  };
  prepared.work = [this, &line, command, number](cu::Stream on) -> Status {
    DTC_CUDA(driver, cuStreamWriteValue32, on, line.runningOnDevice, number, 0);
    {
      std::lock_guard lock(watch->mutex);
      if (!line.comm)
        return Status::aborted("the device was stopped");
      line.isCalling = true;
      DTC_RETURN_IF_ERROR(call(line, command, on));
    }
    DTC_RETURN_IF_ERROR(settle(line, "NCCL's operation"));
    DTC_CUDA(driver, cuStreamWriteValue32, on, line.runningOnDevice, 0, 0);
    return {};
  };
  return {};
}

} // namespace

std::unique_ptr<CudaGroups> makeNcclGroups(CudaLibraries &libraries, const cu::Driver &driver,
                                           int leastDriver, const NcclWatchOptions &options) {
  return std::make_unique<NcclGroups>(libraries, driver, leastDriver, options);
}

} // namespace dtc::rt

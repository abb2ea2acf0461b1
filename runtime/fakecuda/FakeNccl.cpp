// Stand-in for NCCL between the GPUs of one process. An operation takes its input when it begins on
// the stream and gives its output when all ranks have begun it; in between its input must not
// change, and it holds multiprocessors. Communicators that do not block are in progress for a while
// after each call, as NCCL's may be.
//
// An operation begins after the begin of the one that was enqueued before it on its GPU, whatever
// their communicators; where NCCL cannot keep that order, after its end (getImplicitOrder in NCCL's
// src/enqueue.cc).
#include "runtime/fakecuda/FakeNccl.h"

#include "runtime/base/HalfFloats.h"
#include "runtime/base/Text.h"
#include "runtime/cuda/NcclVersion.h"
#include "runtime/fakecuda/Machine.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace dtc::rt::fake {

using cu::NcclResult;
using format::text;
using Lock = std::unique_lock<std::mutex>;

enum class NcclKind { AllReduce, AllGather, ReduceScatter, Send, Receive };

// The arguments on which all ranks of a collective have to agree.
struct NcclCall {
  NcclKind kind = NcclKind::AllReduce;
  uint64_t count = 0;
  cu::NcclType type = cu::ncclFloat32;
  cu::NcclReduction reduction = cu::ncclSum;

  bool isCaptured = false; // NCCL demands that all ranks of an operation capture it, or none

  bool operator==(const NcclCall &other) const = default;
};

struct NcclCollective {
  NcclCall call;
  std::vector<std::vector<char>> inputs; // index: rank; empty before it has begun
  size_t begun = 0;
};

// Messages from one rank to another, in order.
struct NcclMail {
  std::vector<std::vector<char>> sent;
  std::vector<bool> captured; // index: message
  size_t wanted = 0;          // receives that have begun
};

struct NcclWorld {
  std::vector<int> gpus; // index: rank; -1 before it has joined
  size_t present = 0;
  int firstOfSums = 0; // the rank at which sums begin; NCCL's depend on algorithm and channel
  std::vector<uint64_t> captures;                 // collectives captured so far, by rank
  std::map<uint64_t, NcclCollective> collectives; // key: number
  std::map<std::pair<int, int>, NcclMail> mail;
};

namespace {

struct Communicator {
  std::shared_ptr<NcclWorld> world;
  int rank = 0, ranks = 0, gpu = 0;
  bool blocks = true, aborted = false, destroyed = false, finalized = false;
  uint64_t looks = 0; // queries for which it will still be in progress
  uint64_t collectives = 0;
  std::map<int, size_t> sends, receives;        // number begun, by peer
  std::set<std::pair<NcclKind, int>> connected; // transfers outside of captures, by kind and peer
  int registrations = 0;
  int held = 0;                  // operations in graphs, or in runs of them
  uint32_t multiprocessors = 16; // that an operation holds while it waits
  uint64_t memory = 0;           // bytes of its buffers on the GPU
  // The operation enqueued last: operations run one after another, whatever their streams.
  NodePtr last;
  std::weak_ptr<Capture> capture;
  size_t captured = 0; // its node, if it was captured
};
using CommunicatorPtr = std::shared_ptr<Communicator>;

// A graph's reference to a communicator. In NCCL, too, it ends with the graph.
struct Held {
  explicit Held(CommunicatorPtr of) : comm(std::move(of)) { ++comm->held; }
  ~Held() { --comm->held; }
  Held(const Held &) = delete;
  Held &operator=(const Held &) = delete;

  CommunicatorPtr comm;
};

// One operation, with the arguments of its call; the fields below change with each run.
struct Operation {
  CommunicatorPtr comm;
  NcclCall call;
  const char *src = nullptr;
  char *dst = nullptr;
  int peer = 0;
  uint64_t number = 0; // index of this run among those of its kind
};

// Operations that begin and end together, as one kernel.
struct Operations {
  std::vector<Operation> each;
  bool holds = false; // have begun, and hold multiprocessors
};

CommunicatorPtr &of(cu::NcclComm comm) { return *reinterpret_cast<CommunicatorPtr *>(comm); }

constexpr size_t bytesOfType(cu::NcclType type) {
  return type == cu::ncclFloat16 || type == cu::ncclBfloat16 ? 2
         : type == cu::ncclUint8                             ? 1
         : type == cu::ncclInt64                             ? 8
                                                             : 4;
}

float readFloat(const char *at, cu::NcclType type) {
  float value = 0;
  uint16_t bits = 0;
  if (type == cu::ncclFloat32)
    std::memcpy(&value, at, sizeof(value));
  else
    std::memcpy(&bits, at, sizeof(bits));
  return type == cu::ncclFloat32    ? value
         : type == cu::ncclBfloat16 ? fromBf16(bits)
                                    : fromF16(bits);
}

void writeFloat(char *at, cu::NcclType type, float value) {
  uint16_t bits = type == cu::ncclBfloat16 ? toBf16(value) : toF16(value);
  if (type == cu::ncclFloat32)
    std::memcpy(at, &value, sizeof(value));
  else
    std::memcpy(at, &bits, sizeof(bits));
}

template <typename T> void combineWhole(char *to, const char *from, bool isMax) {
  T a = 0, b = 0;
  std::memcpy(&a, to, sizeof(T));
  std::memcpy(&b, from, sizeof(T));
  a = isMax ? std::max(a, b) : static_cast<T>(a + b);
  std::memcpy(to, &a, sizeof(T));
}

void combine(char *to, const char *from, const NcclCall &call) {
  bool isMax = call.reduction == cu::ncclMax;
  if (call.type == cu::ncclInt32) {
    combineWhole<int32_t>(to, from, isMax);
  } else if (call.type == cu::ncclInt64) {
    combineWhole<int64_t>(to, from, isMax);
  } else if (call.type == cu::ncclUint8) {
    combineWhole<uint8_t>(to, from, isMax);
  } else {
    float a = readFloat(to, call.type), b = readFloat(from, call.type);
    writeFloat(to, call.type, isMax ? std::max(a, b) : a + b);
  }
}

uint64_t inputBytes(const Operation &op) {
  uint64_t bytes = op.call.count * bytesOfType(op.call.type);
  return op.call.kind == NcclKind::ReduceScatter ? bytes * static_cast<uint64_t>(op.comm->ranks)
         : op.call.kind == NcclKind::Receive     ? 0
                                                 : bytes;
}

std::vector<char> resultOf(const Operation &op, const NcclCollective &collective) {
  std::vector<char> result;
  if (op.call.kind == NcclKind::AllGather) {
    for (const std::vector<char> &input : collective.inputs)
      result.insert(result.end(), input.begin(), input.end());
    return result;
  }
  size_t each = bytesOfType(op.call.type), bytes = op.call.count * each;
  size_t offset =
      op.call.kind == NcclKind::ReduceScatter ? bytes * static_cast<size_t>(op.comm->rank) : 0;
  size_t ranks = collective.inputs.size();
  auto start = static_cast<size_t>(op.comm->world->firstOfSums);
  const char *first = collective.inputs[start].data() + offset;
  result.assign(first, first + bytes);
  for (size_t i = 1; i < ranks; ++i)
    for (size_t at = 0; at < bytes; at += each)
      combine(result.data() + at, collective.inputs[(start + i) % ranks].data() + offset + at,
              op.call);
  return result;
}

FakeGpu &gpuOf(const Communicator &comm) { return *machine().gpus[static_cast<size_t>(comm.gpu)]; }
simt::Memory &memoryOf(const Operation &op) { return gpuOf(*op.comm).memory; }

Status begin(Operation &op) {
  Communicator &comm = *op.comm;
  if (comm.aborted)
    return {};
  if (comm.destroyed)
    return Status::internal("an operation of NCCL runs on a communicator that was destroyed");
  std::vector<char> input;
  if (uint64_t bytes = inputBytes(op); bytes > 0) {
    DTC_RETURN_IF_ERROR(memoryOf(op).checkRead(op.src, bytes, "input of a collective"));
    input.assign(op.src, op.src + bytes);
  }
  NcclWorld &world = *comm.world;
  if (op.call.kind == NcclKind::Send) {
    op.number = comm.sends[op.peer]++;
    world.mail[{comm.rank, op.peer}].sent.push_back(std::move(input));
    world.mail[{comm.rank, op.peer}].captured.push_back(op.call.isCaptured);
    return {};
  }
  if (op.call.kind == NcclKind::Receive) {
    op.number = comm.receives[op.peer]++;
    ++world.mail[{op.peer, comm.rank}].wanted;
    return {};
  }
  op.number = comm.collectives++;
  NcclCollective &collective = world.collectives[op.number];
  if (collective.begun == 0) {
    collective.call = op.call;
    collective.inputs.resize(static_cast<size_t>(comm.ranks));
  } else if (collective.call != op.call) {
    return Status::internal(
        text("ranks call different collectives as number ", op.number, " of a communicator"));
  }
  collective.inputs[static_cast<size_t>(comm.rank)] = std::move(input);
  ++collective.begun;
  return {};
}

bool canEnd(const Operation &op) {
  const Communicator &comm = *op.comm;
  if (comm.aborted)
    return true;
  if (op.call.kind == NcclKind::Send)
    return comm.world->mail[{comm.rank, op.peer}].wanted > op.number;
  if (op.call.kind == NcclKind::Receive)
    return comm.world->mail[{op.peer, comm.rank}].sent.size() > op.number;
  return comm.world->collectives[op.number].begun == static_cast<size_t>(comm.ranks);
}

Status checkInputIsTheSame(const Operation &op, const std::vector<char> &taken) {
  DTC_RETURN_IF_ERROR(memoryOf(op).checkRead(op.src, taken.size(), "input of a collective"));
  if (std::memcmp(op.src, taken.data(), taken.size()) != 0)
    return Status::internal("the input of a collective was changed while it ran");
  return {};
}

Status end(const Operation &op) {
  Communicator &comm = *op.comm;
  if (comm.aborted)
    return {};
  if (op.call.kind == NcclKind::Send)
    return checkInputIsTheSame(op, comm.world->mail[{comm.rank, op.peer}].sent[op.number]);
  std::vector<char> result;
  if (op.call.kind == NcclKind::Receive) {
    const NcclMail &mail = comm.world->mail[{op.peer, comm.rank}];
    if (mail.captured[op.number] != op.call.isCaptured)
      return Status::internal("one rank of a transfer has captured it and the other has not");
    result = mail.sent[op.number];
    if (result.size() != op.call.count * bytesOfType(op.call.type))
      return Status::internal(
          text("rank ", comm.rank, " receives another number of bytes than was sent"));
  } else {
    const NcclCollective &collective = comm.world->collectives[op.number];
    DTC_RETURN_IF_ERROR(checkInputIsTheSame(op, collective.inputs[static_cast<size_t>(comm.rank)]));
    result = resultOf(op, collective);
  }
  DTC_RETURN_IF_ERROR(memoryOf(op).checkWrite(op.dst, result.size(), "output of a collective"));
  std::memcpy(op.dst, result.data(), result.size());
  return memoryOf(op).markWritten(op.dst, result.size());
}

// The calls between ncclGroupStart and ncclGroupEnd.
struct OpenGroup {
  int depth = 0;
  std::vector<Operation> operations;
  std::vector<FakeStream *> streams;
  std::vector<CommunicatorPtr *> aborted;
};
thread_local OpenGroup openGroup;

// Notes the first transfer between two ranks. In NCCL it makes their hosts wait for each other,
// which is no part of a graph: ranks that record in different orders would deadlock. Returns false
// for such a transfer in a capture.
bool connect(const Machine &m, const FakeStream &stream, const std::vector<Operation> &operations) {
  for (const Operation &op : operations) {
    if (op.call.kind != NcclKind::Send && op.call.kind != NcclKind::Receive) {
      if (stream.capture && m.variable("NCCL_RUNTIME_CONNECT") != "0")
        return false; // collectives connect at their first call, too
      continue;
    }
    std::pair<NcclKind, int> direction{op.call.kind, op.peer};
    if (!stream.capture)
      op.comm->connected.insert(direction);
    else if (op.peer != op.comm->rank && op.comm->connected.count(direction) == 0)
      return false;
  }
  return true;
}

// Returns true if operations of a GPU run one after another, whatever their communicators.
bool isSerial(const Machine &m, bool captures) {
  constexpr int streams = 12030, graphs = 12090; // CUDA versions that order launches
  int cuda = std::min(m.options.driverVersion, m.options.ncclToolkit);
  return cuda < streams ||
         (captures && (m.options.driverVersion < graphs || m.options.ncclVersion < cu::leastNccl));
}

// Enqueues operations that begin and end together.
NcclResult enqueue(Machine &m, FakeStream &stream, std::vector<Operation> operations) {
  Communicator &comm = *operations.front().comm;
  if (!connect(m, stream, operations))
    return cu::ncclInvalidUsage;
  Capture *capture = stream.capture.get();
  for (Operation &op : operations)
    op.call.isCaptured = capture != nullptr;
  auto all = std::make_shared<Operations>();
  all->each = std::move(operations);
  FakeGpu &gpu = gpuOf(comm);
  uint32_t blocks = comm.multiprocessors;
  Result result = m.push(
      stream,
      [&gpu, blocks, all]() -> Status {
        all->holds = !all->each.front().comm->aborted;
        gpu.held += all->holds ? blocks : 0;
        for (Operation &op : all->each)
          DTC_RETURN_IF_ERROR(begin(op));
        return {};
      },
      [&m, &gpu, blocks, all] {
        return all->each.front().comm->aborted || m.hasRoom(gpu, blocks);
      });
  if (result != cu::success)
    return cu::ncclUnhandledCudaError;
  bool serial = isSerial(m, capture != nullptr);
  bool isOrdered = serial || m.variable("NCCL_LAUNCH_ORDER_IMPLICIT") == "1";
  if (capture) {
    std::vector<size_t> &after = capture->nodes.back().after;
    if (comm.capture.lock() == stream.capture)
      after.push_back(comm.captured);
    if (auto before = capture->operations.find(comm.gpu);
        isOrdered && before != capture->operations.end())
      after.push_back(serial ? before->second.second : before->second.first);
    capture->operations[comm.gpu] = {capture->nodes.size() - 1, capture->nodes.size()};
  } else {
    if (comm.last)
      stream.last->after.push_back(comm.last);
    if (const NodePtr &before = serial ? gpu.ended : gpu.began; isOrdered && before)
      stream.last->after.push_back(before);
    gpu.began = stream.last;
  }
  result = m.push(
      stream,
      [&gpu, blocks, all]() -> Status {
        gpu.held -= std::exchange(all->holds, false) ? blocks : 0;
        for (const Operation &op : all->each)
          DTC_RETURN_IF_ERROR(end(op));
        return {};
      },
      [all] { return std::all_of(all->each.begin(), all->each.end(), canEnd); });
  if (capture && result == cu::success)
    capture->nodes.back().held = std::make_shared<Held>(all->each.front().comm);
  if (!capture)
    gpu.ended = stream.last;
  if (const NcclKind kind = all->each.front().call.kind;
      capture && kind != NcclKind::Send && kind != NcclKind::Receive)
    ++comm.world->captures[static_cast<size_t>(comm.rank)];
  comm.capture = stream.capture;
  comm.captured = capture ? capture->nodes.size() - 1 : 0;
  if (!capture)
    comm.last = stream.last;
  return result == cu::success ? cu::ncclSuccess : cu::ncclUnhandledCudaError;
}

NcclResult done(Machine &m, Communicator &comm) {
  comm.looks = comm.blocks ? 0 : m.draw(3);
  return comm.looks > 0 ? cu::ncclInProgress : cu::ncclSuccess;
}

NcclResult call(cu::NcclComm handle, const NcclCall &what, const void *src, void *dst, int peer,
                cu::Stream stream) {
  Machine &m = machine();
  Lock lock(m.mutex);
  if (m.enter() != cu::success)
    return cu::ncclUnhandledCudaError;
  const CommunicatorPtr &comm = of(handle);
  auto &on = *reinterpret_cast<FakeStream *>(stream);
  if (comm->looks > 0 || comm->aborted || comm->finalized || on.gpu != comm->gpu)
    return cu::ncclInvalidArgument; // the previous call has to be awaited first
  if (peer < 0 || peer >= comm->ranks)
    return cu::ncclInvalidArgument;
  Operation op{comm, what, static_cast<const char *>(src), static_cast<char *>(dst), peer, 0};
  if (openGroup.depth > 0) {
    openGroup.operations.push_back(op);
    openGroup.streams.push_back(&on);
    return cu::ncclSuccess;
  }
  NcclResult result = enqueue(m, on, {op});
  return result == cu::ncclSuccess ? done(m, *comm) : result;
}

NcclResult ncclGetVersion(int *version) {
  *version = machine().options.ncclVersion;
  return cu::ncclSuccess;
}

const char *ncclGetErrorString(NcclResult result) {
  return result == cu::ncclInvalidArgument      ? "invalid argument (run with NCCL_DEBUG=WARN for "
                                                  "details)"
         : result == cu::ncclInvalidUsage       ? "invalid usage (run with NCCL_DEBUG=WARN for "
                                                  "details)"
         : result == cu::ncclUnhandledCudaError ? "unhandled cuda error (run with "
                                                  "NCCL_DEBUG=INFO for details)"
                                                : "internal error";
}

const char *ncclGetLastError(cu::NcclComm) { return ""; }

NcclResult ncclGetUniqueId(cu::NcclId *id) {
  Machine &m = machine();
  Lock lock(m.mutex);
  if (m.enter(false) != cu::success)
    return cu::ncclUnhandledCudaError;
  uint64_t number = m.ncclWorlds.size() + 1;
  m.ncclWorlds[number] = std::make_shared<NcclWorld>();
  *id = {};
  std::memcpy(id->bytes, &number, sizeof(number));
  return cu::ncclSuccess;
}

// Reads a configuration as NCCL does: the bytes that it says it has, and defaults for the rest.
// Returns false for values that no version takes.
bool read(const Machine &m, const cu::NcclConfig &given, cu::NcclConfig &config) {
  int version = m.options.ncclVersion;
  size_t known = version < 22800 ? 72 : version < 22900 ? 80 : 88; // bytes, by NCCL's headers
  std::memset(static_cast<void *>(&config), 0xee, sizeof(config));
  if (given.magic != 0xcafebeef || given.bytes > known ||
      given.version != static_cast<unsigned>(version))
    return false;
  std::memcpy(static_cast<void *>(&config), &given, given.bytes);
  bool isSane = config.name != nullptr && config.trafficClass == cu::ncclUnsetInt &&
                config.nvlsBlocks == cu::ncclUnsetInt &&
                (config.mostBlocks == cu::ncclUnsetInt || config.mostBlocks > 0);
  return isSane && (known < sizeof(config) || config.graphUsage == 1);
}

NcclResult ncclCommInitRankConfig(cu::NcclComm *made, int ranks, cu::NcclId id, int rank,
                                  cu::NcclConfig *given) {
  Machine &m = machine();
  Lock lock(m.mutex);
  if (m.enter(false) != cu::success)
    return cu::ncclUnhandledCudaError;
  uint64_t number = 0;
  std::memcpy(&number, id.bytes, sizeof(number));
  auto found = m.ncclWorlds.find(number);
  cu::NcclConfig config;
  if (found == m.ncclWorlds.end() || rank < 0 || rank >= ranks || !read(m, *given, config))
    return cu::ncclInvalidArgument;
  NcclWorld &world = *found->second;
  world.gpus.resize(static_cast<size_t>(ranks), -1);
  world.captures.resize(static_cast<size_t>(ranks));
  int gpu = Machine::currentGpu;
  bool isTaken = std::find(world.gpus.begin(), world.gpus.end(), gpu) != world.gpus.end();
  bool mayShare = m.options.ncclVersion >= cu::leastNcclForSharedGpus &&
                  m.variable("NCCL_MULTI_RANK_GPU_ENABLE") == "1" &&
                  m.variable("NCCL_NVLS_ENABLE") == "0" && m.options.apart;
  if (isTaken || (m.options.oneGpu && !mayShare))
    return cu::ncclInvalidUsage; // duplicate GPU
  // A connection takes 10 MiB a channel of the receiver.
  constexpr uint64_t connection = uint64_t(10) << 20;
  constexpr uint32_t mostChannels = 16;
  uint32_t channels = config.mostBlocks == cu::ncclUnsetInt
                          ? mostChannels
                          : std::min(static_cast<uint32_t>(config.mostBlocks), mostChannels);
  uint64_t memory = channels * connection * static_cast<uint64_t>(ranks - 1);
  FakeGpu &on = *m.gpus[static_cast<size_t>(gpu)];
  if (on.used + memory > m.options.memoryBytes)
    return cu::ncclUnhandledCudaError;
  on.used += memory;
  world.gpus[static_cast<size_t>(rank)] = gpu;
  if (world.present++ == 0)
    world.firstOfSums = static_cast<int>(m.draw(static_cast<uint64_t>(ranks)));
  auto comm = std::make_shared<Communicator>();
  comm->world = found->second;
  comm->rank = rank;
  comm->ranks = ranks;
  comm->gpu = gpu;
  comm->multiprocessors = channels;
  comm->memory = memory;
  comm->blocks = config.blocking != 0;
  if (comm->blocks)
    return cu::ncclInvalidUsage; // would wait here for ranks that may be in the same thread
  ++m.alive["communicator"];
  *made = reinterpret_cast<cu::NcclComm>(new CommunicatorPtr(comm));
  comm->looks = 1 + m.draw(3);
  return cu::ncclInProgress;
}

NcclResult ncclCommGetAsyncError(cu::NcclComm handle, NcclResult *state) {
  Machine &m = machine();
  Lock lock(m.mutex);
  if (m.enter() != cu::success)
    return cu::ncclUnhandledCudaError;
  Communicator &comm = *of(handle);
  if (comm.world->present < static_cast<size_t>(comm.ranks)) {
    *state = cu::ncclInProgress;
    return cu::ncclSuccess;
  }
  *state = comm.looks > 0 ? cu::ncclInProgress : cu::ncclSuccess;
  comm.looks -= comm.looks > 0 ? 1 : 0;
  const std::vector<uint64_t> &captures = comm.world->captures;
  if (m.options.nvls && *std::min_element(captures.begin(), captures.end()) <
                            captures[static_cast<size_t>(comm.rank)])
    *state = cu::ncclInProgress;
  if (comm.finalized && comm.held > 0)
    *state = cu::ncclInProgress;
  return cu::ncclSuccess;
}

NcclResult ncclCommFinalize(cu::NcclComm handle) {
  Machine &m = machine();
  Lock lock(m.mutex);
  if (m.enter(false) != cu::success)
    return cu::ncclUnhandledCudaError;
  Communicator &comm = *of(handle);
  if (comm.looks > 0 || comm.finalized)
    return cu::ncclInvalidArgument;
  comm.finalized = true;
  return done(m, comm);
}

// Waits, as NCCL does, until no graph has operations of the communicators, and until their running
// operations are over.
void awaitAborted(Machine &m, Lock &lock, const std::vector<CommunicatorPtr *> &aborted) {
  if (aborted.empty())
    return;
  ++m.stuck;
  m.runUntil(lock, [&] {
    bool isFree = std::all_of(aborted.begin(), aborted.end(),
                              [](const CommunicatorPtr *owned) { return (*owned)->held == 0; });
    return m.isEnding || (isFree && !m.options.endlessAborts);
  });
  --m.stuck;
  for (CommunicatorPtr *owned : aborted)
    delete owned;
}

// Ends a communicator that nobody uses any more.
NcclResult end(cu::NcclComm handle, bool aborts) {
  Machine &m = machine();
  Lock lock(m.mutex);
  Result entered = m.enterFree();
  CommunicatorPtr *owned = &of(handle);
  Communicator &comm = **owned;
  (aborts ? comm.aborted : comm.destroyed) = !m.options.endlessAborts;
  gpuOf(comm).used -= std::exchange(comm.memory, 0);
  if (aborts)
    m.alive["registration"] -= std::exchange(comm.registrations, 0);
  --m.alive["communicator"];
  if (aborts && m.fault != cu::success)
    ++m.alive["abort after a fault"];
  // Operations behind one that is given up run before the next communicator is aborted.
  constexpr uint64_t mostRunBetween = 12;
  for (uint64_t left = aborts ? m.draw(mostRunBetween) : 0; left > 0 && m.runOne(); --left) {
  }
  bool isFine = aborts || (comm.finalized && comm.registrations == 0 && comm.held == 0);
  if (!aborts)
    delete owned;
  else if (openGroup.depth > 0)
    openGroup.aborted.push_back(owned);
  else
    awaitAborted(m, lock, {owned});
  return entered != cu::success ? cu::ncclUnhandledCudaError
         : isFine               ? cu::ncclSuccess
                                : cu::ncclInvalidUsage;
}

NcclResult ncclCommDestroy(cu::NcclComm handle) { return end(handle, false); }
NcclResult ncclCommAbort(cu::NcclComm handle) { return end(handle, true); }

NcclResult ncclCommRegister(cu::NcclComm handle, void *buffer, size_t bytes, void **registration) {
  Machine &m = machine();
  Lock lock(m.mutex);
  if (m.enter(false) != cu::success)
    return cu::ncclUnhandledCudaError;
  Communicator &comm = *of(handle);
  simt::Memory &memory = m.gpus[static_cast<size_t>(comm.gpu)]->memory;
  if (comm.looks > 0 || !memory.checkWrite(buffer, bytes, "registration").ok())
    return cu::ncclInvalidArgument;
  ++comm.registrations;
  ++m.alive["registration"];
  *registration = buffer;
  return done(m, comm);
}

NcclResult ncclCommDeregister(cu::NcclComm handle, void *registration) {
  Machine &m = machine();
  Lock lock(m.mutex);
  if (m.enterFree() != cu::success)
    return cu::ncclUnhandledCudaError;
  Communicator &comm = *of(handle);
  simt::Memory &memory = m.gpus[static_cast<size_t>(comm.gpu)]->memory;
  if (comm.registrations == 0 || !memory.checkWrite(registration, 1, "registration").ok())
    return cu::ncclInvalidArgument;
  --comm.registrations;
  --m.alive["registration"];
  return cu::ncclSuccess;
}

NcclResult ncclAllReduce(const void *src, void *dst, size_t count, cu::NcclType type,
                         cu::NcclReduction reduction, cu::NcclComm comm, cu::Stream stream) {
  return call(comm, {NcclKind::AllReduce, count, type, reduction}, src, dst, 0, stream);
}

NcclResult ncclAllGather(const void *src, void *dst, size_t count, cu::NcclType type,
                         cu::NcclComm comm, cu::Stream stream) {
  return call(comm, {NcclKind::AllGather, count, type, cu::ncclSum}, src, dst, 0, stream);
}

NcclResult ncclReduceScatter(const void *src, void *dst, size_t count, cu::NcclType type,
                             cu::NcclReduction reduction, cu::NcclComm comm, cu::Stream stream) {
  return call(comm, {NcclKind::ReduceScatter, count, type, reduction}, src, dst, 0, stream);
}

NcclResult ncclSend(const void *src, size_t count, cu::NcclType type, int peer, cu::NcclComm comm,
                    cu::Stream stream) {
  return call(comm, {NcclKind::Send, count, type, cu::ncclSum}, src, nullptr, peer, stream);
}

NcclResult ncclRecv(void *dst, size_t count, cu::NcclType type, int peer, cu::NcclComm comm,
                    cu::Stream stream) {
  return call(comm, {NcclKind::Receive, count, type, cu::ncclSum}, nullptr, dst, peer, stream);
}

NcclResult ncclGroupStart() { // nothing in it can fail
  ++openGroup.depth;
  return cu::ncclSuccess;
}

// Ends a group. All operations of a communicator in a group have to be on one stream here.
NcclResult ncclGroupEnd() {
  Machine &m = machine();
  Lock lock(m.mutex);
  if (openGroup.depth == 0)
    return cu::ncclInvalidUsage;
  OpenGroup closed;
  if (--openGroup.depth == 0)
    std::swap(closed, openGroup);
  awaitAborted(m, lock, closed.aborted);
  if (m.enter() != cu::success)
    return cu::ncclUnhandledCudaError;
  if (closed.operations.empty())
    return cu::ncclSuccess;
  struct Part {
    CommunicatorPtr comm;
    FakeStream *stream = nullptr;
    std::vector<Operation> operations;
  };
  std::vector<Part> parts; // one per communicator
  for (size_t i = 0; i < closed.operations.size(); ++i) {
    const Operation &op = closed.operations[i];
    auto part = std::find_if(parts.begin(), parts.end(),
                             [&](const Part &each) { return each.comm == op.comm; });
    if (part == parts.end())
      part = parts.insert(part, {op.comm, closed.streams[i], {}});
    if (part->stream != closed.streams[i])
      return cu::ncclInvalidUsage;
    part->operations.push_back(op);
  }
  NcclResult state = cu::ncclSuccess;
  for (Part &part : parts) {
    NcclResult result = enqueue(m, *part.stream, std::move(part.operations));
    if (result != cu::ncclSuccess)
      return result;
    if (NcclResult each = done(m, *part.comm); each != cu::ncclSuccess)
      state = each;
  }
  return state;
}

} // namespace

void fillNccl(cu::Nccl &nccl) {
#define DTC_NCCL(name, result, parameters) nccl.name = name;
#include "runtime/cuda/Nccl.def"
#undef DTC_NCCL
}

} // namespace dtc::rt::fake

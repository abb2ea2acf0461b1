#include "runtime/cuda/CudaDevice.h"

#include "runtime/base/HalfFloats.h"
#include "runtime/base/Text.h"
#include "runtime/cuda/ChooseGroups.h"
#include "runtime/cuda/CudaArena.h"
#include "runtime/cuda/CudaGemm.h"
#include "runtime/cuda/CudaOrder.h"
#include "runtime/cuda/CudaSteps.h"
#include "runtime/cuda/CudnnChoices.h"
#include "runtime/cuda/Gpu.h"
#include "runtime/cuda/HostArena.h"
#include "runtime/cuda/HostWork.h"
#include "runtime/cuda/PinnedStage.h"
#include "runtime/device/CpuFeatures.h"
#include "runtime/format/Instructions.h"
#include "runtime/format/Operands.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>

namespace dtc::rt {
namespace {

using format::text;

cu::DevicePtr addressOf(const char *pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// Hashes everything that decides what a command does.
class Hash {
public:
  Hash &add(uint64_t value) {
    bits = (bits ^ value) * 0x9e3779b97f4a7c15;
    bits ^= bits >> 29;
    return *this;
  }
  Hash &add(const void *pointer) { return add(reinterpret_cast<uintptr_t>(pointer)); }
  Hash &add(const Command &command) {
    add(command.source).add(command.startsSum ? 1 : 0).add(command.bytes);
    for (const char *buffer : command.buffers)
      add(buffer);
    for (int64_t scalar : command.scalars)
      add(static_cast<uint64_t>(scalar));
    return *this;
  }
  uint64_t value() const { return bits; }

private:
  uint64_t bits = 1;
};

enum HashKind : uint64_t { kRun, kRecord, kWait, kCopy, kReadBack };

class CudaDevice : public Device {
public:
  CudaDevice(CudaLibraries &libraries, const cu::Driver &driver, const CudaOptions &options)
      : libraries(libraries), driver(driver), options(options), gpu(this->driver),
        arenaMemory(this->driver), stage(this->driver, options.stageBytes), code(this->driver),
        pool(this->driver), gemm(std::make_unique<CudaGemm>(libraries, this->driver, pool)),
        cudnn(std::make_unique<CudnnChoices>(libraries, this->driver, pool, code)),
        steps(this->driver, pool), hostArena(this->driver),
        hostWork(this->driver, std::max(options.threads, 1),
                 [this](const Status &status, uint64_t tag) { stop(status, tag); }) {}
  ~CudaDevice() override;

  Status open() { return gpu.open(options.localRank); }

  Status checkTarget(const Target &target) override;
  Status loadCode(const CodeObject &object) override;
  Status findSymbol(int object, const KernelSpec &kernel, int &symbol) override;
  Status allocateArena(format::MemorySpace space, uint64_t bytes) override;
  char *arena(format::MemorySpace space) override {
    return space == format::MemorySpace::device ? reinterpret_cast<char *>(memory)
                                                : hostArena.begin();
  }
  Status allocateHost(uint64_t bytes, char *&address) override;
  Status copyIn(char *to, const void *from, uint64_t bytes) override;
  Status copyOut(void *to, const char *from, uint64_t bytes) override;
  Status createStreams(const StreamSpec &spec) override;
  Status createGroup(Control &control, const GroupSpec &spec, int &group) override;

  Status tune(Control &control, const CommandSource &commands) override;

  Status beginStep(uint32_t order) override;
  Status enqueue(int stream, const Command &command, const Mark &mark) override;
  Status enqueueRecord(int stream, int event, const Mark &mark) override;
  Status enqueueWait(int stream, int event, const Mark &mark) override;
  Status enqueueCopyIn(int stream, char *to, const char *from, uint64_t bytes,
                       const Mark &mark) override;
  Status enqueueCopyOut(int stream, char *to, const char *from, uint64_t bytes,
                        const Mark &mark) override;
  Status enqueueReadBack(int stream, char *to, const char *from, uint64_t bytes,
                         const Mark &mark) override;
  Status endStep(const Mark &mark, uint64_t &step) override;
  bool isDone(uint64_t step) override;
  Status synchronize(uint64_t step, uint64_t &tag) override;
  void abort() override { stop(Status::aborted("the device was stopped"), 0); }

private:
  // The phases of a step: copies of its inputs, its order, copies of its outputs.
  enum class Phase { Inputs, Body, Outputs };

  Status prepare(int stream, const Command &command, std::vector<OrderItem> &items);
  Status prepareOnDevice(const Command &command, int stream, std::vector<StreamWork> &works);
  // Calls `part` of an enqueue function unless the device has stopped; an error of `part` stops it.
  template <typename Part> Status say(const Mark &mark, const Part &part);
  // Makes the items of a command, unless they are recorded already, and adds them to the step.
  template <typename Make> Status add(uint64_t hash, const Mark &mark, const Make &make);
  Status enterBody(const Mark &mark);
  Status leaveBody(const Mark &mark);
  Status runNow(const std::vector<OrderItem> &items, const Mark &mark);
  cu::Stream streamOf(int stream) const { return streams[static_cast<size_t>(stream)]; }

  // Returns the least bytes of a copy for which pinned memory is worthwhile.
  uint64_t leastStaged() const { return std::max<uint64_t>(options.stageBytes / 64, 1); }
  Status makeGroups(Control &control);
  Status fillArena();
  Status clearArena();
  // Records the first error, which is the cause of the following ones, and ends operations that
  // wait for other ranks.
  void stop(const Status &status, uint64_t tag);
  Status failureNow(uint64_t &tag);
  // Called after a failure: nothing waits for other ranks any more.
  void endGroups();

  CudaLibraries &libraries;
  cu::Driver driver;
  CudaOptions options;
  Gpu gpu;
  CudaArena arenaMemory;
  cu::DevicePtr memory = 0; // the address of arenaMemory
  uint64_t memoryBytes = 0;
  std::vector<void *> hostMemory;
  PinnedStage stage;
  CudaCode code;
  EventPool pool;
  std::unique_ptr<CudaGemm> gemm;
  std::unique_ptr<CudnnChoices> cudnn;
  CudaSteps steps;
  HostArena hostArena;
  HostWork hostWork;
  // By number of the device's object: true if the host runs it, and its number there.
  struct Placed {
    bool isHosts = false;
    int number = 0;
  };
  std::vector<Placed> objects;
  std::unique_ptr<CudaGroups> groups; // null until the first one is created
  std::vector<cu::Stream> streams;    // null for an unused stream
  std::vector<cu::Event> events;
  bool records = true; // records orders, as graphs if possible
  const Nvtx *nvtx = Nvtx::find();

  std::map<uint32_t, std::unique_ptr<CudaOrder>> orders;
  std::vector<std::unique_ptr<LaunchTables>> launchTables; // tables of orders, which they outlive
  const char *orderName = "";
  CudaOrder *order = nullptr; // the order of the step that is being enqueued
  Phase phase = Phase::Inputs;
  uint64_t begunSteps = 0;
  std::vector<uint64_t> recordedIn; // per event: the last step that recorded it, 0 for none

  std::mutex mutex;                // guards the following fields
  CudaGroups *stoppable = nullptr; // groups, once they exist
  Status failure;
  uint64_t failedTag = 0;
};

// Waits for the GPU before it frees anything that the GPU still uses.
CudaDevice::~CudaDevice() {
  gpu.enter();
  if (steps.numDone() < steps.numBegun())
    abort();
  endGroups();
  (void)driver.cuCtxSynchronize();
  if (groups)
    groups->close();
  orders.clear();
  launchTables.clear();
  groups.reset();
  for (cu::Event event : events)
    (void)driver.cuEventDestroy(event);
  for (cu::Stream stream : streams)
    if (stream)
      (void)driver.cuStreamDestroy(stream);
  for (void *host : hostMemory)
    (void)driver.cuMemFreeHost(host);
}

Status CudaDevice::checkTarget(const Target &target) {
  if (target.device != libraries.device())
    return Status::invalidArgument(text("the program is compiled for device '", target.device,
                                        "' and was to run on device '", libraries.device(),
                                        "'; recompile with dtc"));
  DTC_RETURN_IF_ERROR(checkCpuFeatures(target.cpuFeatures));
  return gpu.checkArch(target.gpuArch);
}

Status CudaDevice::loadCode(const CodeObject &object) {
  bool isHosts = object.kind == format::SegmentKind::code;
  DTC_RETURN_IF_ERROR(isHosts ? hostWork.load(object) : code.load(object));
  auto before = std::count_if(objects.begin(), objects.end(),
                              [&](const Placed &each) { return each.isHosts == isHosts; });
  objects.push_back({isHosts, static_cast<int>(before)});
  return {};
}

// Finds a symbol. The host and the GPU number their symbols separately; a command's buffers tell
// which one runs it.
Status CudaDevice::findSymbol(int object, const KernelSpec &kernel, int &symbol) {
  const Placed &of = objects[static_cast<size_t>(object)];
  return of.isHosts ? hostWork.findSymbol(of.number, kernel, symbol)
                    : code.findSymbol(of.number, kernel, symbol);
}

Status CudaDevice::allocateArena(format::MemorySpace space, uint64_t bytes) {
  if (space == format::MemorySpace::host)
    return hostArena.allocate(bytes);
  uint64_t size = std::max<uint64_t>(bytes, 1);
  Status status = arenaMemory.allocate(gpu.id(), size);
  if (status.statusCode() == StatusCode::ResourceExhausted) {
    size_t unused = 0, total = 0;
    DTC_CUDA(driver, cuMemGetInfo, &unused, &total);
    return Status::resourceExhausted(
        text("the arena of ", bytes, " bytes cannot be had from ", gpu.name(), ", which has ",
             unused, " of ", total,
             " bytes left; compile for more ranks or a smaller batch, or stop what else uses it"));
  }
  DTC_RETURN_IF_ERROR(status);
  memory = arenaMemory.address();
  memoryBytes = size;
  DTC_RETURN_IF_ERROR(clearArena());
  return groups ? groups->setArena(memory, memoryBytes) : Status();
}

Status CudaDevice::clearArena() {
  DTC_CUDA(driver, cuMemsetD8, memory, 0, memoryBytes);
  // streams that are created later do not wait for the default stream
  DTC_CUDA(driver, cuCtxSynchronize);
  return {};
}

// Fills the arena with numbers between -1 and 1 in bf16, which are numbers in f32 and f16 too.
// Matrix products of zeros take less power, and so run at a higher clock than realistic ones.
Status CudaDevice::fillArena() {
  // 16 bytes times a prime number: copies handle multiples of 16 bytes well, and no two rows of a
  // tensor are equal.
  constexpr uint64_t mostNumbers = 8 * 65521;
  std::vector<uint16_t> numbers(std::min<uint64_t>(memoryBytes / 2, mostNumbers));
  uint32_t random = 1;
  for (uint16_t &number : numbers) {
    random = random * 1664525 + 1013904223;
    number = toBf16(static_cast<float>(static_cast<int32_t>(random)) * 0x1p-31f);
  }
  uint64_t filled = 2 * numbers.size();
  DTC_RETURN_IF_ERROR(copyIn(reinterpret_cast<char *>(memory), numbers.data(), filled));
  for (uint64_t bytes = 0; filled > 0 && filled < memoryBytes; filled += bytes) {
    bytes = std::min(filled, memoryBytes - filled);
    DTC_CUDA(driver, cuMemcpyDtoDAsync, memory + filled, memory, bytes, streams[0]);
  }
  DTC_CUDA(driver, cuCtxSynchronize);
  return {};
}

Status CudaDevice::tune(Control &control, const CommandSource &commands) {
  TuningContext context{.stream = streams[0],
                        .device = gpu.model(),
                        .capability = gpu.computeCapability(),
                        .saves = options.localRank == 0,
                        .fill = [this] { return fillArena(); },
                        .clear = [this] { return clearArena(); }};
  std::string notice;
  DTC_RETURN_IF_ERROR(tuneAll(control, {cudnn.get(), gemm.get()}, driver, commands, options.tuning,
                              context, notice));
  if (!notice.empty() && options.notice && control.rank() == 0)
    options.notice(notice);
  return {};
}

Status CudaDevice::makeGroups(Control &control) {
  GroupsRequest request{
      .libraries = libraries,
      .driver = driver,
      .gpu = gpu,
      .world = options.world,
      .watch = {.timeoutSeconds = options.timeoutSeconds,
                .abortSeconds = options.abortSeconds,
                .failed = [this](const Status &status, uint64_t tag) { stop(status, tag); }}};
  std::unique_ptr<CudaGroups> made;
  std::string notice;
  DTC_RETURN_IF_ERROR(chooseGroups(control, request, made, notice));
  std::vector<std::string> messages = libraries.takeMessages();
  if (!notice.empty())
    messages.push_back(notice);
  if (options.notice && control.rank() == 0)
    std::for_each(messages.begin(), messages.end(), options.notice);
  if (memory)
    DTC_RETURN_IF_ERROR(made->setArena(memory, memoryBytes));
  groups = std::move(made);
  std::lock_guard lock(mutex);
  stoppable = groups.get();
  if (!failure.ok())
    stoppable->stop();
  return {};
}

Status CudaDevice::createGroup(Control &control, const GroupSpec &spec, int &group) {
  if (!groups)
    DTC_RETURN_IF_ERROR(makeGroups(control));
  Status status = groups->create(control, spec, group);
  if (!status.ok()) // others of the group may still wait for other ranks
    stop(status, ~uint64_t(0));
  return status;
}

Status CudaDevice::allocateHost(uint64_t bytes, char *&address) {
  void *host = nullptr;
  DTC_CUDA(driver, cuMemAllocHost, &host, std::max<uint64_t>(bytes, 1));
  hostMemory.push_back(host);
  std::memset(host, 0, bytes);
  address = static_cast<char *>(host);
  return {};
}

// The call may return before the last bytes have arrived, and streams do not wait for it.
Status CudaDevice::copyIn(char *to, const void *from, uint64_t bytes) {
  if (bytes == 0)
    return {};
  if (hostArena.has(to)) {
    std::memcpy(to, from, bytes);
    return {};
  }
  if (bytes >= leastStaged())
    return stage.copyIn(addressOf(to), static_cast<const char *>(from), bytes);
  DTC_CUDA(driver, cuMemcpyHtoD, addressOf(to), from, bytes);
  DTC_CUDA(driver, cuCtxSynchronize);
  return {};
}

Status CudaDevice::copyOut(void *to, const char *from, uint64_t bytes) {
  if (bytes > 0 && hostArena.has(from)) {
    std::memcpy(to, from, bytes);
    return {};
  }
  if (bytes >= leastStaged())
    return stage.copyOut(static_cast<char *>(to), addressOf(from), bytes);
  if (bytes > 0)
    DTC_CUDA(driver, cuMemcpyDtoH, to, addressOf(from), bytes);
  return {};
}

// Gives communication a higher priority than compute.
Status CudaDevice::createStreams(const StreamSpec &spec) {
  records = options.graphs && !spec.times;
  for (size_t i = 0; i < spec.used.size(); ++i) {
    streams.push_back(nullptr);
    if (spec.used[i])
      DTC_CUDA(driver, cuStreamCreateWithPriority, &streams[i], cu::streamNonBlocking,
               i == 0 ? 0 : -1);
  }
  for (int i = 0; i < spec.events; ++i) {
    cu::Event event = nullptr;
    DTC_CUDA(driver, cuEventCreate, &event, cu::eventDisableTiming);
    events.push_back(event);
  }
  recordedIn.assign(events.size(), 0);
  return steps.start(streams[0]);
}

Status CudaDevice::beginStep(uint32_t number) {
  uint64_t tag = 0;
  DTC_RETURN_IF_ERROR(failureNow(tag));
  std::unique_ptr<CudaOrder> &found = orders[number];
  if (!found)
    found = std::make_unique<CudaOrder>(driver, steps, launchTables, nvtx);
  order = found.get();
  orderName = format::EnumNameEntryKind(static_cast<format::EntryKind>(number));
  order->begin();
  phase = Phase::Inputs;
  ++begunSteps;
  return {};
}

Status CudaDevice::enterBody(const Mark &mark) {
  if (phase != Phase::Inputs)
    return {};
  phase = Phase::Body;
  return steps.begin(streams[0], mark.times);
}

Status CudaDevice::leaveBody(const Mark &mark) {
  DTC_RETURN_IF_ERROR(enterBody({}));
  if (phase != Phase::Body)
    return {};
  phase = Phase::Outputs;
  uint64_t tag = mark.tag;
  Nvtx::Range range(nvtx, orderName);
  Status status = order->launch(streams, records, tag);
  if (!status.ok())
    stop(status, tag);
  return status;
}

// Runs the items of a step outside of its order.
Status CudaDevice::runNow(const std::vector<OrderItem> &items, const Mark &mark) {
  for (const OrderItem &item : items) {
    if (item.announce)
      item.announce(mark.tag);
    DTC_RETURN_IF_ERROR(item.work(streamOf(item.stream)));
  }
  return {};
}

// Stops the device after an error: the order is incomplete, so that nothing may follow.
template <typename Part> Status CudaDevice::say(const Mark &mark, const Part &part) {
  uint64_t tag = 0;
  DTC_RETURN_IF_ERROR(failureNow(tag));
  Status status = part();
  if (!status.ok())
    stop(status, mark.tag);
  return status;
}

template <typename Make> Status CudaDevice::add(uint64_t hash, const Mark &mark, const Make &make) {
  bool isFirst = phase == Phase::Inputs;
  DTC_RETURN_IF_ERROR(enterBody(mark));
  if (mark.times && !isFirst)
    *mark.times = {};
  // the step has the times of its first command
  Mark own = isFirst ? Mark{mark.tag, nullptr} : mark;
  if (phase == Phase::Body && order->isKnown())
    return order->repeat(hash, own);
  std::vector<OrderItem> items;
  DTC_RETURN_IF_ERROR(make(items));
  if (phase != Phase::Body)
    return runNow(items, mark);
  order->record(std::move(items), hash, own);
  return {};
}

Status CudaDevice::prepareOnDevice(const Command &command, int stream,
                                   std::vector<StreamWork> &works) {
  if (command.source->op_type() == format::Op::Gemm)
    return gemm->prepare(command, stream, works.emplace_back());
  if (hostArena.isMove(command)) {
    hostArena.prepareMove(command, works.emplace_back());
    return {};
  }
  if (command.source->op_type() != format::Op::Zero)
    return cudnn->prepare(command, stream, works);
  if (command.bytes > 0) // a graph has no empty nodes
    works.push_back(
        [this, to = addressOf(command.buffers[0]), bytes = command.bytes](cu::Stream on) -> Status {
          DTC_CUDA(driver, cuMemsetD8Async, to, 0, bytes, on);
          return {};
        });
  return {};
}

Status CudaDevice::prepare(int stream, const Command &command, std::vector<OrderItem> &items) {
  const char *what = format::opName(command.source->op_type());
  if (command.group >= 0) {
    PreparedCommunication prepared;
    DTC_RETURN_IF_ERROR(groups->prepare(command, stream, prepared));
    items.push_back(
        {stream, what, std::move(prepared.work), std::move(prepared.announce), prepared.inGraph});
    return {};
  }
  if (hostArena.hasAll(command)) {
    OrderItem item{.stream = stream, .what = what};
    hostWork.prepare(command, item.work, item.announce);
    items.push_back(std::move(item));
    return {};
  }
  if (command.source->op_type() == format::Op::Launch) {
    OrderItem item{.stream = stream, .what = what, .piece = code.describe(command)};
    DTC_RETURN_IF_ERROR(code.prepare(command, item.work));
    items.push_back(std::move(item));
    return {};
  }
  std::vector<StreamWork> works;
  DTC_RETURN_IF_ERROR(prepareOnDevice(command, stream, works));
  for (StreamWork &work : works)
    items.push_back({stream, what, std::move(work)});
  const format::StridedCopy *copy = command.source->op_as_StridedCopy();
  if (copy && items.size() == 1)
    items[0].piece = std::make_shared<LaunchPiece>(describe(*copy, command.buffers));
  return {};
}

Status CudaDevice::enqueue(int stream, const Command &command, const Mark &mark) {
  Hash hash;
  hash.add(kRun).add(static_cast<uint64_t>(stream)).add(command);
  auto make = [&](std::vector<OrderItem> &items) -> Status {
    DTC_RETURN_IF_ERROR(prepare(stream, command, items));
    if (nvtx && options.nameOf)
      for (OrderItem &item : items)
        item.name = options.nameOf(*command.source);
    return {};
  };
  return say(mark, [&] { return add(hash.value(), mark, make); });
}

Status CudaDevice::enqueueRecord(int stream, int event, const Mark &mark) {
  Hash hash;
  hash.add(kRecord).add(static_cast<uint64_t>(stream)).add(static_cast<uint64_t>(event));
  recordedIn[static_cast<size_t>(event)] = begunSteps;
  auto work = [this, handle = events[static_cast<size_t>(event)]](cu::Stream on) -> Status {
    DTC_CUDA(driver, cuEventRecord, handle, on);
    return {};
  };
  auto make = [&](std::vector<OrderItem> &items) -> Status {
    items.push_back({stream, "record", work});
    return {};
  };
  return say(mark, [&] { return add(hash.value(), mark, make); });
}

// Skips the wait for an event of an earlier step: that step is complete when this one begins.
Status CudaDevice::enqueueWait(int stream, int event, const Mark &mark) {
  Hash hash;
  hash.add(kWait).add(static_cast<uint64_t>(stream)).add(static_cast<uint64_t>(event));
  uint64_t recorded = recordedIn[static_cast<size_t>(event)];
  auto work = [this, handle = events[static_cast<size_t>(event)]](cu::Stream on) -> Status {
    DTC_CUDA(driver, cuStreamWaitEvent, on, handle, 0);
    return {};
  };
  auto make = [&](std::vector<OrderItem> &items) -> Status {
    if (recorded == begunSteps)
      items.push_back({stream, "wait", work});
    return {};
  };
  return say(mark, [&] { return add(hash.value(), mark, make); });
}

// Inputs and outputs are separate from the order: their number in a step depends on the host's
// settings.
Status CudaDevice::enqueueCopyIn(int stream, char *to, const char *from, uint64_t bytes,
                                 const Mark &mark) {
  auto work = [this, to = addressOf(to), from, bytes](cu::Stream on) -> Status {
    if (bytes > 0)
      DTC_CUDA(driver, cuMemcpyHtoDAsync, to, from, bytes, on);
    return {};
  };
  if (phase == Phase::Inputs && stream == 0)
    return say(mark, [&] { return work(streams[0]); });
  Hash hash;
  hash.add(kCopy).add(static_cast<uint64_t>(stream)).add(to).add(from).add(bytes);
  auto make = [&](std::vector<OrderItem> &items) -> Status {
    items.push_back({stream, "copy", work});
    return {};
  };
  return say(mark, [&] { return add(hash.value(), mark, make); });
}

Status CudaDevice::enqueueCopyOut(int stream, char *to, const char *from, uint64_t bytes,
                                  const Mark &mark) {
  return say(mark, [&]() -> Status {
    DTC_RETURN_IF_ERROR(leaveBody(mark));
    if (bytes > 0)
      DTC_CUDA(driver, cuMemcpyDtoHAsync, to, addressOf(from), bytes, streamOf(stream));
    return {};
  });
}

Status CudaDevice::enqueueReadBack(int stream, char *to, const char *from, uint64_t bytes,
                                   const Mark &mark) {
  Hash hash;
  hash.add(kReadBack).add(static_cast<uint64_t>(stream)).add(to).add(from).add(bytes);
  auto work = [this, to, from = addressOf(from), bytes](cu::Stream on) -> Status {
    DTC_CUDA(driver, cuMemcpyDtoHAsync, to, from, bytes, on);
    return {};
  };
  auto make = [&](std::vector<OrderItem> &items) -> Status {
    items.push_back({stream, "copy", work});
    return {};
  };
  return say(mark, [&] { return add(hash.value(), mark, make); });
}

Status CudaDevice::endStep(const Mark &mark, uint64_t &step) {
  return say(mark, [&]() -> Status {
    DTC_RETURN_IF_ERROR(leaveBody(mark));
    return steps.end(streams[0], mark.times, step);
  });
}

void CudaDevice::stop(const Status &status, uint64_t tag) {
  {
    std::lock_guard lock(mutex);
    if (!failure.ok())
      return;
    failure = status;
    failedTag = tag;
  }
  hostWork.stop();
  if (options.world)
    options.world->abandon(status.message());
  std::lock_guard lock(mutex);
  if (stoppable)
    stoppable->stop();
}

void CudaDevice::endGroups() {
  uint64_t tag = 0;
  if (!groups || failureNow(tag).ok())
    return;
  order = nullptr;
  orders.clear();
  if (groups->awaitStop())
    return;
  cu::leaveAll(driver);
  (void)gemm.release();
  (void)cudnn.release();
}

Status CudaDevice::failureNow(uint64_t &tag) {
  std::lock_guard lock(mutex);
  tag = failedTag;
  return failure;
}

bool CudaDevice::isDone(uint64_t step) {
  uint64_t tag = 0;
  if (failureNow(tag).ok())
    if (Status status = steps.poll(); !status.ok())
      stop(status, ~uint64_t(0));
  if (groups)
    groups->noteSteps(steps.numDone());
  return steps.numDone() >= step || !failureNow(tag).ok();
}

// Polls, because the device may be stopped by a thread that makes no CUDA calls.
Status CudaDevice::synchronize(uint64_t step, uint64_t &tag) {
  int looks = 0;
  while (!isDone(step))
    if (++looks > 1000) // about 100 us
      std::this_thread::sleep_for(std::chrono::microseconds(20));
  Status status = failureNow(tag);
  if (!status.ok()) {
    endGroups();
    (void)driver.cuCtxSynchronize();
  }
  return status;
}

} // namespace

Status makeCudaDevice(CudaLibraries &libraries, const CudaOptions &options,
                      std::unique_ptr<Device> &device) {
  const cu::Driver *driver = nullptr;
  DTC_RETURN_IF_ERROR(libraries.driver(driver));
  auto made = std::make_unique<CudaDevice>(libraries, *driver, options);
  DTC_RETURN_IF_ERROR(made->open());
  device = std::move(made);
  return {};
}

} // namespace dtc::rt

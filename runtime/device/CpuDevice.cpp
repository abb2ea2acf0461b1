#include "runtime/device/CpuDevice.h"

#include "kernels/cpu/ThreadPool.h"
#include "runtime/base/Text.h"
#include "runtime/device/CpuCode.h"
#include "runtime/device/CpuCollectives.h"
#include "runtime/device/CpuEvents.h"
#include "runtime/device/CpuFeatures.h"
#include "runtime/device/GroupComm.h"
#include "runtime/device/WorkRing.h"
#include "runtime/format/Target.h"
#include "runtime/monitor/Progress.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <sys/mman.h>
#include <thread>

namespace dtc::rt {
namespace {

using format::text;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The state that all streams of a device share: events, and the first error.
class Shared {
public:
  explicit Shared(Comm *world) : world(world) {}

  CpuEvents events;

  void start(std::vector<WorkRing *> all) {
    rings = std::move(all);
    running = rings.size();
  }

  void endStep() {
    {
      std::lock_guard lock(mutex);
      ++doneSteps;
    }
    changed.notify_all();
  }

  // Counts a thread as ended.
  void end() {
    std::lock_guard lock(mutex);
    --running;
    changed.notify_all();
  }

  // Keeps the first error, which is the cause of those that follow, and ends what the other streams
  // and ranks wait for.
  void stop(const Status &status, uint64_t tag) {
    {
      std::lock_guard lock(mutex);
      if (!failure.ok())
        return;
      failure = status;
      failedTag = tag;
    }
    for (WorkRing *ring : rings)
      ring->stop();
    events.abort();
    if (world)
      world->abandon(status.message());
    changed.notify_all();
  }

  bool isDone(uint64_t step) {
    std::lock_guard lock(mutex);
    return doneSteps >= step || !failure.ok();
  }

  Status wait(uint64_t step, uint64_t &tag) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return failure.ok() ? doneSteps >= step : running == 0; });
    tag = failedTag;
    return failure;
  }

private:
  Comm *world;
  std::vector<WorkRing *> rings;
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t doneSteps = 0;
  size_t running = 0; // threads of streams
  Status failure;
  uint64_t failedTag = 0;
};

// One stream and its thread.
class Stream {
public:
  Stream(int index, int threads, const StreamSpec &spec, const CpuCode &code,
         const std::vector<std::unique_ptr<Comm>> &groups, Shared &shared)
      : ring(spec.maxBuffers, spec.maxScalars), index(index), progress(spec.progress),
        pool(threads), code(code), groups(groups), shared(shared) {}
  ~Stream() {
    ring.stop();
    if (thread.joinable())
      thread.join();
  }

  void start() {
    thread = std::thread([this] { runAll(); });
  }

  WorkRing ring;

private:
  void runAll() {
    if (progress)
      progress->beginThread(index);
    while (Work *work = ring.beginTake()) {
      Status status = runAndTime(*work);
      if (!status.ok())
        shared.stop(status, work->mark.tag);
      ring.endTake();
    }
    shared.end();
  }

  Status runAndTime(const Work &work) {
    TimeRange *times = work.mark.times;
    if (times)
      times->begin = now();
    uint64_t event = progress ? work.mark.event : 0;
    if (progress)
      progress->begin(index, work.mark.tag, event, event ? monotonicNanos() : 0);
    Status status = run(work);
    if (progress)
      progress->end(index, status.ok() ? event : 0, event ? monotonicNanos() : 0);
    if (times)
      times->end = now();
    if (work.kind == Work::Kind::EndStep)
      shared.endStep();
    return status;
  }

  Status run(const Work &work) {
    switch (work.kind) {
    case Work::Kind::Run:
      return work.command.group < 0
                 ? code.run(work.command, pool)
                 : runCollective(work.command, *groups[static_cast<size_t>(work.command.group)]);
    case Work::Kind::Record:
      shared.events.record(work.event);
      return {};
    case Work::Kind::Wait:
      if (!shared.events.wait(work.event, work.ordinal))
        return Status::aborted(text("stopped while waiting for event ", work.event,
                                    " because another stream of this rank stopped"));
      return {};
    case Work::Kind::Copy:
      std::memcpy(work.to, work.from, work.bytes);
      return {};
    case Work::Kind::EndStep:
      return {};
    }
    return {};
  }

  int index;
  Progress *progress;
  cpu::ThreadPool pool;
  const CpuCode &code;
  const std::vector<std::unique_ptr<Comm>> &groups;
  Shared &shared;
  std::thread thread;
};

class CpuDevice : public Device {
public:
  CpuDevice(int threads, Comm *world)
      : threads(std::max(threads, 1)), world(world), shared(world) {}
  ~CpuDevice() override;

  Status checkTarget(const Target &target) override;
  Status loadCode(const CodeObject &object) override { return code.load(object); }
  Status findSymbol(int object, const KernelSpec &kernel, int &symbol) override {
    return code.findSymbol(object, kernel, symbol);
  }
  Status allocateArena(format::MemorySpace space, uint64_t bytes) override;
  char *arena(format::MemorySpace space) override {
    return arenas[static_cast<size_t>(space)].base;
  }
  Status allocateHost(uint64_t bytes, char *&memory) override;
  Status copyIn(char *to, const void *from, uint64_t bytes) override;
  Status copyOut(void *to, const char *from, uint64_t bytes) override;
  Status createStreams(const StreamSpec &spec) override;
  Status createGroup(Control &control, const GroupSpec &spec, int &group) override;

  Status beginStep(uint32_t order) override { return {}; }
  Status enqueue(int stream, const Command &command, const Mark &mark) override;
  Status enqueueRecord(int stream, int event, const Mark &mark) override;
  Status enqueueWait(int stream, int event, const Mark &mark) override;
  Status enqueueCopyIn(int stream, char *to, const char *from, uint64_t bytes,
                       const Mark &mark) override {
    return enqueueCopy(stream, to, from, bytes, mark);
  }
  Status enqueueCopyOut(int stream, char *to, const char *from, uint64_t bytes,
                        const Mark &mark) override {
    return enqueueCopy(stream, to, from, bytes, mark);
  }
  Status endStep(const Mark &mark, uint64_t &step) override;
  bool isDone(uint64_t step) override { return shared.isDone(step); }
  Status synchronize(uint64_t step, uint64_t &tag) override { return shared.wait(step, tag); }
  void abort() override { shared.stop(Status::aborted("the device was stopped"), 0); }

private:
  Status enqueueCopy(int stream, char *to, const char *from, uint64_t bytes, const Mark &mark);
  // Returns the slot to fill, marked; null once the device has stopped.
  Work *beginWork(int stream, Work::Kind kind, const Mark &mark);
  Status endWork(int stream);

  int threads;
  Comm *world;
  // The arenas of both memory spaces, which are memory of the machine.
  struct Arena {
    char *base = nullptr;
    uint64_t bytes = 0;
  };
  std::array<Arena, 2> arenas; // index: format::MemorySpace
  CpuCode code;
  std::vector<std::unique_ptr<char[]>> hostMemory;
  std::vector<std::unique_ptr<Comm>> groups;
  std::vector<uint32_t> records; // per event: the number of records enqueued
  uint64_t steps = 0;
  Shared shared;
  std::vector<std::unique_ptr<Stream>> streams; // null for one that nothing uses
};

CpuDevice::~CpuDevice() {
  if (!shared.isDone(steps))
    abort();
  streams.clear();
  for (const Arena &arena : arenas)
    if (arena.base)
      ::munmap(arena.base, arena.bytes);
}

Status CpuDevice::checkTarget(const Target &target) {
  if (target.device != format::cpuDevice)
    return Status::invalidArgument(text("the program is compiled for device '", target.device,
                                        "' and was to run on the processors of this machine; "
                                        "recompile with dtc for device cpu"));
  return checkCpuFeatures(target.cpuFeatures);
}

Status CpuDevice::allocateArena(format::MemorySpace space, uint64_t bytes) {
  uint64_t mapped = std::max<uint64_t>(bytes, 1);
  void *address =
      ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED)
    return Status::resourceExhausted(
        text("the arena of ", bytes, " bytes",
             space == format::MemorySpace::host ? " for the optimizer" : "",
             " cannot be had from this machine: ", std::strerror(errno),
             "; compile for more ranks or a smaller batch"));
  (void)::madvise(address, mapped, MADV_HUGEPAGE); // fewer page faults where the kernel offers it
  arenas[static_cast<size_t>(space)] = {static_cast<char *>(address), mapped};
  return {};
}

Status CpuDevice::allocateHost(uint64_t bytes, char *&memory) {
  hostMemory.push_back(std::make_unique<char[]>(bytes));
  memory = hostMemory.back().get();
  return {};
}

Status CpuDevice::copyIn(char *to, const void *from, uint64_t bytes) {
  if (bytes > 0)
    std::memcpy(to, from, bytes);
  return {};
}

Status CpuDevice::copyOut(void *to, const char *from, uint64_t bytes) {
  if (bytes > 0)
    std::memcpy(to, from, bytes);
  return {};
}

Status CpuDevice::createStreams(const StreamSpec &spec) {
  records.assign(static_cast<size_t>(spec.events), 0);
  shared.events.resize(spec.events);
  if (spec.progress)
    spec.progress->deviceReports();
  std::vector<WorkRing *> rings;
  for (size_t i = 0; i < spec.used.size(); ++i) {
    streams.push_back(nullptr);
    if (!spec.used[i])
      continue;
    streams[i] = std::make_unique<Stream>(static_cast<int>(i), i == 0 ? threads : 1, spec, code,
                                          groups, shared);
    rings.push_back(&streams[i]->ring);
  }
  shared.start(rings);
  for (const std::unique_ptr<Stream> &stream : streams)
    if (stream)
      stream->start();
  return {};
}

Status CpuDevice::createGroup(Control &control, const GroupSpec &spec, int &group) {
  std::unique_ptr<Comm> made;
  DTC_RETURN_IF_ERROR(makeGroupComm(world, control.rank(), spec, made));
  group = static_cast<int>(groups.size());
  groups.push_back(std::move(made));
  return {};
}

Work *CpuDevice::beginWork(int stream, Work::Kind kind, const Mark &mark) {
  Work *work = streams[static_cast<size_t>(stream)]->ring.beginPut();
  if (work) {
    work->kind = kind;
    work->mark = mark;
  }
  return work;
}

Status CpuDevice::endWork(int stream) {
  streams[static_cast<size_t>(stream)]->ring.endPut();
  return {};
}

static Status stopped() { return Status::aborted("the device has stopped"); }

Status CpuDevice::enqueue(int stream, const Command &command, const Mark &mark) {
  Work *work = beginWork(stream, Work::Kind::Run, mark);
  if (!work)
    return stopped();
  work->command = command;
  return endWork(stream);
}

Status CpuDevice::enqueueRecord(int stream, int event, const Mark &mark) {
  Work *work = beginWork(stream, Work::Kind::Record, mark);
  if (!work)
    return stopped();
  work->event = event;
  ++records[static_cast<size_t>(event)];
  return endWork(stream);
}

Status CpuDevice::enqueueWait(int stream, int event, const Mark &mark) {
  Work *work = beginWork(stream, Work::Kind::Wait, mark);
  if (!work)
    return stopped();
  work->event = event;
  work->ordinal = records[static_cast<size_t>(event)];
  return endWork(stream);
}

Status CpuDevice::enqueueCopy(int stream, char *to, const char *from, uint64_t bytes,
                              const Mark &mark) {
  Work *work = beginWork(stream, Work::Kind::Copy, mark);
  if (!work)
    return stopped();
  work->to = to;
  work->from = from;
  work->bytes = bytes;
  return endWork(stream);
}

Status CpuDevice::endStep(const Mark &mark, uint64_t &step) {
  step = ++steps;
  return beginWork(0, Work::Kind::EndStep, mark) ? endWork(0) : stopped();
}

} // namespace

std::unique_ptr<Device> makeCpuDevice(int threads, Comm *world) {
  return std::make_unique<CpuDevice>(threads, world);
}

} // namespace dtc::rt

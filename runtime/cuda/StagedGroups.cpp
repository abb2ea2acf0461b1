#include "runtime/cuda/StagedGroups.h"

#include "runtime/base/Backoff.h"
#include "runtime/device/CpuCollectives.h"
#include "runtime/device/GroupComm.h"
#include "runtime/format/Operands.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <thread>

namespace dtc::rt {
namespace {

using Failed = std::function<void(const Status &status, uint64_t tag)>;

// The bytes that a rank contributes to a collective or transfer and receives from it.
struct Sides {
  uint64_t in = 0, out = 0;
};

Sides sidesOf(const Command &command, uint64_t ranks) {
  if (const format::Transfer *op = command.source->op_as_Transfer()) {
    uint64_t bytes = op->count() * format::bytesOf(op->dtype());
    return op->kind() == format::TransferKind::send ? Sides{bytes, 0} : Sides{0, bytes};
  }
  const format::Collective &op = *command.source->op_as_Collective();
  uint64_t part = op.count() * format::bytesOf(op.dtype());
  switch (op.kind()) {
  case format::CollectiveKind::all_reduce:
    return {part, part};
  case format::CollectiveKind::all_gather:
    return {part, part * ranks};
  case format::CollectiveKind::reduce_scatter:
    return {part * ranks, part};
  case format::CollectiveKind::all_to_all:
    return {part * ranks, part * ranks};
  }
  return {};
}

// The flags between stream and thread of one group, in pinned memory: each raises the other's flag
// and clears its own.
struct Flags {
  alignas(64) std::atomic<uint32_t> ready{0};
  alignas(64) std::atomic<uint32_t> done{0};
};
static_assert(std::atomic<uint32_t>::is_always_lock_free);

struct Job {
  Command command; // its buffers are in host memory
  uint64_t tag = 0;
};

// The operations of one stream over one group, in order.
class Channel {
public:
  Channel(Comm &comm, Failed failed) : comm(comm), failed(std::move(failed)) {}
  ~Channel() {
    {
      std::lock_guard lock(mutex);
      stopped = closing = true;
    }
    changed.notify_one();
    if (thread.joinable())
      thread.join();
  }

  void start(Flags *shared) {
    flags = shared;
    thread = std::thread([this] { runAll(); });
  }
  void put(Job job) {
    {
      std::lock_guard lock(mutex);
      jobs.push_back(std::move(job));
    }
    changed.notify_one();
  }
  // Marks everything that the stream waits for from now on as done.
  void stop() {
    {
      std::lock_guard lock(mutex);
      stopped = true;
    }
    changed.notify_one();
  }

  cu::DevicePtr flagsOnDevice = 0;
  char *memory = nullptr; // pinned, for the largest operation so far
  uint64_t bytes = 0;

private:
  bool take(Job &job) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return stopped || !jobs.empty(); });
    if (stopped)
      return false;
    job = std::move(jobs.front());
    jobs.pop_front();
    return true;
  }
  bool is(const bool &flag) {
    std::lock_guard lock(mutex);
    return flag;
  }

  void runAll() {
    Job job;
    while (take(job)) {
      Backoff backoff;
      while (flags->ready.load(std::memory_order_acquire) == 0 && !is(stopped))
        backoff.pause();
      if (is(stopped))
        break;
      flags->ready.store(0, std::memory_order_relaxed);
      if (Status status = runCollective(job.command, comm); !status.ok())
        failed(status, job.tag);
      flags->done.store(1, std::memory_order_release);
    }
    // Sets the flag repeatedly: the stream clears it after each wait, and no wait may last for
    // ever.
    while (!is(closing)) {
      flags->done.store(1, std::memory_order_release);
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

  Comm &comm;
  Failed failed;
  Flags *flags = nullptr;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Job> jobs;
  bool stopped = false, closing = false;
  std::thread thread;
};

class StagedGroups : public CudaGroups {
public:
  StagedGroups(const cu::Driver &driver, Comm *world, Failed failed)
      : driver(driver), world(world), failed(std::move(failed)) {}
  ~StagedGroups() override;

  Status create(Control &control, const GroupSpec &spec, int &group) override;
  Status prepare(const Command &command, int stream, PreparedCommunication &prepared) override;
  void stop() override;
  void close() override;

private:
  Status allocate(uint64_t size, char *&memory);
  Status channelOf(int group, int stream, Channel *&channel);

  const cu::Driver &driver;
  Comm *world;
  Failed failed;
  std::vector<std::unique_ptr<Comm>> comms; // keyed by group
  std::vector<void *> pinned;
  std::mutex mutex; // guards the following fields, since any thread may call stop()
  bool stopped = false;
  std::map<std::pair<int, int>, std::unique_ptr<Channel>> channels;
};

StagedGroups::~StagedGroups() {
  close();
  for (void *memory : pinned)
    (void)driver.cuMemFreeHost(memory);
}

Status StagedGroups::create(Control &control, const GroupSpec &spec, int &group) {
  std::unique_ptr<Comm> made;
  DTC_RETURN_IF_ERROR(makeGroupComm(world, control.rank(), spec, made));
  group = static_cast<int>(comms.size());
  comms.push_back(std::move(made));
  return {};
}

Status StagedGroups::allocate(uint64_t size, char *&memory) {
  void *address = nullptr;
  DTC_CUDA(driver, cuMemAllocHost, &address, size);
  pinned.push_back(address);
  memory = static_cast<char *>(address);
  return {};
}

Status StagedGroups::channelOf(int group, int stream, Channel *&channel) {
  {
    std::lock_guard lock(mutex);
    auto found = channels.find({group, stream});
    channel = found == channels.end() ? nullptr : found->second.get();
  }
  if (channel)
    return {};
  auto made = std::make_unique<Channel>(*comms[static_cast<size_t>(group)], failed);
  char *memory = nullptr;
  DTC_RETURN_IF_ERROR(allocate(sizeof(Flags), memory));
  Flags *flags = new (memory) Flags;
  DTC_CUDA(driver, cuMemHostGetDevicePointer, &made->flagsOnDevice, memory, 0);
  channel = made.get();
  channel->start(flags);
  std::lock_guard lock(mutex);
  if (stopped)
    channel->stop();
  channels[{group, stream}] = std::move(made);
  return {};
}

Status StagedGroups::prepare(const Command &command, int stream, PreparedCommunication &prepared) {
  Channel *channel = nullptr;
  DTC_RETURN_IF_ERROR(channelOf(command.group, stream, channel));
  Sides sides =
      sidesOf(command, static_cast<uint64_t>(comms[static_cast<size_t>(command.group)]->size()));
  uint64_t outAt = (sides.in + 63) / 64 * 64;
  if (channel->bytes < outAt + sides.out) {
    channel->bytes = outAt + sides.out;
    DTC_RETURN_IF_ERROR(allocate(channel->bytes, channel->memory));
  }
  char *in = channel->memory, *out = channel->memory + outAt;
  const char *from = command.buffers.front();
  char *to = command.buffers.back();
  Command onHost = command;
  onHost.buffers.front() = in;
  onHost.buffers.back() = out;
  // a transfer has one buffer, which it reads or writes
  if (command.source->op_type() == format::Op::Transfer)
    onHost.buffers[0] = sides.in > 0 ? in : out;
  prepared.inGraph = InGraph::OneStream;
  prepared.announce = [channel, onHost](uint64_t tag) { channel->put({onHost, tag}); };
  prepared.work = [this, ready = channel->flagsOnDevice + offsetof(Flags, ready),
                   done = channel->flagsOnDevice + offsetof(Flags, done), in, out, from, to,
                   sides](cu::Stream on) -> Status {
    if (sides.in > 0)
      DTC_CUDA(driver, cuMemcpyDtoHAsync, in, reinterpret_cast<uintptr_t>(from), sides.in, on);
    DTC_CUDA(driver, cuStreamWriteValue32, on, ready, 1, 0);
    DTC_CUDA(driver, cuStreamWaitValue32, on, done, 1, cu::waitValueEqual);
    DTC_CUDA(driver, cuStreamWriteValue32, on, done, 0, 0);
    if (sides.out > 0)
      DTC_CUDA(driver, cuMemcpyHtoDAsync, reinterpret_cast<uintptr_t>(to), out, sides.out, on);
    return {};
  };
  return {};
}

// Ends the threads outside of the lock, as a thread with an error takes it.
void StagedGroups::close() {
  std::map<std::pair<int, int>, std::unique_ptr<Channel>> ended;
  std::lock_guard lock(mutex);
  ended.swap(channels);
}

void StagedGroups::stop() {
  std::lock_guard lock(mutex);
  stopped = true;
  for (const auto &[key, channel] : channels)
    channel->stop();
}

} // namespace

std::unique_ptr<CudaGroups> makeStagedGroups(const cu::Driver &driver, Comm *world, Failed failed) {
  return std::make_unique<StagedGroups>(driver, world, std::move(failed));
}

} // namespace dtc::rt

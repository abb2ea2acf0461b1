#include "runtime/device/CpuDevice.h"

#include "kernels/cpu/ThreadPool.h"
#include "runtime/base/Text.h"
#include "runtime/device/CodeSegment.h"
#include "runtime/device/CpuFeatures.h"
#include "runtime/device/CpuInstructions.h"
#include "runtime/format/Operands.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <sys/mman.h>

namespace dtc::rt {
namespace {

using format::text;

using KernelFunction = void (*)(char *const *buffers, const int64_t *scalars, int64_t begin,
                                int64_t end);

// Work below this is not worth waking a thread for: about 10 us at 6 GB/s.
constexpr uint64_t bytesPerPiece = 64 * 1024;

// Records of events, with waits that can be cut short.
class Events {
public:
  void resize(int count) { records.assign(static_cast<size_t>(count), 0); }

  void reset() {
    std::lock_guard lock(mutex);
    std::fill(records.begin(), records.end(), 0);
    aborted = false;
  }

  void record(int event) {
    {
      std::lock_guard lock(mutex);
      ++records[static_cast<size_t>(event)];
    }
    changed.notify_all();
  }

  // False when abort() came first.
  bool wait(int event, int ordinal) {
    std::unique_lock lock(mutex);
    const int &count = records[static_cast<size_t>(event)];
    changed.wait(lock, [&] { return count >= ordinal || aborted; });
    return count >= ordinal;
  }

  void abort() {
    {
      std::lock_guard lock(mutex);
      aborted = true;
    }
    changed.notify_all();
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<int> records;
  bool aborted = false;
};

class CpuDevice : public Device {
public:
  explicit CpuDevice(int threads) : threads(std::max(threads, 1)) {}
  ~CpuDevice() override {
    if (base)
      ::munmap(base, arenaBytes);
  }

  Status checkFeatures(const std::vector<std::string> &features) override;
  Status loadCode(std::span<const uint8_t> object) override;
  Status findSymbol(int segment, const std::string &name, int &symbol) override;
  Status allocateArena(uint64_t bytes) override;
  char *arena() override { return base; }
  Status copyIn(char *to, const void *from, uint64_t bytes) override;
  Status copyOut(void *to, const char *from, uint64_t bytes) override;
  Status createStreams(int streams, int numEvents) override;
  bool runsInCaller() const override { return true; }
  void beginStep() override { events.reset(); }
  Status issue(int stream, const Command &command) override;
  Status record(int stream, int event) override;
  Status wait(int stream, int event, int ordinal) override;
  Status synchronize(int stream) override { return {}; }
  void abort() override { events.abort(); }

private:
  void launch(const Command &command, cpu::ThreadPool &pool);

  int threads;
  char *base = nullptr;
  uint64_t arenaBytes = 0;
  std::vector<CodeSegment> code;
  std::vector<KernelFunction> functions;
  std::vector<std::unique_ptr<cpu::ThreadPool>> pools; // per stream
  Events events;
};

Status CpuDevice::checkFeatures(const std::vector<std::string> &features) {
  std::vector<std::string> missing = missingCpuFeatures(features);
  if (missing.empty())
    return {};
  std::string list;
  for (const std::string &name : missing)
    list += (list.empty() ? "" : ", ") + name;
  return Status::unavailable(text("the program's code needs processor features that this machine "
                                  "does not have: ",
                                  list, "; recompile with dtc on or for this machine"));
}

Status CpuDevice::loadCode(std::span<const uint8_t> object) {
  CodeSegment segment;
  DTC_RETURN_IF_ERROR(segment.load(object));
  code.push_back(std::move(segment));
  return {};
}

Status CpuDevice::findSymbol(int segment, const std::string &name, int &symbol) {
  void *address = code[static_cast<size_t>(segment)].find(name);
  if (!address)
    return Status::notFound(text("code segment ", segment, " has no function '", name,
                                 "', which the program calls; recompile with dtc"));
  symbol = static_cast<int>(functions.size());
  functions.push_back(reinterpret_cast<KernelFunction>(address));
  return {};
}

Status CpuDevice::allocateArena(uint64_t bytes) {
  uint64_t mapped = std::max<uint64_t>(bytes, 1);
  void *address =
      ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED)
    return Status::resourceExhausted(text("the arena of ", bytes,
                                          " bytes cannot be had from this "
                                          "machine: ",
                                          std::strerror(errno),
                                          "; compile for more ranks or a smaller batch"));
  (void)::madvise(address, mapped, MADV_HUGEPAGE); // fewer page faults where the kernel offers it
  base = static_cast<char *>(address);
  arenaBytes = mapped;
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

Status CpuDevice::createStreams(int streams, int numEvents) {
  for (int stream = 0; stream < streams; ++stream)
    pools.push_back(std::make_unique<cpu::ThreadPool>(stream == 0 ? threads : 1));
  events.resize(numEvents);
  return {};
}

Status CpuDevice::record(int stream, int event) {
  events.record(event);
  return {};
}

Status CpuDevice::wait(int stream, int event, int ordinal) {
  if (!events.wait(event, ordinal))
    return Status::aborted(text("stopped while waiting for event ", event,
                                " because another stream of this rank stopped"));
  return {};
}

void CpuDevice::launch(const Command &command, cpu::ThreadPool &pool) {
  KernelFunction function = functions[static_cast<size_t>(command.symbol)];
  auto range = static_cast<int64_t>(command.source->op_as_Launch()->range());
  uint64_t pieces = std::max<uint64_t>(command.bytes / bytesPerPiece, 1);
  int64_t grain = std::max<int64_t>(range / static_cast<int64_t>(pieces), 1);
  if (grain >= 64)
    grain = (grain + 15) / 16 * 16; // pieces of elements start where vectors do
  pool.parallelFor(range, grain, [&command, function](int64_t begin, int64_t end) {
    function(command.buffers.data(), command.scalars.data(), begin, end);
  });
}

Status CpuDevice::issue(int stream, const Command &command) {
  cpu::ThreadPool &pool = *pools[static_cast<size_t>(stream)];
  format::Op op = command.source->op_type();
  if (op == format::Op::Launch) {
    launch(command, pool);
    return {};
  }
  if (runOnCpu(command, pool))
    return {};
  return Status::internal(
      text("the CPU device was given a ", format::opName(op), ", which the executor runs itself"));
}

} // namespace

std::unique_ptr<Device> makeCpuDevice(int threads) { return std::make_unique<CpuDevice>(threads); }

} // namespace dtc::rt

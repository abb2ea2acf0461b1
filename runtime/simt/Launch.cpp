// Checks a launch, copies its parameters and runs its blocks.
#include "runtime/simt/Engine.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <sys/mman.h>

namespace dtc::simt {

using format::text;
using rt::Status;

thread_local Engine *Engine::running = nullptr;

static HostThread &hostThread() {
  static thread_local HostThread own;
  return own;
}

HostThread::~HostThread() {
  if (shared)
    ::munmap(shared, sharedArenaBytes);
}

bool HostThread::prepareShared() {
  if (!shared) {
    void *mapping = ::mmap(nullptr, sharedArenaBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    if (mapping == MAP_FAILED)
      return false;
    shared = static_cast<uint8_t *>(mapping);
    sharedWritten.resize(sharedArenaBytes);
  }
  return true;
}

static uint64_t count(Dim3 size) { return uint64_t{size.x} * size.y * size.z; }
static std::string write(Dim3 at) { return text("(", at.x, ",", at.y, ",", at.z, ")"); }
static Dim3 unflatten(uint64_t number, Dim3 size) {
  return {static_cast<uint32_t>(number % size.x), static_cast<uint32_t>(number / size.x % size.y),
          static_cast<uint32_t>(number / size.x / size.y)};
}

Engine::Engine(const Kernel &kernel, Dim3 grid, Dim3 block, uint32_t dynamicShared,
               void **parameters, Memory &memory, const Options &options, Counters *counters)
    : kernel(kernel), grid(grid), block(block), parameters(parameters), memory(memory),
      options(options), counters(counters), numThreads(static_cast<uint32_t>(count(block))),
      own(hostThread()), dynamicOffset((kernel.sharedBytes + 15) / 16 * 16) {
  sharedBytes = dynamicShared ? dynamicOffset + dynamicShared : kernel.sharedBytes;
  randomState = options.seed * 0x9e3779b97f4a7c15 + 0x2545f4914f6cdd1d;
}

Engine::~Engine() { running = nullptr; }

Status Engine::checkLaunch() const {
  std::string of = text("launching kernel '", kernel.name, "' on blocks ", write(grid),
                        " of threads ", write(block), ": ");
  if (count(grid) == 0 || count(block) == 0)
    return Status::invalidArgument(of + "a size is 0");
  if (count(block) > maxBlockThreads || block.z > 64)
    return Status::invalidArgument(
        text(of, "a block has at most ", maxBlockThreads, " threads, 64 along z"));
  if (grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535)
    return Status::invalidArgument(
        of + "a grid has at most 2147483647 blocks along x, 65535 along y and z");
  if (count(grid) > maxBlocks)
    return Status::invalidArgument(text(of, "the emulator runs at most ", maxBlocks, " blocks"));
  if (kernel.requiredThreads && count(block) != kernel.requiredThreads)
    return Status::invalidArgument(
        text(of, "the kernel was compiled for ", kernel.requiredThreads, " threads a block"));
  if (kernel.maxThreads && count(block) > kernel.maxThreads)
    return Status::invalidArgument(
        text(of, "the kernel was compiled for at most ", kernel.maxThreads, " threads a block"));
  if (sharedBytes > maxSharedBytes)
    return Status::invalidArgument(text(of, "needs ", sharedBytes,
                                        " bytes of shared memory per block; there are ",
                                        maxSharedBytes));
  return {};
}

void Engine::copyParameters() {
  parameterBytes = 0;
  for (uint32_t bytes : kernel.parameterBytes)
    parameterBytes = (parameterBytes + 15) / 16 * 16 + bytes;
  parameterCopy = std::make_unique<uint8_t[]>(parameterBytes + 16);
  auto misaligned = reinterpret_cast<uintptr_t>(parameterCopy.get()) % 16;
  uint64_t at = misaligned ? 16 - misaligned : 0;
  for (size_t i = 0; i < kernel.parameterBytes.size(); ++i) {
    std::memcpy(parameterCopy.get() + at, parameters[i], kernel.parameterBytes[i]);
    parameterAddresses.push_back(parameterCopy.get() + at);
    at = (at + kernel.parameterBytes[i] + 15) / 16 * 16;
  }
  parameterBytes += 16;
}

Status Engine::run() {
  DTC_RETURN_IF_ERROR(checkLaunch());
  if (!own.prepareShared())
    return Status::resourceExhausted("shared memory of kernels: no memory below 4 GiB");
  std::lock_guard<std::recursive_mutex> lock(memory.mutex);
  static std::atomic<uint64_t> launches;
  launchNumber = ++launches;
  shared = own.shared;
  running = this;
  if (kernel.module)
    copyParameters();
  if (counters)
    counting = std::make_unique<AccessCounters>(numThreads);
  clocks.startLaunch();
  std::vector<uint32_t> blocks(count(grid));
  std::iota(blocks.begin(), blocks.end(), 0);
  if (options.seed)
    for (size_t i = blocks.size(); i > 1; --i)
      std::swap(blocks[i - 1], blocks[random() % i]);
  for (uint32_t number : blocks) {
    runBlock(number);
    if (!fault.empty())
      return Status::internal(fault);
  }
  if (counters) {
    ++counters->launches;
    counters->threads += blocks.size() * numThreads;
    counters->steps += steps;
    counting->addTo(*counters);
  }
  return {};
}

void Engine::startThreads(uint32_t number) {
  blockAt = unflatten(number, grid);
  ++own.blockEpoch;
  clocks.startBlock(number);
  if (options.checks) {
    std::fill_n(own.sharedWritten.begin(), sharedBytes, uint8_t{0});
    std::memset(shared, 0xff, sharedBytes);
  }
  numLive = numThreads;
  numAtBarrier = predicates = 0;
  barrierSite = nullptr;
  threads.resize(numThreads);
  for (auto &meeting : meetings)
    meeting.clear();
  live.fill(0);
  for (uint32_t i = 0; i < numThreads; ++i) {
    Thread &thread = threads[i];
    thread.index = unflatten(i, block);
    thread.number = i;
    thread.state = Thread::State::Fresh;
    thread.site = nullptr;
    thread.copies.clear();
    thread.copyGroup = 0;
    thread.hasFenced = false;
    live[thread.warp()] |= 1u << thread.lane();
  }
  ready = live;
  active = nullptr;
}

void Engine::runBlock(uint32_t number) {
  startThreads(number);
  goOn();
  if (fault.empty() && numLive)
    reportDeadlock();
  for (Thread &thread : threads)
    if (thread.fiber.stack)
      own.stacks.giveBack(std::exchange(thread.fiber.stack, nullptr));
  if (counting && fault.empty())
    counting->finishBlock();
}

void Engine::reportDeadlock() {
  std::string waiting;
  const Thread *previous = nullptr, *first = nullptr;
  uint32_t shown = 0;
  for (const Thread &thread : threads) {
    bool waits = thread.state == Thread::State::AtBarrier || thread.state == Thread::State::InWarp;
    if (waits && !first)
      first = &thread;
    if (waits && (!previous || previous->site != thread.site) && ++shown <= 4)
      waiting += text(shown > 1 ? "; thread " : "thread ", thread.number, " at ",
                      thread.state == Thread::State::AtBarrier ? "the barrier in "
                                                               : "the operation of its warp in ",
                      thread.site ? place(*thread.site) : "?");
    previous = waits ? &thread : nullptr;
  }
  reportFor(*first, first->site, text("the block waits forever: ", waiting));
}

Status launch(const Kernel &kernel, Dim3 grid, Dim3 block, uint32_t dynamicShared,
              void **parameters, Memory &memory, const Options &options, Counters *counters) {
  Engine engine(kernel, grid, block, dynamicShared, parameters, memory, options, counters);
  return engine.run();
}

} // namespace dtc::simt

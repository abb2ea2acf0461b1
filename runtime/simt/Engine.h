// Runs one launch: its blocks one after another, and the threads of a block as fibers that take
// turns.
#pragma once

#include "runtime/base/Text.h"
#include "runtime/simt/AccessCounters.h"
#include "runtime/simt/Clocks.h"
#include "runtime/simt/Fiber.h"
#include "runtime/simt/HostThread.h"
#include "runtime/simt/LaunchOptions.h"
#include "runtime/simt/Memory.h"
#include "runtime/simt/Module.h"

#include <array>
#include <string>
#include <vector>

namespace dtc::simt {

// Most shared memory of a block: what hardware gives (227 KiB on sm_90), and room for what hardware
// places elsewhere.
inline constexpr uint32_t maxSharedBytes = 228 * 1024;

// A thread of the running block.
struct Thread {
  // A thread has not started, is ready to run, waits for its block or its warp, or has ended.
  enum class State : uint8_t { Fresh, Ready, AtBarrier, InWarp, Done };

  Fiber fiber;
  Dim3 index;
  uint32_t number = 0; // number in its block
  State state = State::Fresh;
  const abi::Site *site = nullptr; // where it waits
  // The operation of its warp for which it waits.
  const uint32_t *given = nullptr;
  uint32_t *result = nullptr;
  uint32_t mask = 0;
  // A copy that was started and that the thread has not waited for yet.
  struct Copy {
    uint8_t *target;
    const uint8_t *source; // null: zeros
    uint32_t bytes, sourceBytes, group;
    const abi::Site *site;
  };
  std::vector<Copy> copies;
  uint32_t copyGroup = 0;
  bool hasFenced = false; // true if it passed a fence since its last write

  // Returns the thread's lane in its warp, 0 to 31.
  uint32_t lane() const { return number % warpThreads; }
  // Returns the number of the thread's warp in its block.
  uint32_t warp() const { return number / warpThreads; }
};

// The lanes of a warp that take part in an operation, when all of them have arrived.
struct Lanes {
  std::array<Thread *, warpThreads> at{}; // null for a lane that takes no part
  uint32_t mask = 0;
};

// Emulates one launch of a kernel and checks it.
class Engine {
public:
  Engine(const Kernel &kernel, Dim3 grid, Dim3 block, uint32_t dynamicShared, void **parameters,
         Memory &memory, const Options &options, Counters *counters);
  ~Engine();
  Engine(const Engine &) = delete;
  Engine &operator=(const Engine &) = delete;

  // Runs all blocks. Errors: InvalidArgument for a launch that hardware would refuse,
  // ResourceExhausted without memory below 4 GiB, Internal for a fault of the kernel.
  rt::Status run();

  // The functions below are for the functions that device code calls. They run on its fibers.

  // Returns the launch that this thread of the host runs.
  static Engine &current() { return *running; }

  Thread &thread() { return *active; }
  Dim3 gridSize() const { return grid; }
  Dim3 blockSize() const { return block; }
  Dim3 blockIndex() const { return blockAt; }
  // Returns a mask of the lanes of the warp that have not ended.
  uint32_t liveLanes(uint32_t warp) const { return live[warp]; }
  uint8_t *sharedBase() const { return shared; }
  // Returns the start of the block's dynamic shared memory, behind the static one.
  uint8_t *dynamicSharedBase() const { return shared + dynamicOffset; }
  // Returns true if the address is in the area reserved for shared memory, within the block's part
  // or not.
  bool isShared(const void *address) const {
    auto *at = static_cast<const uint8_t *>(address);
    return at >= shared && at < shared + sharedArenaBytes;
  }

  // An access of the running thread to memory.
  struct Touch {
    const void *address;
    uint64_t bytes;
    uint32_t align; // alignment that the instruction needs
    abi::Access access;
    abi::Space space; // the space that the instruction is for
  };
  // Counts and checks an access by the instruction at `site`. A fault ends the launch.
  void access(const Touch &touch, const abi::Site &site);
  // Counts a step. The launch ends with a fault if it makes too many.
  void step(const abi::Site *site);
  // Atomic accesses that follow publish the writes of the thread so far.
  void fence() { active->hasFenced = true; }

  // Waits for all threads of the block. Returns the number of threads whose predicate is true.
  uint32_t barrier(const abi::Site *site, bool predicate = false);
  // The work of an operation of a warp. It runs once, when all lanes have arrived, and writes the
  // result of each lane.
  using Combine = void (*)(Engine &, const Lanes &);
  // Takes part in an operation of the warp, with the lanes in `mask`. Gives it the words at
  // `given`, and waits until `combine` has written `result`; the lane that arrives last runs it.
  // `whole` means that all 32 lanes must take part. It is a fault if lanes meet at different
  // operations.
  void meet(uint32_t mask, const uint32_t *given, uint32_t *result, Combine combine,
            const abi::Site *site, bool whole = false);
  // Waits for the lanes of the warp in `mask`.
  void syncWarp(uint32_t mask, const abi::Site *site);

  // Sets the fault of the launch, found by the running thread; call abandon next. abandon does not
  // destroy the objects on the fiber, so the caller must own no memory when it calls it.
  void report(const abi::Site *site, const std::string &what) { reportFor(*active, site, what); }
  // Same as report, for another thread.
  void reportFor(const Thread &thread, const abi::Site *site, const std::string &what);
  // Ends the launch after report. Does not return.
  [[noreturn]] void abandon();

private:
  struct WarpSync {
    uint32_t mask, arrived;
    const abi::Site *site;
    Combine combine;
  };

  rt::Status checkLaunch() const;
  void copyParameters();
  void runBlock(uint32_t number);
  void startThreads(uint32_t number);
  void reportDeadlock();

  static void fiberMain();
  void finishThread();
  void completeSyncs(uint32_t warp);
  bool completeIfThere(uint32_t warp, size_t sync);
  // Leaves the running fiber for the next thread that is ready, or for the host if there is none.
  void goOn(bool ends = false);
  void switchTo(Thread *next, bool ends);
  void activate(Thread &next);
  Thread *nextReady();
  void setReady(const Thread &thread) { ready[thread.warp()] |= 1u << thread.lane(); }
  uint64_t random();

  void noteAtomic(const void *address);
  void checkGlobal(const Touch &touch, const abi::Site &site);
  void checkShared(const Touch &touch, const abi::Site &site);
  void reportOutside(const Range *below, const Touch &touch, const abi::Site &site);
  void checkWritten(const uint8_t *flags, const Touch &touch, const abi::Site &site,
                    const char *space);
  void checkRace(Races &races, uint64_t offset, uint64_t epoch, const Touch &touch,
                 const abi::Site &site, const char *space);

  static thread_local Engine *running;

  const Kernel &kernel;
  Dim3 grid, block;
  void **parameters;
  Memory &memory;
  Options options;
  Counters *counters;
  uint64_t launchNumber = 0;

  std::unique_ptr<uint8_t[]> parameterCopy;
  uint64_t parameterBytes = 0;
  std::vector<void *> parameterAddresses;

  // The running block.
  Dim3 blockAt;
  uint32_t numThreads;
  std::vector<Thread> threads;
  Thread *active = nullptr;
  Fiber host;
  Fiber *onFiber = &host, *left = nullptr;
  std::array<uint32_t, maxWarps> ready{}, live{};
  std::array<std::vector<WarpSync>, maxWarps> syncs;
  uint32_t numLive = 0, numAtBarrier = 0, predicates = 0, predicatesOfLast = 0;
  const abi::Site *barrierSite = nullptr;
  Clocks clocks;

  HostThread &own; // stacks and shared memory
  uint8_t *shared = nullptr;
  uint32_t sharedBytes = 0, dynamicOffset = 0;
  Range *lastRange = nullptr;

  uint64_t steps = 0, randomState = 0;
  std::string fault;
  std::unique_ptr<AccessCounters> counting;
};

} // namespace dtc::simt

// One launch: its blocks one after another, the threads of a block as fibers that run by turns.
#pragma once

#include "runtime/base/Text.h"
#include "runtime/simt/AccessCounters.h"
#include "runtime/simt/Clocks.h"
#include "runtime/simt/Fiber.h"
#include "runtime/simt/Simt.h"

#include <array>
#include <string>
#include <vector>

namespace dtc::simt {

// Shared memory of a block: the most that hardware gives (227 KiB on sm_90), and room for what it places apart here.
inline constexpr uint32_t maxSharedBytes = 228 * 1024;
inline constexpr uint32_t sharedArenaBytes =
    256 * 1024; // behind a block's part all is out of bounds

// What a thread of the host keeps from launch to launch.
struct HostThread {
  HostThread() = default;
  ~HostThread();
  HostThread(const HostThread &) = delete;
  HostThread &operator=(const HostThread &) = delete;

  // Shared memory lies below 4 GiB, since device code may hold its addresses in 32 bits. False when there is none.
  bool prepareShared();

  StackPool stacks;
  uint8_t *shared = nullptr;
  std::vector<uint8_t> sharedWritten; // a flag per byte
  Races sharedRaces;
  uint64_t blockEpoch = 0; // counts blocks
};

// A thread of the running block.
struct Thread {
  enum class State : uint8_t { Fresh, Ready, AtBarrier, InWarp, Done };

  Fiber fiber;
  Dim3 index;
  uint32_t number = 0; // of the block
  State state = State::Fresh;
  const abi::Site *site = nullptr; // where it waits
  // Of an operation of its warp that it waits in.
  const uint32_t *given = nullptr;
  uint32_t *result = nullptr;
  uint32_t mask = 0;
  // Copies that were started and not waited for.
  struct Copy {
    uint8_t *target;
    const uint8_t *source; // null: zeros
    uint32_t bytes, sourceBytes, group;
    const abi::Site *site;
  };
  std::vector<Copy> copies;
  uint32_t copyGroup = 0;
  bool hasFenced = false; // since its last write

  uint32_t lane() const { return number % warpThreads; }
  uint32_t warp() const { return number / warpThreads; }
};

// The lanes of a warp that take part in an operation, once all of them are there.
struct Lanes {
  std::array<Thread *, warpThreads> at{}; // null: takes no part
  uint32_t mask = 0;
};

class Engine {
public:
  Engine(const Kernel &kernel, Dim3 grid, Dim3 block, uint32_t dynamicShared, void **parameters,
         Memory &memory, const Options &options, Counters *counters);
  ~Engine();
  Engine(const Engine &) = delete;
  Engine &operator=(const Engine &) = delete;

  rt::Status run();

  // What follows is for the functions that device code calls, on its fibers.

  // The launch that this thread of the host runs.
  static Engine &current() { return *running; }

  Thread &thread() { return *active; }
  Dim3 gridSize() const { return grid; }
  Dim3 blockSize() const { return block; }
  Dim3 blockIndex() const { return blockAt; }
  uint32_t liveLanes(uint32_t warp) const { return live[warp]; }
  uint8_t *sharedBase() const { return shared; }
  uint8_t *dynamicSharedBase() const { return shared + dynamicOffset; }
  bool isShared(const void *address) const {
    auto *at = static_cast<const uint8_t *>(address);
    return at >= shared && at < shared + sharedArenaBytes;
  }

  // The running thread accesses memory by the instruction at `site`.
  struct Touch {
    const void *address;
    uint64_t bytes;
    uint32_t align; // that the instruction needs
    abi::Access access;
    abi::Space space; // that the instruction is for
  };
  void access(const Touch &touch, const abi::Site &site);
  // Counts a step; the kernel ends with a fault when there were too many.
  void step(const abi::Site *site);
  // Atomic accesses that follow publish what was written before.
  void fence() { active->hasFenced = true; }

  // Waits for all threads of the block. Returns how many of them gave a predicate that holds.
  uint32_t barrier(const abi::Site *site, bool predicate = false);
  // Gives `words` words to an operation of the warp among the lanes in `mask`; the last lane runs `combine` on all of
  // them, which writes each lane's result. `whole`: all 32 lanes have to take part.
  using Combine = void (*)(Engine &, const Lanes &);
  void meet(uint32_t mask, const uint32_t *given, uint32_t *result, Combine combine,
            const abi::Site *site, bool whole = false);
  void syncWarp(uint32_t mask, const abi::Site *site);

  // Ends the launch with a fault of the running thread. Nothing on the fiber is destroyed, so that a caller may own
  // nothing: first `report`, then, with the words gone, `abandon`.
  void report(const abi::Site *site, const std::string &what) { reportFor(*active, site, what); }
  void reportFor(const Thread &thread, const abi::Site *site, const std::string &what);
  [[noreturn]] void abandon();

  // Where a site is, as "Norm.cu:12" or its function.
  static std::string place(const abi::Site &site);

private:
  struct Meeting {
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
  void completeMeetings(uint32_t warp);
  bool completeIfThere(uint32_t warp, size_t meeting);
  // Leaves the running fiber for the next thread that is ready, or for the host.
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
  std::array<std::vector<Meeting>, maxWarps> meetings;
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

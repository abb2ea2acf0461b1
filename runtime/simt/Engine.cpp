// Runs a launch: checks it, copies its parameters and runs its blocks; the threads of a block as
// fibers, of which it chooses the next, with barriers and operations of a warp; and checks each
// access to memory.
#include "runtime/simt/Engine.h"

#include "runtime/simt/SiteLocation.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <numeric>

namespace dtc::simt {

using abi::Site;
using abi::Space;
using format::text;
using rt::Status;

thread_local Engine *Engine::running = nullptr;

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
      own(HostThread::current()), dynamicOffset((kernel.sharedBytes + 15) / 16 * 16) {
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
  for (auto &sync : syncs)
    sync.clear();
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
                      thread.site ? locationOf(*thread.site) : "?");
    previous = waits ? &thread : nullptr;
  }
  reportFor(*first, first->site, text("the block waits forever: ", waiting));
}

void Engine::reportFor(const Thread &thread, const Site *site, const std::string &what) {
  if (!fault.empty())
    return;
  fault = text("kernel '", kernel.name, "', block (", blockAt.x, ",", blockAt.y, ",", blockAt.z,
               "), thread (", thread.index.x, ",", thread.index.y, ",", thread.index.z, ")");
  if (site)
    fault += text(", ", locationOf(*site));
  fault += ": " + what;
}

void Engine::abandon() {
  switchTo(nullptr, /*ends=*/true);
  __builtin_unreachable();
}

uint64_t Engine::random() {
  randomState ^= randomState >> 12;
  randomState ^= randomState << 25;
  randomState ^= randomState >> 27;
  return randomState * 0x2545f4914f6cdd1d >> 16;
}

// Returns the next thread that is ready, starting behind the active one, or with a seed from a
// random one. Returns null if none is ready.
Thread *Engine::nextReady() {
  uint32_t start = options.seed ? static_cast<uint32_t>(random() % numThreads)
                   : active     ? (active->number + 1) % numThreads
                                : 0;
  uint32_t warps = (numThreads + warpThreads - 1) / warpThreads, warp = start / warpThreads;
  uint32_t lanes = ready[warp] & ~0u << start % warpThreads;
  for (uint32_t i = 0; !lanes && i < warps; ++i) {
    warp = (warp + 1) % warps;
    lanes = ready[warp];
  }
  if (!lanes)
    return nullptr;
  auto lane = static_cast<uint32_t>(std::countr_zero(lanes));
  ready[warp] &= ~(1u << lane);
  return &threads[warp * warpThreads + lane];
}

void Engine::activate(Thread &next) {
  active = &next;
  onFiber = &next.fiber;
  clocks.setThread(next.number);
}

void Engine::switchTo(Thread *next, bool ends) {
  Fiber &from = *onFiber;
  left = &from;
  if (next)
    activate(*next);
  else
    onFiber = &host;
  switchFiber(from, *onFiber, ends);
}

void Engine::goOn(bool ends) {
  Thread *next = nextReady();
  if (next && next == active && !ends)
    return; // it is its turn again
  if (next && next->state == Thread::State::Fresh) {
    char *stack = own.stacks.take();
    if (!stack) {
      reportFor(*next, nullptr, "there is no memory for its stack");
      next = nullptr;
    } else {
      next->fiber.prepare(stack, fiberMain);
    }
  }
  switchTo(next, ends);
}

void Engine::fiberMain() {
  Engine &engine = current();
  arriveOnFiber(engine.left);
  for (;;) {
    engine.active->state = Thread::State::Ready;
    engine.kernel.entry(engine.kernel.module ? engine.parameterAddresses.data()
                                             : engine.parameters);
    engine.finishThread();
    Thread &done = *engine.active;
    Thread *next = engine.nextReady();
    if (next && next->state ==
                    // it starts on the stack that the done thread no longer needs
                    Thread::State::Fresh) {
      next->fiber = std::exchange(done.fiber, {});
      engine.activate(*next);
      continue;
    }
    engine.own.stacks.giveBack(std::exchange(done.fiber.stack, nullptr));
    engine.switchTo(next, /*ends=*/true);
  }
}

void Engine::finishThread() {
  Thread &done = *active;
  done.state = Thread::State::Done;
  --numLive;
  live[done.warp()] &= ~(1u << done.lane());
  if (options.checks && !done.copies.empty()) {
    report(done.copies.front().site,
           "starts a copy to shared memory that its thread does not wait for");
    abandon();
  }
  if (numAtBarrier) {
    report(nullptr,
           text("ends while ", numAtBarrier, " threads of its block wait at the barrier in ",
                locationOf(*barrierSite)));
    abandon();
  }
  completeSyncs(done.warp());
}

uint32_t Engine::barrier(const Site *site, bool predicate) {
  step(site);
  if (numLive != numThreads) {
    report(site, text("waits at a barrier of its block, of which ", numThreads - numLive,
                      " threads have ended"));
    abandon();
  }
  if (numAtBarrier && barrierSite != site) {
    report(site, text("waits at this barrier, while ", numAtBarrier,
                      " threads of its block wait at the one in ", locationOf(*barrierSite)));
    abandon();
  }
  barrierSite = site;
  predicates += predicate;
  if (++numAtBarrier < numThreads) {
    active->state = Thread::State::AtBarrier;
    active->site = site;
    goOn();
    active->state = Thread::State::Ready;
    return predicatesOfLast;
  }
  numAtBarrier = 0;
  predicatesOfLast = std::exchange(predicates, 0);
  clocks.passBlockBarrier();
  for (const Thread &thread : threads)
    if (&thread != active)
      setReady(thread);
  return predicatesOfLast;
}

bool Engine::completeIfThere(uint32_t warp, size_t index) {
  WarpSync sync = syncs[warp][index];
  uint32_t wanted = sync.mask & live[warp];
  if ((sync.arrived & wanted) != wanted)
    return false;
  syncs[warp].erase(syncs[warp].begin() + static_cast<ptrdiff_t>(index));
  Lanes lanes;
  lanes.mask = sync.arrived;
  for (uint32_t rest = sync.arrived; rest; rest &= rest - 1) {
    auto lane = static_cast<uint32_t>(std::countr_zero(rest));
    lanes.at[lane] = &threads[warp * warpThreads + lane];
    if (lanes.at[lane] != active)
      setReady(*lanes.at[lane]);
  }
  sync.combine(*this, lanes);
  return true;
}

// A lane has ended: the others must not wait for it.
void Engine::completeSyncs(uint32_t warp) {
  for (size_t i = 0; i < syncs[warp].size();)
    i += completeIfThere(warp, i) ? 0 : 1;
}

void Engine::meet(uint32_t mask, const uint32_t *given, uint32_t *result, Combine combine,
                  const Site *site, bool whole) {
  step(site);
  uint32_t warp = active->warp(), bit = 1u << active->lane();
  if (!(mask & bit)) {
    report(site, text("lane ", active->lane(), " is not in the mask that it gives"));
    abandon();
  }
  if (whole && (mask != ~0u || live[warp] != ~0u)) {
    report(site, "needs all 32 lanes of the warp, of which some have ended or never were");
    abandon();
  }
  active->given = given;
  active->result = result;
  active->site = site;
  size_t index = 0;
  while (index < syncs[warp].size() && syncs[warp][index].mask != mask)
    ++index;
  if (index == syncs[warp].size())
    syncs[warp].push_back({mask, 0, site, combine});
  WarpSync &sync = syncs[warp][index];
  if (sync.site != site || sync.combine != combine) {
    report(site, text("lanes of one warp meet at different operations: this one, and the one in ",
                      locationOf(*sync.site)));
    abandon();
  }
  sync.arrived |= bit;
  if (completeIfThere(warp, index))
    return;
  active->state = Thread::State::InWarp;
  goOn();
  active->state = Thread::State::Ready;
}

void Engine::syncWarp(uint32_t mask, const Site *site) {
  Combine combine = [](Engine &engine, const Lanes &lanes) {
    for (const Thread *lane : lanes.at)
      if (lane) {
        engine.clocks.passWarpBarrier(lane->warp());
        return;
      }
  };
  meet(mask, nullptr, nullptr, combine, site);
}

void Engine::step(const Site *site) {
  if (++steps <= options.maxSteps)
    return;
  report(site, text("the launch does not end within ", options.maxSteps,
                    " steps; a block that waits for another one never does, as blocks run one "
                    "after another"));
  abandon();
}

static std::string hex(const void *address) {
  char digits[32];
  std::snprintf(digits, sizeof(digits), "%p", address);
  return digits;
}

static std::string describe(const Engine::Touch &touch) {
  const char *verb = !abi::writes(touch.access)  ? "reads "
                     : !abi::reads(touch.access) ? "writes "
                                                 : "changes ";
  return text(verb, touch.bytes, touch.bytes == 1 ? " byte" : " bytes", " at ", hex(touch.address));
}

// Handles an atomic access: with a seed, another block or thread may run first. If the thread has
// passed a fence, its earlier writes are published to threads that access `address` later.
void Engine::noteAtomic(const void *address) {
  if (options.seed && random() % 2) {
    setReady(*active);
    goOn();
  }
  if (active->hasFenced)
    clocks.release(address);
  clocks.acquire(address);
}

void Engine::access(const Touch &touch, const Site &site) {
  step(&site);
  if (touch.bytes == 0 || (!options.checks && !counting) || active->fiber.holds(touch.address))
    return; // local memory is not checked
  bool inShared = isShared(touch.address);
  auto number = reinterpret_cast<uint64_t>(touch.address);
  if (counting)
    counting->note(active->number, site,
                   inShared ? number - reinterpret_cast<uint64_t>(shared) : number, touch.bytes,
                   touch.align, inShared);
  if (!options.checks)
    return;
  if (touch.align > 1 && number % touch.align != 0) {
    report(&site, text(describe(touch), ", which is not a multiple of ", touch.align));
    abandon();
  }
  if (abi::isAtomic(touch.access))
    noteAtomic(touch.address);
  else if (abi::writes(touch.access))
    active->hasFenced = false;
  if (inShared)
    checkShared(touch, site);
  else
    checkGlobal(touch, site);
}

void Engine::checkWritten(const uint8_t *flags, const Touch &touch, const Site &site,
                          const char *space) {
  const void *found = std::memchr(flags, 0, touch.bytes);
  if (!found)
    return;
  report(&site, text(describe(touch), " of ", space, " memory, of which byte ",
                     static_cast<const uint8_t *>(found) - flags, " was never written"));
  abandon();
}

void Engine::checkRace(Races &races, uint64_t offset, uint64_t epoch, const Touch &touch,
                       const Site &site, const char *space) {
  Stamp other;
  if (races.note(offset, touch.bytes, touch.access, epoch, clocks, other))
    return;
  std::string ofBlock;
  if (other.block() != clocks.blockNumber())
    ofBlock = text(" of block ", other.block());
  report(&site,
         text(describe(touch), " of ", space, " memory, which thread ", other.threadOfBlock(),
              ofBlock, other.write ? " wrote" : " read", " without a barrier between: a race"));
}

void Engine::checkShared(const Touch &touch, const Site &site) {
  auto offset = static_cast<uint64_t>(static_cast<const uint8_t *>(touch.address) - shared);
  if (touch.space != Space::Generic && touch.space != Space::Shared) {
    report(&site, text(describe(touch), " of shared memory by an instruction for another space"));
    abandon();
  }
  if (offset + touch.bytes > sharedBytes) {
    report(&site, text(describe(touch), ", ", offset,
                       " bytes behind the start of shared memory, of which the block has ",
                       sharedBytes, " bytes"));
    abandon();
  }
  uint8_t *flags = own.sharedWritten.data() + offset;
  if (abi::reads(touch.access))
    checkWritten(flags, touch, site, "shared");
  if (abi::writes(touch.access))
    std::memset(flags, 1, touch.bytes);
  checkRace(own.sharedRaces, offset, own.blockEpoch, touch, site, "shared");
  if (!fault.empty())
    abandon();
}

void Engine::reportOutside(const Range *below, const Touch &touch, const Site &site) {
  std::string words = text(describe(touch), ", which is not memory of the kernel");
  if (below)
    words += text(": ", static_cast<const uint8_t *>(touch.address) - below->base,
                  " bytes behind the start of a range of ", below->bytes, " bytes");
  report(&site, words);
}

void Engine::checkGlobal(const Touch &touch, const Site &site) {
  auto *at = static_cast<const uint8_t *>(touch.address);
  if (!lastRange || !lastRange->contains(at, touch.bytes)) {
    const uint8_t *parameter = parameterCopy.get();
    if (!abi::writes(touch.access) && parameter && at >= parameter &&
        at + touch.bytes <= parameter + parameterBytes)
      return;
    Range *variable = kernel.module ? kernel.module->findRange(at) : nullptr;
    Range *range = variable ? variable : memory.findBefore(at);
    if (!range || !range->contains(at, touch.bytes)) {
      reportOutside(range, touch, site);
      abandon();
    }
    lastRange = range;
  }
  if (touch.space == Space::Shared) {
    report(&site, text(describe(touch), " of global memory by an instruction for shared memory"));
    abandon();
  }
  auto offset = static_cast<uint64_t>(at - lastRange->base);
  uint8_t *flags = lastRange->written + offset;
  if (abi::reads(touch.access))
    checkWritten(flags, touch, site, "global");
  if (abi::writes(touch.access))
    std::memset(flags, 1, touch.bytes);
  checkRace(lastRange->races, offset, launchNumber, touch, site, "global");
  if (!fault.empty())
    abandon();
}

} // namespace dtc::simt

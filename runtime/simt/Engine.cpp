// Runs the threads of a block as fibers: chooses which one runs next, and does barriers and
// operations of a warp.
#include "runtime/simt/Engine.h"

#include <bit>

namespace dtc::simt {

using abi::Site;
using format::text;

std::string Engine::place(const Site &site) {
  if (site.file[0] == '\0')
    return text("'", site.function, "'");
  std::string file = site.file;
  return text(file.substr(file.rfind('/') + 1), ":", site.line);
}

void Engine::reportFor(const Thread &thread, const Site *site, const std::string &what) {
  if (!fault.empty())
    return;
  fault = text("kernel '", kernel.name, "', block (", blockAt.x, ",", blockAt.y, ",", blockAt.z,
               "), thread (", thread.index.x, ",", thread.index.y, ",", thread.index.z, ")");
  if (site)
    fault += text(", ", place(*site));
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
    report(nullptr, text("ends while ", numAtBarrier,
                         " threads of its block wait at the barrier in ", place(*barrierSite)));
    abandon();
  }
  completeMeetings(done.warp());
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
                      " threads of its block wait at the one in ", place(*barrierSite)));
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
  Meeting meeting = meetings[warp][index];
  uint32_t wanted = meeting.mask & live[warp];
  if ((meeting.arrived & wanted) != wanted)
    return false;
  meetings[warp].erase(meetings[warp].begin() + static_cast<ptrdiff_t>(index));
  Lanes lanes;
  lanes.mask = meeting.arrived;
  for (uint32_t rest = meeting.arrived; rest; rest &= rest - 1) {
    auto lane = static_cast<uint32_t>(std::countr_zero(rest));
    lanes.at[lane] = &threads[warp * warpThreads + lane];
    if (lanes.at[lane] != active)
      setReady(*lanes.at[lane]);
  }
  meeting.combine(*this, lanes);
  return true;
}

// A lane has ended: the others must not wait for it.
void Engine::completeMeetings(uint32_t warp) {
  for (size_t i = 0; i < meetings[warp].size();)
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
  while (index < meetings[warp].size() && meetings[warp][index].mask != mask)
    ++index;
  if (index == meetings[warp].size())
    meetings[warp].push_back({mask, 0, site, combine});
  Meeting &meeting = meetings[warp][index];
  if (meeting.site != site || meeting.combine != combine) {
    report(site, text("lanes of one warp meet at different operations: this one, and the one in ",
                      place(*meeting.site)));
    abandon();
  }
  meeting.arrived |= bit;
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

} // namespace dtc::simt

// Indices, barriers and operations of a warp.
#include "runtime/simt/ThreadFunctions.h"

#include "runtime/simt/Engine.h"

#include <bit>

namespace dtc::simt::device {

using format::text;

template <Index index, int dim> uint32_t readIndex() {
  Engine &engine = Engine::current();
  Dim3 at = index == Index::Thread      ? engine.thread().index
            : index == Index::BlockSize ? engine.blockSize()
            : index == Index::Block     ? engine.blockIndex()
                                        : engine.gridSize();
  return dim == 0 ? at.x : dim == 1 ? at.y : at.z;
}
uint32_t readLane() { return Engine::current().thread().lane(); }
uint32_t readWarp() { return Engine::current().thread().warp(); }
uint32_t readWarpSize() { return warpThreads; }

template <Order order> uint32_t readLaneMask() {
  uint32_t bit = 1u << readLane();
  switch (order) {
  case Order::Less:
    return bit - 1;
  case Order::LessOrEqual:
    return bit | (bit - 1);
  case Order::Equal:
    return bit;
  case Order::GreaterOrEqual:
    return ~(bit - 1);
  case Order::Greater:
    return ~(bit | (bit - 1));
  }
  return 0;
}

// Lanes run one after another, so the emulator chooses which of them count as active: all that have
// not ended.
uint32_t readActiveMask(const Site *site) {
  Engine &engine = Engine::current();
  engine.step(site);
  return engine.liveLanes(engine.thread().warp());
}

void syncBlock(uint32_t, const Site *site) { Engine::current().barrier(site); }

void syncBlockOf(uint32_t barrier, uint32_t threads, const Site *site) {
  Engine &engine = Engine::current();
  Dim3 size = engine.blockSize();
  if (threads != size.x * size.y * size.z) {
    engine.report(site, text("barrier ", barrier, " of ", threads,
                             " threads, which are not all of the block, is not emulated"));
    engine.abandon();
  }
  engine.barrier(site);
}

static uint32_t blockThreads() {
  Dim3 size = Engine::current().blockSize();
  return size.x * size.y * size.z;
}
uint32_t syncBlockAll(uint32_t, uint32_t predicate, const Site *site) {
  return Engine::current().barrier(site, predicate != 0) == blockThreads();
}
uint32_t syncBlockAny(uint32_t, uint32_t predicate, const Site *site) {
  return Engine::current().barrier(site, predicate != 0) != 0;
}
uint32_t syncBlockCount(uint32_t, uint32_t predicate, const Site *site) {
  return Engine::current().barrier(site, predicate != 0);
}
void syncWarp(uint32_t mask, const Site *site) { Engine::current().syncWarp(mask, site); }

// Returns the lane that lane `lane` reads, as in the PTX ISA's table of shfl.sync. `control` has
// the mask of segments in bits 8 to 12 and the last lane of a segment in bits 0 to 4.
template <Shuffle kind>
static uint32_t sourceLane(uint32_t lane, uint32_t by, uint32_t control, bool &inRange) {
  uint32_t segment = control >> 8 & 31, clamp = control & 31;
  uint32_t last = (lane & segment) | (clamp & ~segment), first = lane & segment;
  uint32_t source;
  if constexpr (kind == Shuffle::Up) {
    inRange = static_cast<int32_t>(lane - (by & 31)) >= static_cast<int32_t>(last);
    source = lane - (by & 31);
  } else if constexpr (kind == Shuffle::Down) {
    source = lane + (by & 31);
    inRange = source <= last;
  } else if constexpr (kind == Shuffle::Butterfly) {
    source = lane ^ (by & 31);
    inRange = source <= last;
  } else {
    source = first | (by & 31 & ~segment);
    inRange = source <= last;
  }
  return inRange ? source : lane;
}

template <Shuffle kind> static void combineShuffle(Engine &engine, const Lanes &lanes) {
  for (uint32_t lane = 0; lane < warpThreads; ++lane) {
    Thread *to = lanes.at[lane];
    if (!to)
      continue;
    bool inRange = false;
    uint32_t source = sourceLane<kind>(lane, to->given[1], to->given[2], inRange);
    const Thread *from = source < warpThreads ? lanes.at[source] : nullptr;
    if (!from) {
      engine.reportFor(*to, to->site,
                       text("lane ", lane, " reads a value of lane ", source,
                            ", which takes no part in the shuffle"));
      engine.abandon();
    }
    to->result[0] = from->given[0];
    to->result[1] = inRange;
  }
}

template <Shuffle kind>
void shuffleWithPredicate(uint32_t *result, uint32_t mask, uint32_t value, uint32_t lane,
                          uint32_t control, const Site *site) {
  uint32_t given[3] = {value, lane, control};
  Engine::current().meet(mask, given, result, combineShuffle<kind>, site);
}
template <Shuffle kind>
uint32_t shuffle(uint32_t mask, uint32_t value, uint32_t lane, uint32_t control, const Site *site) {
  uint32_t result[2];
  shuffleWithPredicate<kind>(result, mask, value, lane, control, site);
  return result[0];
}

// The lanes whose predicate holds.
static uint32_t ballot(uint32_t mask, uint32_t predicate, uint32_t &taking, const Site *site) {
  Engine::Combine combine = [](Engine &, const Lanes &lanes) {
    uint32_t holds = 0;
    for (uint32_t lane = 0; lane < warpThreads; ++lane)
      if (lanes.at[lane] && *lanes.at[lane]->given)
        holds |= 1u << lane;
    for (Thread *thread : lanes.at)
      if (thread) {
        thread->result[0] = holds;
        thread->result[1] = lanes.mask;
      }
  };
  uint32_t result[2];
  Engine::current().meet(mask, &predicate, result, combine, site);
  taking = result[1];
  return result[0];
}
uint32_t voteBallot(uint32_t mask, uint32_t predicate, const Site *site) {
  uint32_t taking;
  return ballot(mask, predicate, taking, site);
}
uint32_t voteAll(uint32_t mask, uint32_t predicate, const Site *site) {
  uint32_t taking;
  uint32_t holds = ballot(mask, predicate, taking, site);
  return holds == taking;
}
uint32_t voteAny(uint32_t mask, uint32_t predicate, const Site *site) {
  return voteBallot(mask, predicate, site) != 0;
}
uint32_t voteUniform(uint32_t mask, uint32_t predicate, const Site *site) {
  uint32_t taking;
  uint32_t holds = ballot(mask, predicate, taking, site);
  return holds == 0 || holds == taking;
}

uint32_t matchAny(uint32_t mask, uint32_t value, const Site *site) {
  Engine::Combine combine = [](Engine &, const Lanes &lanes) {
    for (Thread *thread : lanes.at) {
      if (!thread)
        continue;
      *thread->result = 0;
      for (uint32_t lane = 0; lane < warpThreads; ++lane)
        if (lanes.at[lane] && *lanes.at[lane]->given == *thread->given)
          *thread->result |= 1u << lane;
    }
  };
  uint32_t result;
  Engine::current().meet(mask, &value, &result, combine, site);
  return result;
}

template <Reduce kind> static uint32_t combineTwo(uint32_t a, uint32_t b) {
  auto x = static_cast<int32_t>(a), y = static_cast<int32_t>(b);
  switch (kind) {
  case Reduce::Add:
    return a + b;
  case Reduce::And:
    return a & b;
  case Reduce::Or:
    return a | b;
  case Reduce::Xor:
    return a ^ b;
  case Reduce::Min:
    return x < y ? a : b;
  case Reduce::Max:
    return x > y ? a : b;
  case Reduce::UnsignedMin:
    return a < b ? a : b;
  case Reduce::UnsignedMax:
    return a > b ? a : b;
  }
  return 0;
}

template <Reduce kind> uint32_t reduce(uint32_t value, uint32_t mask, const Site *site) {
  Engine::Combine combine = [](Engine &, const Lanes &lanes) {
    const Thread *first = nullptr;
    uint32_t all = 0;
    for (const Thread *thread : lanes.at)
      if (thread) {
        all = first ? combineTwo<kind>(all, *thread->given) : *thread->given;
        first = thread;
      }
    for (Thread *thread : lanes.at)
      if (thread)
        *thread->result = all;
  };
  uint32_t result;
  Engine::current().meet(mask, &value, &result, combine, site);
  return result;
}

#define DTC_INDEX(index)                                                                           \
  template uint32_t readIndex<index, 0>();                                                         \
  template uint32_t readIndex<index, 1>();                                                         \
  template uint32_t readIndex<index, 2>();
DTC_INDEX(Index::Thread)
DTC_INDEX(Index::BlockSize)
DTC_INDEX(Index::Block)
DTC_INDEX(Index::GridSize)
#undef DTC_INDEX
template uint32_t readLaneMask<Order::Less>();
template uint32_t readLaneMask<Order::LessOrEqual>();
template uint32_t readLaneMask<Order::Equal>();
template uint32_t readLaneMask<Order::GreaterOrEqual>();
template uint32_t readLaneMask<Order::Greater>();
#define DTC_SHUFFLE(kind)                                                                          \
  template uint32_t shuffle<kind>(uint32_t, uint32_t, uint32_t, uint32_t, const Site *);           \
  template void shuffleWithPredicate<kind>(uint32_t *, uint32_t, uint32_t, uint32_t, uint32_t,     \
                                           const Site *);
DTC_SHUFFLE(Shuffle::Up)
DTC_SHUFFLE(Shuffle::Down)
DTC_SHUFFLE(Shuffle::Butterfly)
DTC_SHUFFLE(Shuffle::Index)
#undef DTC_SHUFFLE
#define DTC_REDUCE(kind) template uint32_t reduce<kind>(uint32_t, uint32_t, const Site *);
DTC_REDUCE(Reduce::Add)
DTC_REDUCE(Reduce::And)
DTC_REDUCE(Reduce::Or)
DTC_REDUCE(Reduce::Xor)
DTC_REDUCE(Reduce::Min)
DTC_REDUCE(Reduce::Max)
DTC_REDUCE(Reduce::UnsignedMin)
DTC_REDUCE(Reduce::UnsignedMax)
#undef DTC_REDUCE

} // namespace dtc::simt::device

#include "compiler/prove/verify/SkipPeriods.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace dtc {
namespace {

// So many states are compared: it takes as many periods to fill all slots.
constexpr uint32_t kMostTries = 64;

} // namespace

PeriodSkipper::PeriodSkipper(ProgramState &state)
    : state(state), steps(state.steps), numStreams(state.clocks.numStreams()) {
  std::vector<format::Run> order;
  for (const format::Run *run : *steps.entry.order())
    order.push_back(*run);
  period = findPeriod(order);
  if (!period)
    return;
  for (uint32_t i = 0; i < order.size(); ++i) {
    lastRuns.resize(std::max<size_t>(lastRuns.size(), order[i].micro_batch() + 1));
    lastRuns[order[i].micro_batch()] = i;
  }
  boundary = period->begin;
  collectUses();
  if (!findSlots() || !findOrders() || !staysApart())
    period.reset();
}

void PeriodSkipper::collectUses() {
  std::set<uint32_t> tasks;
  for (uint32_t run = period->begin; run < period->begin + period->length; ++run)
    tasks.insert(steps.entry.order()->Get(run)->task());
  for (uint32_t task : tasks)
    for (const Executed &each : steps.executed(task)) {
      const Accesses &accesses = steps.accesses(task, each.instruction);
      if (accesses.source->runs() != format::Runs::last)
        for (const Touch &touch : accesses.touches)
          (steps.movesOn(touch) ? moving : uses).push_back({&touch, each.layer, task});
    }
}

// Finds the number of slots of each storage. Returns false if two views of a storage disagree.
bool PeriodSkipper::findSlots() {
  auto add = [&](uint64_t storage, uint32_t slots) {
    return slotsOf.try_emplace(storage, slots).first->second == slots;
  };
  for (const format::Buffer *buffer : *steps.program.buffers()) {
    uint32_t slots = buffer->slot_stride() > 0 ? buffer->slots() : 1;
    if (format::sizeOf(buffer->layer_storages()) == 0 && !add(buffer->storage(), slots))
      return false;
    for (uint32_t i = 0; i < format::sizeOf(buffer->layer_storages()); ++i)
      if (!add(buffer->layer_storages()->Get(i), slots))
        return false;
  }
  return true;
}

// Maps cycle[s] to cycle[s + shift], its counterpart one period later. Returns false if another
// cycle maps an entry differently.
bool PeriodSkipper::addCycle(const std::vector<uint32_t> &cycle, Order &order,
                             std::vector<bool> &isSet) const {
  for (size_t slot = 0; slot < cycle.size(); ++slot) {
    uint32_t from = cycle[slot], to = cycle[(slot + period->shift) % cycle.size()];
    if (isSet[from] && order[from] != to)
      return false;
    isSet[from] = true;
    order[from] = to;
  }
  return true;
}

// The segments of each slot, which must be cut at the same places.
bool PeriodSkipper::addSlots(const Use &use, std::vector<bool> &isSet) {
  uint32_t slots = steps.program.buffers()->Get(use.touch->buffer)->slots();
  const Segments &segments = steps.segments;
  for (const Piece &piece : use.touch->pieces) {
    std::vector<uint32_t> cycle(slots);
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < slots; ++slot) {
      Steps::Range range = steps.rangeOf(*use.touch, piece, format::Run(use.task, slot), use.layer);
      SegmentSpan span = segments.find(range.begin, range.end);
      bool isWhole = span.first < span.last && segments.begin(span.first) == range.begin &&
                     segments.end(span.last - 1) == range.end;
      if (!isWhole || (slot > 0 && span.last - span.first != count))
        return false;
      count = span.last - span.first;
      cycle[slot] = span.first;
    }
    auto bytesOf = [&](uint32_t i) { return segments.end(i) - segments.begin(i); };
    for (uint32_t i = 0; i < count; ++i) {
      if (!std::all_of(cycle.begin(), cycle.end(),
                       [&](uint32_t each) { return bytesOf(each) == bytesOf(cycle[0]); }) ||
          !addCycle(cycle, segmentAfter, isSet))
        return false;
      for (uint32_t &each : cycle)
        ++each;
    }
  }
  return true;
}

bool PeriodSkipper::findOrders() {
  segmentAfter.resize(steps.segments.size());
  eventAfter.resize(steps.program.num_events());
  std::iota(segmentAfter.begin(), segmentAfter.end(), 0u);
  std::iota(eventAfter.begin(), eventAfter.end(), 0u);
  std::vector<bool> isSet(segmentAfter.size()), isEventSet(eventAfter.size());
  for (const Use &use : uses)
    if (steps.program.buffers()->Get(use.touch->buffer)->slots() > 1 && !addSlots(use, isSet))
      return false;
  // Memory that is used without slots, too, stays where it is.
  for (const Use &use : uses)
    if (steps.program.buffers()->Get(use.touch->buffer)->slots() == 1)
      for (size_t piece = 0; piece < use.touch->pieces.size(); ++piece) {
        SegmentSpan span = steps.spanOf(*use.touch, piece, format::Run(use.task, 0), use.layer);
        for (uint32_t i = span.first; i < span.last; ++i)
          if (segmentAfter[i] != i)
            return false;
      }
  std::set<uint32_t> seen;
  for (uint32_t run = period->begin; run < period->begin + period->length; ++run) {
    uint32_t task = steps.entry.order()->Get(run)->task();
    if (!seen.insert(task).second)
      continue;
    for (const Executed &each : steps.executed(task)) {
      const format::Instruction &source = *steps.accesses(task, each.instruction).source;
      auto add = [&](const auto *op) {
        if (!op)
          return true;
        std::vector<uint32_t> cycle;
        for (uint32_t slot = 0; slot < op->slots(); ++slot)
          cycle.push_back(format::eventOf(*op, each.layer, slot));
        return addCycle(cycle, eventAfter, isEventSet);
      };
      if (source.runs() != format::Runs::last &&
          (!add(source.op_as_Record()) || !add(source.op_as_Wait())))
        return false;
    }
  }
  return true;
}

// Returns true if memory that differs between micro-batches is only read in a period.
bool PeriodSkipper::staysApart() {
  std::vector<bool> &moves = isElsewhere;
  moves.resize(steps.segments.size());
  for (const Use &use : moving) {
    if (use.touch->writes || steps.program.buffers()->Get(use.touch->buffer)->slots() > 1)
      return false;
    for (const format::Run *run : *steps.entry.order())
      if (run->task() == use.task)
        steps.visit(*use.touch, *run, use.layer, [&](SegmentSpan span) {
          std::fill(moves.begin() + span.first, moves.begin() + span.last, true);
        });
  }
  for (const Use &use : uses) {
    uint32_t slots = steps.program.buffers()->Get(use.touch->buffer)->slots();
    bool meets = false;
    for (uint32_t slot = 0; use.touch->writes && slot < slots; ++slot)
      steps.visit(*use.touch, format::Run(use.task, slot), use.layer, [&](SegmentSpan span) {
        meets |= std::find(moves.begin() + span.first, moves.begin() + span.last, true) !=
                 moves.begin() + span.last;
      });
    if (meets)
      return false;
  }
  return true;
}

// Reduces a time to its rank: the number of observed times of the stream before it.
uint32_t PeriodSkipper::Snapshot::rankOf(size_t stream, uint32_t time) const {
  const std::vector<uint32_t> &all = seen[stream];
  return static_cast<uint32_t>(std::lower_bound(all.begin(), all.end(), time) - all.begin());
}

PeriodSkipper::Snapshot PeriodSkipper::take() const {
  const std::vector<Content> &contents = state.memory.contents;
  Snapshot now{state.at.run,
               contents,
               std::vector<bool>(contents.size()),
               state.memory.readTimes,
               state.clocks,
               {},
               state.channels.counts(),
               state.channels.posted(),
               state.executed};
  for (size_t i = 0; i < contents.size(); ++i)
    now.awaited[i] = !state.memory.brought().isRead(contents[i].origin.communication);
  for (uint32_t stream = 0; stream < numStreams; ++stream) {
    std::set<uint32_t> times;
    for (const auto *all : {&now.clocks.ofStreams(), &now.clocks.ofEvents()})
      for (const Clocks::Clock &clock : *all)
        if (!clock.empty())
          times.insert(clock[stream]);
    now.seen.emplace_back(times.begin(), times.end());
  }
  return now;
}

bool PeriodSkipper::areTimesEqual(const Snapshot &now) const {
  auto isSame = [&](const Clocks::Clock &a, const Clocks::Clock &b) {
    if (a.size() != b.size())
      return false;
    for (size_t stream = 0; stream < a.size(); ++stream)
      if (last->rankOf(stream, a[stream]) != now.rankOf(stream, b[stream]))
        return false;
    return true;
  };
  for (size_t stream = 0; stream < numStreams; ++stream)
    if (!isSame(last->clocks.ofStreams()[stream], now.clocks.ofStreams()[stream]))
      return false;
  for (size_t event = 0; event < eventAfter.size(); ++event)
    if (!isSame(last->clocks.ofEvents()[event], now.clocks.ofEvents()[eventAfter[event]]))
      return false;
  return true;
}

uint64_t PeriodSkipper::storageAfter(uint64_t storage, uint32_t periods) const {
  uint64_t slot = storage & 0xfffff;
  auto found = slotsOf.find(storage >> 20);
  uint64_t slots = found == slotsOf.end() ? 1 : found->second;
  return (storage >> 20) << 20 | (slot + uint64_t(period->shift) * periods) % slots;
}

// Returns true if no later run belongs to the micro-batch that wrote the bytes.
bool PeriodSkipper::isPast(const Provenance &origin) const {
  return origin.microBatch == kStep || lastRuns[static_cast<size_t>(origin.microBatch)] < last->run;
}

// Returns true if two contents agree in all that a period leaves as it is.
bool PeriodSkipper::isSameMeaning(const Content &a, const Content &b) const {
  auto originOf = [](const Provenance &origin) {
    return std::tie(origin.step, origin.stream, origin.isWritten, origin.columns);
  };
  return a.value == b.value && a.liveness == b.liveness && a.tensor == b.tensor &&
         a.addends.isMixed == b.addends.isMixed && originOf(a.origin) == originOf(b.origin);
}

// Returns true if the same run wrote `a` and `b`, or one a period later that of `b`.
bool PeriodSkipper::isSameWriter(const Content &a, const Content &b, bool changesSegment) const {
  const Addends &sum = a.addends, &later = b.addends;
  if (a.origin.run == b.origin.run) // or nobody
    return a.origin.microBatch == b.origin.microBatch && sum.count == later.count &&
           (!changesSegment || !a.origin.isWritten) && isPast(a.origin);
  const auto &order = *steps.entry.order();
  return a.origin.run + period->length == b.origin.run &&
         order.Get(a.origin.run)->task() == order.Get(b.origin.run)->task() &&
         a.origin.microBatch != kStep &&
         a.origin.microBatch + static_cast<int32_t>(period->shift) == b.origin.microBatch &&
         (sum.count == later.count ||
          (!changesSegment && sum.count < later.count && sum.begun == later.begun));
}

// Returns true if a segment's content equals, one period on, that of the segment whose role it
// takes over.
bool PeriodSkipper::isEqual(const Snapshot &now, uint32_t segment) const {
  uint32_t target = segmentAfter[segment];
  const Content &a = last->contents[segment], &b = now.contents[target];
  bool changesSegment = target != segment;
  uint64_t storage =
      changesSegment && a.origin.isWritten ? storageAfter(a.origin.storage, 1) : a.origin.storage;
  if (!isSameMeaning(a, b) || last->awaited[segment] != now.awaited[target] ||
      storage != b.origin.storage)
    return false;
  if ((a.origin.time == 0) != (b.origin.time == 0) ||
      last->rankOf(a.origin.stream, a.origin.time) != now.rankOf(b.origin.stream, b.origin.time))
    return false;
  for (uint32_t stream = 0; stream < numStreams; ++stream)
    if (last->rankOf(stream, last->readTimes[segment * numStreams + stream]) !=
        now.rankOf(stream, now.readTimes[target * numStreams + stream]))
      return false;
  return isSameWriter(a, b, changesSegment);
}

bool PeriodSkipper::isEqual(const Snapshot &now) const {
  if (!areTimesEqual(now))
    return false;
  for (uint32_t i = 0; i < segmentAfter.size(); ++i)
    if (isElsewhere[i] ? !isPast(now.contents[i].origin) : !isEqual(now, i))
      return false;
  return true;
}

// Inputs of the micro-batches that are skipped, by those of the period that was followed.
bool PeriodSkipper::readsEqually(const Use &use, const format::Run &run, uint32_t periods,
                                 bool marks) {
  Memory &memory = state.memory;
  auto isLike = [](const Content &a, const Content &b) {
    auto originOf = [](const Provenance &origin) {
      return std::tie(origin.storage, origin.communication, origin.microBatch, origin.isWritten,
                      origin.columns);
    };
    return a.value == b.value && a.tensor == b.tensor &&
           a.liveness.isGradient == b.liveness.isGradient &&
           originOf(a.origin) == originOf(b.origin);
  };
  for (size_t piece = 0; piece < use.touch->pieces.size(); ++piece) {
    SegmentSpan followed = steps.spanOf(*use.touch, piece, run, use.layer);
    if (followed.first == followed.last)
      continue;
    const Content &first = memory.contents[followed.first];
    for (uint32_t later = 0; later <= periods; ++later) {
      format::Run other(run.task(), run.micro_batch() + later * period->shift);
      SegmentSpan span = steps.spanOf(*use.touch, piece, other, use.layer);
      for (uint32_t i = span.first; i < span.last; ++i) {
        Content &content = memory.contents[i];
        if (content.origin.time != 0 || !isLike(content, first))
          return false;
        content.liveness.isRead |= marks;
        for (uint32_t stream = 0; marks && stream < numStreams; ++stream) {
          uint32_t &time = memory.readTimes[i * numStreams + stream];
          time = std::max(time, memory.readTimes[followed.first * numStreams + stream]);
        }
      }
    }
  }
  return true;
}

bool PeriodSkipper::readsEqually(uint32_t periods) {
  for (bool marks : {false, true})
    for (uint32_t run = last->run; run < state.at.run; ++run)
      for (const Use &use : moving)
        if (const format::Run &of = *steps.entry.order()->Get(run);
            of.task() == use.task && !readsEqually(use, of, periods, marks))
          return false;
  return true;
}

// An order done `times` times.
PeriodSkipper::Order PeriodSkipper::power(Order order, uint32_t times) {
  Order all(order.size());
  std::iota(all.begin(), all.end(), 0u);
  auto after = [](const Order &first, const Order &then) {
    Order both(first.size());
    for (size_t i = 0; i < first.size(); ++i)
      both[i] = then[first[i]];
    return both;
  };
  for (; times > 0; times /= 2) {
    if (times % 2 == 1)
      all = after(all, order);
    order = after(order, order);
  }
  return all;
}

// Moves the content of a segment, which was in `before` a period ago, on to segment `next`.
void PeriodSkipper::moveSegment(const Snapshot &now, uint32_t before, uint32_t next,
                                uint32_t periods) {
  uint32_t target = segmentAfter[before];
  Content content = now.contents[target];
  const Content &was = last->contents[before];
  Provenance &origin = content.origin;
  if (target != before && origin.isWritten)
    origin.storage = storageAfter(origin.storage, periods);
  if (origin.run != was.origin.run) {
    origin.run += periods * period->length;
    origin.microBatch += static_cast<int32_t>(periods * period->shift);
    content.addends.count += periods * (content.addends.count - was.addends.count);
  }
  state.memory.contents[next] = content;
  std::copy_n(now.readTimes.begin() + target * numStreams, numStreams,
              state.memory.readTimes.begin() + next * numStreams);
}

void PeriodSkipper::moveOn(const Snapshot &now, uint32_t periods) {
  Order segments = power(segmentAfter, periods), events = power(eventAfter, periods);
  for (uint32_t before = 0; before < segments.size(); ++before)
    if (!isElsewhere[before])
      moveSegment(now, before, segments[segmentAfter[before]], periods);
  for (uint32_t event = 0; event < events.size(); ++event)
    state.clocks.setEvent(events[event], now.clocks.ofEvents()[event]);
  state.channels.skip(last->met, periods);
  state.channels.repeat(last->posted, now.posted, periods);
  state.at.skip(last->run, now.run, periods);
  state.executed += periods * (now.executed - last->executed);
  state.skipped += periods * (now.executed - last->executed);
}

void PeriodSkipper::beforeRun() {
  if (!period || state.at.run != boundary)
    return;
  Snapshot now = take();
  uint32_t periods = (period->end - boundary) / period->length;
  if (last && periods > 0 && isEqual(now) && readsEqually(periods)) {
    moveOn(now, periods);
    period.reset();
  }
  if (++tries > kMostTries || periods < 2)
    period.reset();
  if (period) {
    last = std::move(now);
    boundary += period->length;
  } else {
    last.reset();
  }
}

} // namespace dtc

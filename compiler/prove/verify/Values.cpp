#include "compiler/prove/verify/Values.h"

#include "compiler/prove/verify/SkipPeriods.h"
#include "runtime/format/Description.h"

#include <algorithm>
#include <set>

namespace dtc {

using format::text;

Board::Counts Board::counts(uint32_t program) const {
  Counts all;
  for (auto each = posted.lower_bound({program, 0, 0});
       each != posted.end() && each->first.program == program; ++each)
    all[each->first] = each->second.size();
  return all;
}

void Board::repeat(const Counts &from, const Counts &to, uint32_t times) {
  for (const auto &[key, end] : to) {
    auto found = from.find(key);
    std::vector<Sent> &all = posted[key];
    for (uint32_t time = 0; time < times; ++time)
      for (size_t i = found == from.end() ? 0 : found->second; i < end; ++i)
        all.push_back(Sent(all[i]));
  }
}

bool Board::isAsExpected() const {
  return std::all_of(expected.begin(), expected.end(), [&](const Expected &each) {
    for (size_t i = each.from + each.length; i < each.from + each.length + each.count; ++i) {
      const Sent *sent = find(each.key, i), *before = find(each.key, i - each.length);
      if (!sent || !before || *sent != *before)
        return false;
    }
    return true;
  });
}

std::optional<Fault> Board::findWrongGuess() const {
  for (const Guess &each : guesses)
    if (const Sent *sent = find(each.key, each.number); sent && sent->partial)
      return each.fault;
  return std::nullopt;
}

Values::Values(const Steps &steps, const GroupAxes &groups, Board &board)
    : steps(steps), groups(groups), board(board), numStreams(steps.program.num_streams()),
      bytes(steps.segments.size()), readTimes(steps.segments.size() * numStreams),
      clocks(numStreams, std::vector<uint32_t>(numStreams)),
      eventClocks(steps.program.num_events()), communicationRead(1), communications(1),
      runsLeft(steps.runs), runsDone(steps.runs.size()) {
  fill();
}

AxisSet
Values::shardsOf(const flatbuffers::Vector<flatbuffers::Offset<format::ShardedDim>> *shards) const {
  AxisSet axes = 0;
  for (uint32_t i = 0; i < format::sizeOf(shards); ++i)
    axes |= static_cast<AxisSet>(1u << shards->Get(i)->axis());
  return axes & groups.varying(steps.index);
}

void Values::keep(uint32_t buffer, const std::string &name, AxisSet shards,
                  const format::Tensor *tensor, bool isShared, bool isInput) {
  const format::Buffer &of = *steps.program.buffers()->Get(buffer);
  tensors.push_back({name, shards, of.bytes() / format::bytesOf(of.dtype()), isShared, tensor});
  SegmentSpan span = spanOf(of);
  for (uint32_t i = span.first; i < span.last; ++i) {
    Byte &byte = bytes[i];
    byte.isWritten = true;
    byte.storage = steps.storageOf(buffer, format::Run(0, 0), 0);
    byte.axes = shards;
    byte.reduced = tensor ? kComplete : 0;
    byte.samples = isInput ? shards : 0;
    byte.tensor = tensor ? static_cast<uint32_t>(tensors.size()) : 0;
  }
}

// Initialises the state at the begin of a step.
void Values::fill() {
  std::set<std::string> elsewhere;
  for (uint32_t p = 0; p < steps.manifest.programs()->size(); ++p) {
    if (p == steps.index)
      continue;
    const format::Program &other = *steps.manifest.programs()->Get(p);
    for (const auto *all : {other.parameters(), other.optimizer_state()})
      for (uint32_t i = 0; i < format::sizeOf(all); ++i)
        elsewhere.insert(all->Get(i)->name()->str());
  }
  for (const auto *all : {steps.program.parameters(), steps.program.optimizer_state()})
    for (uint32_t i = 0; i < format::sizeOf(all); ++i) {
      const format::Tensor &tensor = *all->Get(i);
      keep(tensor.buffer(), tensor.name()->str(), shardsOf(tensor.shards()), &tensor,
           elsewhere.count(tensor.name()->str()) > 0);
    }
  for (const format::Input *input : *steps.program.inputs())
    keep(input->buffer(), input->name()->str(), shardsOf(input->shards()), nullptr,
         /*isShared=*/false, /*isInput=*/true);
  for (const format::Program *program : *steps.manifest.programs())
    for (const format::Input *input : *program->inputs())
      for (uint32_t i = 0; i < format::sizeOf(input->shards()); ++i)
        if (input->shards()->Get(i)->dim() == 1)
          batchAxes |= static_cast<AxisSet>(1u << input->shards()->Get(i)->axis());
  batchAxes &= groups.varying(steps.index);
  for (uint32_t i = 0; i < format::sizeOf(steps.program.scalars()); ++i)
    keep(steps.program.scalars()->Get(i)->buffer(), "a scalar", 0);
}

std::optional<Fault> Values::read(const Touch &touch, std::vector<Held> *held, bool adds) {
  std::optional<Fault> found;
  if (steps.lacksStorage(*steps.program.buffers()->Get(touch.buffer), layer))
    return fail("memory", text("uses ", steps.bufferName(touch.buffer),
                               ", which says of no storage that it is this layer's"));
  uint32_t time = clocks[now][now];
  uint64_t storage = steps.storageOf(touch.buffer, *current, layer);
  steps.visit(touch, *current, layer, [&](SegmentSpan span) {
    for (uint32_t i = span.first; i < span.last && !found; ++i) {
      Byte &byte = bytes[i];
      byte.isRead = true;
      found = checkRead(touch, byte, i, storage, adds);
      if (!found && byte.columns != ColumnSets::kAll)
        found = checkColumns(touch, byte, i, steps.segments.begin(span.first));
      readTimes[i * numStreams + now] = time;
      communicationRead[byte.communication] = true;
      if (!held)
        continue;
      Held next{steps.segments.begin(i),
                steps.segments.end(i),
                byte.axes,
                byte.reduced,
                byte.partial,
                byte.samples,
                byte.together,
                byte.isZero};
      if (!held->empty() && held->back().end == next.begin && held->back().isLike(next))
        held->back().end = next.end;
      else
        held->push_back(next);
    }
  });
  return found;
}

template <typename ValueOf>
std::optional<Fault> Values::write(const Touch &touch, ValueOf &&valueOf) {
  std::optional<Fault> found;
  if (steps.lacksStorage(*steps.program.buffers()->Get(touch.buffer), layer))
    return fail("memory", text("uses ", steps.bufferName(touch.buffer),
                               ", which says of no storage that it is this layer's"));
  uint64_t storage = steps.storageOf(touch.buffer, *current, layer);
  uint32_t time = clocks[now][now];
  format::BufferKind kind = steps.program.buffers()->Get(touch.buffer)->kind();
  bool isGradient = kind == format::BufferKind::gradient ||
                    (kind == format::BufferKind::communication && source->flow == Flow::Copy);
  bool isPartial = !touch.exact || touch.movesWith != 0;
  steps.visit(touch, *current, layer, [&](SegmentSpan span) {
    for (uint32_t i = span.first; i < span.last && !found; ++i) {
      Byte &byte = bytes[i];
      found = checkWrite(touch, byte, i);
      bool isOwn = byte.writeTime > 0 && byte.writer == run && byte.writerStep == step;
      if (!found && byte.isGradient && !byte.isRead && !byte.isZero && !isOwn && trains() &&
          replaces(touch, byte, i, steps.segments.begin(span.first)))
        found = unread(i);
      if (found)
        return;
      Held value = valueOf(i);
      bool keepsSome = isPartial && byte.isWritten && byte.storage == storage;
      if (keepsSome) {
        value.axes |= byte.axes;
        value.partial |= byte.partial;
        value.samples |= byte.samples;
        value.reduced &= byte.reduced;
      }
      bool adds = source->accumulates && !startsSum();
      if (adds) {
        value.axes |= byte.axes;
        value.partial |= byte.partial;
        value.samples |= byte.samples;
        if (!byte.isZero)
          value.reduced &= byte.reduced;
        value.isZero = value.isZero && byte.isZero;
      }
      if (byte.tensor > 0)
        found = checkTensor(touch, tensors[byte.tensor - 1], value);
      byte.isMixed =
          adds && !isOfStep && !byte.isZero &&
          (byte.isMixed || (byte.microBatch != kStep &&
                            byte.microBatch != static_cast<int32_t>(current->micro_batch())));
      byte.columns = columnsAfter(touch, byte, i, steps.segments.begin(span.first), storage, adds);
      bool goesOn = adds && !byte.isZero;
      byte.adds = goesOn ? byte.adds + 1 : 1;
      byte.begun = goesOn ? byte.begun : run;
      byte.isWritten = true;
      byte.storage = storage;
      byte.axes = value.axes;
      byte.reduced = byte.tensor > 0 ? kComplete : value.reduced;
      byte.partial = value.partial;
      byte.samples = byte.tensor > 0 ? AxisSet(0) : value.samples;
      byte.isRead = false;
      byte.isGradient = isGradient;
      byte.together = value.together;
      byte.isZero = value.isZero;
      byte.writer = run;
      byte.writerStep = step;
      byte.writeTime = time;
      byte.writeStream = now;
      byte.microBatch = isOfStep ? kStep : static_cast<int32_t>(current->micro_batch());
      if (communication != 0 && byte.tensor > 0)
        communicationRead[communication] = true;
      byte.communication = communication;
      for (uint32_t stream = 0; stream < numStreams; ++stream)
        readTimes[i * numStreams + stream] = 0;
    }
  });
  return found;
}

Values::Held Values::mergedOf(const std::vector<Held> &held) const {
  Held all;
  all.reduced = kComplete;
  all.isZero = true;
  for (const Held &each : held)
    merge(all, each);
  return all;
}

void Values::merge(Held &all, const Held &part) {
  all.axes |= part.axes;
  all.partial |= part.partial;
  all.samples |= part.samples;
  if (!part.isZero)
    all.reduced &= part.reduced;
  all.isZero &= part.isZero;
  if (part.together)
    all.together = part.together;
}

// Returns the merged value of [begin, end); the ranges ascend.
Values::Held Values::at(const std::vector<Held> &held, int64_t begin, int64_t end) {
  Held all;
  all.reduced = kComplete;
  all.isZero = true;
  auto first = std::partition_point(held.begin(), held.end(),
                                    [&](const Held &each) { return each.end <= begin; });
  for (; first != held.end() && first->begin < end; ++first)
    merge(all, *first);
  return all;
}

std::optional<Fault> Values::runFunction() {
  std::vector<Held> merged;
  read_.assign(source->touches.size(), {});
  Held value;
  value.axes = source->scalarAxes & groups.varying(steps.index);
  for (size_t i = 0; i < source->touches.size(); ++i) {
    const Touch &touch = source->touches[i];
    bool adds = touch.writes && source->accumulates && !startsSum();
    if (!touch.reads && !adds)
      continue;
    if (std::optional<Fault> found = read(touch, &read_[i], adds))
      return found;
    if (touch.reads) {
      Held held = mergedOf(read_[i]);
      value.axes |= held.axes;
      value.partial |= held.partial;
      value.samples |= held.samples;
    }
  }
  value.isZero = source->flow == Flow::Zero;
  for (std::optional<Fault> found : {checkUpdate(), checkParts(), checkLookup()})
    if (found)
      return found;
  const format::Launch *launch = source->source->op_as_Launch();
  const Held made = value;
  uint32_t result = 0;
  for (const Touch &touch : source->touches)
    if (touch.writes) {
      // Shares add up to what all ranks hold, so they are unlike whatever they were made of.
      AxisSet share = shareOf(launch, result++);
      value.axes = made.axes | share;
      value.partial =
          launch ? share : static_cast<AxisSet>(made.partial | unfinishedOf(touch.buffer));
      // Operands of as many elements are taken for what it is made of, element by element.
      value.together = 0;
      value.reduced = kComplete;
      bool any = false;
      for (size_t i = 0; i < source->touches.size(); ++i)
        if (source->touches[i].reads && elementsOf(source->touches[i]) == elementsOf(touch)) {
          Held part = mergedOf(read_[i]);
          value.together = part.together ? part.together : value.together;
          if (part.reduced == kComplete)
            continue; // persistent tensors carry no reduction state
          value.reduced &= part.reduced;
          any = true;
        }
      // A value that no sample enters is the same addend in each rank's sum, so nothing is to be
      // summed.
      if (!any && !value.isZero)
        value.reduced = batchAxes & static_cast<AxisSet>(~(made.samples | value.partial));
      value.reduced &= static_cast<AxisSet>(~share);
      if (std::optional<Fault> found = write(touch, [&](uint32_t) { return value; }))
        return found;
    }
  return std::nullopt;
}

std::optional<Fault> Values::runCopy() {
  const Touch &from = source->touches[0], &to = source->touches[1];
  read_.assign(2, {});
  if (std::optional<Fault> found = read(from, &read_[0]))
    return found;
  if (source->accumulates && !startsSum())
    if (std::optional<Fault> found = read(to, nullptr, /*adds=*/true))
      return found;
  std::vector<Held> sorted = read_[0];
  std::sort(sorted.begin(), sorted.end(),
            [](const Held &a, const Held &b) { return a.begin < b.begin; });
  AxisSet moves = source->scalarAxes & groups.varying(steps.index);
  // Pieces follow one another on both sides; within one, bytes do where both are whole.
  bool isWhole = from.exact && to.exact;
  size_t piece = 0;
  Steps::Place src, dst;
  auto toPiece = [&](size_t index) {
    piece = index;
    src = steps.placeOf(from, from.pieces[piece], *current, layer);
    dst = steps.placeOf(to, to.pieces[piece], *current, layer);
  };
  toPiece(0);
  return write(to, [&](uint32_t segment) {
    int64_t begin = steps.segments.begin(segment), end = steps.segments.end(segment);
    for (size_t tries = 0; tries < to.pieces.size() && !(dst.begin <= begin && end <= dst.end);
         ++tries)
      toPiece((piece + 1) % to.pieces.size());
    Held value = isWhole ? at(sorted, src.begin + begin - dst.begin, src.begin + end - dst.begin)
                         : at(sorted, src.begin, src.end);
    value.axes |= moves;
    return value;
  });
}

std::optional<Fault> Values::runCollective() {
  const format::Collective &op = *source->source->op_as_Collective();
  const Touch &from = source->touches[0], &to = source->touches[1];
  bool reduces = op.kind() == format::CollectiveKind::all_reduce ||
                 op.kind() == format::CollectiveKind::reduce_scatter;
  const std::vector<uint32_t> &programs = groups.met(op.group(), steps.index);
  Board::Key key{steps.index, op.group(), source->source->stream()};
  if (!isBlocked) {
    read_.assign(1, {});
    if (std::optional<Fault> found = read(from, &read_[0]))
      return found;
    pending = read_[0];
    for (std::optional<Fault> found : {checkGroup(op), checkWhole(from), checkWhole(to)})
      if (found)
        return found;
    for (const Held &held : pending)
      if (std::optional<Fault> found = checkReduced(op, held))
        return found;
    if (programs.size() > 1)
      board.post(key, sentOf(mergedOf(pending)));
  }
  Board::Sent others;
  if (programs.size() > 1)
    for (uint32_t other : programs) {
      std::optional<Board::Sent> theirs = sentBy({other, op.group(), key.way}, met[key]);
      if (!theirs) {
        isBlocked = true;
        return std::nullopt;
      }
      others.axes |= theirs->axes & groups.varying(steps.index);
      others.partial |= theirs->partial;
      others.samples |= theirs->samples & groups.varying(steps.index);
    }
  isBlocked = false;
  ++met[key];
  AxisSet joined = groups.joined(op.group(), steps.index);
  AxisSet spread = groups.spread(op.group(), steps.index);
  auto count = static_cast<int64_t>(op.count() * format::bytesOf(op.dtype()));
  int64_t src = steps.placeOf(from, from.pieces[0], *current, layer).begin;
  int64_t dst = steps.placeOf(to, to.pieces[0], *current, layer).begin;
  bool isUniform = pending.size() == 1;
  uint32_t ranks = steps.manifest.groups()->Get(op.group())->size();
  return write(to, [&](uint32_t segment) {
    int64_t begin = steps.segments.begin(segment) - dst, end = steps.segments.end(segment) - dst;
    Held value;
    if (isUniform)
      value = pending[0];
    else if (op.kind() == format::CollectiveKind::all_reduce)
      value = at(pending, src + begin, src + end);
    else if (op.kind() == format::CollectiveKind::all_gather)
      value = begin / count == (end - 1) / count
                  ? at(pending, src + begin % count, src + (end - 1) % count + 1)
                  : mergedOf(pending);
    else if (op.kind() == format::CollectiveKind::reduce_scatter) {
      value.isZero = true;
      value.reduced = kComplete;
      for (uint32_t rank = 0; rank < ranks; ++rank)
        merge(value, at(pending, src + rank * count + begin, src + rank * count + end));
    } else
      value = mergedOf(pending);
    value.axes |= others.axes;
    value.partial |= others.partial;
    value.samples |= others.samples;
    if (reduces) {
      value.partial &= static_cast<AxisSet>(~joined);
      value.samples &= static_cast<AxisSet>(~joined);
    }
    if (op.kind() == format::CollectiveKind::all_reduce ||
        op.kind() == format::CollectiveKind::all_gather)
      value.axes &= static_cast<AxisSet>(~joined);
    else
      value.axes |= spread;
    // Statistics of a batch, which state is made of, are reduced as gradients are.
    if (reduces && (op.role() == format::CollectiveRole::gradient ||
                    op.role() == format::CollectiveRole::control))
      value.reduced |= spread;
    if (reduces && programs.size() > 1)
      value.together = op.group() + 1;
    return value;
  });
}

std::optional<Board::Sent> Values::sentBy(const Board::Key &key, size_t number) {
  if (const Board::Sent *sent = board.find(key, number))
    return *sent;
  if (!isForced)
    return std::nullopt;
  board.guess(
      key, number,
      fail("values", "contributes a partial sum that other programs' ranks have yet to finish"));
  return Board::Sent{kComplete, 0, kComplete};
}

std::optional<Fault> Values::runTransfer() {
  const format::Transfer &op = *source->source->op_as_Transfer();
  const Touch &touch = source->touches[0];
  uint32_t size = steps.manifest.groups()->Get(op.group())->size();
  Board::Key mine{steps.index, op.group(), 256 + op.shift()};
  if (std::optional<Fault> found = checkWhole(touch))
    return found;
  if (source->flow == Flow::Send) {
    read_.assign(1, {});
    if (std::optional<Fault> found = read(touch, &read_[0]))
      return found;
    Held held = mergedOf(read_[0]);
    if (AxisSet wrong = held.axes & groups.crossed(op.group(), op.shift(), steps.index))
      return fail("values",
                  text("sends ", steps.bufferName(op.buffer()), ", which is sharded along ",
                       axisNames(steps.manifest, wrong), ", to a rank with another shard"));
    board.post(mine, sentOf(held));
    return std::nullopt;
  }
  // Numbers of receives are counted apart from those of sends by the same shift.
  Board::Key key{steps.index, op.group(), 1u << 31 | op.shift()};
  Held value;
  for (uint32_t peer : groups.peers(op.group(), op.shift(), steps.index)) {
    std::optional<Board::Sent> sent = sentBy({peer, op.group(), 256 + size - op.shift()}, met[key]);
    if (!sent) {
      isBlocked = true;
      return std::nullopt;
    }
    value.axes |= sent->axes & groups.varying(steps.index);
    value.partial |= sent->partial;
    value.samples |= sent->samples & groups.varying(steps.index);
  }
  // Ranks that receive from one another hold unlike things.
  value.axes |= groups.spread(op.group(), steps.index);
  isBlocked = false;
  ++met[key];
  return write(touch, [&](uint32_t) { return value; });
}

void Values::expect(const Board::Key &way, size_t from, size_t length, size_t count) {
  if (count == 0)
    return;
  if (way.way >> 31) {
    uint32_t shift = way.way & 0x7fffffff;
    uint32_t size = steps.manifest.groups()->Get(way.group)->size();
    for (uint32_t peer : groups.peers(way.group, shift, steps.index))
      board.expect({peer, way.group, 256 + size - shift}, from, length, count);
    return;
  }
  const std::vector<uint32_t> &programs = groups.met(way.group, steps.index);
  for (uint32_t program : programs)
    if (programs.size() > 1)
      board.expect({program, way.group, way.way}, from, length, count);
}

void Values::runRecord() {
  const format::Record &op = *source->source->op_as_Record();
  eventClocks[format::eventOf(op, layer, current->micro_batch())] = clocks[now];
}

void Values::runWait() {
  const std::vector<uint32_t> &seen =
      eventClocks[format::eventOf(*source->source->op_as_Wait(), layer, current->micro_batch())];
  for (size_t stream = 0; stream < seen.size(); ++stream)
    clocks[now][stream] = std::max(clocks[now][stream], seen[stream]);
}

std::optional<Fault> Values::execute() {
  if (!isBlocked) {
    ++clocks[now][now];
    communication = 0;
    if (source->flow == Flow::Collective || source->flow == Flow::Receive) {
      communication = static_cast<uint32_t>(communications.size());
      communications.emplace_back(run, step);
      communicationRead.push_back(false);
    }
  }
  switch (source->flow) {
  case Flow::Function:
  case Flow::Zero:
    return runFunction();
  case Flow::Copy:
    return runCopy();
  case Flow::Collective:
    return runCollective();
  case Flow::Send:
  case Flow::Receive:
    return runTransfer();
  case Flow::Record:
    runRecord();
    break;
  case Flow::Wait:
    runWait();
    break;
  }
  return std::nullopt;
}

std::optional<Fault> Values::advance(bool force) {
  const auto &order = *steps.entry.order();
  isForced = force;
  if (force && skipper)
    skipper->forget();
  for (; run < order.size(); ++run, step = 0) {
    if (step == 0 && !isBlocked && skipper)
      skipper->beforeRun();
    current = order.Get(run);
    uint32_t task = current->task();
    const std::vector<Executed> &executed = steps.executed(task);
    bool isLast = runsLeft[task] == 1;
    isFirstRun = runsDone[task] == 0;
    for (; step < executed.size(); ++step) {
      source = &steps.accesses(task, executed[step].instruction);
      if (source->source->runs() == format::Runs::last && !isLast)
        continue;
      layer = executed[step].layer;
      now = source->source->stream();
      isOfStep = steps.isOfStep(task, *source->source);
      if (std::optional<Fault> found = execute())
        return found;
      if (isBlocked)
        return std::nullopt;
      isForced = false;
      ++executedSoFar;
    }
    --runsLeft[task];
    ++runsDone[task];
  }
  return checkEnd();
}

} // namespace dtc

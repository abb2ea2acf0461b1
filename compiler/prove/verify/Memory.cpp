#include "compiler/prove/verify/Memory.h"

#include "runtime/format/Description.h"

#include <algorithm>

namespace dtc {

using format::text;

Memory::Memory(const Execution &at, const Clocks &clocks, const InitialTensors &initial)
    : contents(at.steps.segments.size()), readTimes(at.steps.segments.size() * clocks.numStreams()),
      at(at), clocks(clocks), initial(initial), rules(at, clocks, columnSets) {
  for (uint32_t i = 0; i < initial.all().size(); ++i)
    fill(initial.all()[i], i + 1);
}

void Memory::fill(const InitialTensor &tensor, uint32_t number) {
  SegmentSpan span = initial.spanOf(tensor.buffer);
  for (uint32_t i = span.first; i < span.last; ++i) {
    Content &content = contents[i];
    content.origin.isWritten = true;
    content.origin.storage = at.steps.storageOf(tensor.buffer, format::Run(0, 0), 0);
    content.value.axes = tensor.shards;
    content.value.reduced = tensor.tensor ? kAllAxes : 0;
    content.value.samples = tensor.isInput ? tensor.shards : 0;
    content.value.ring.positions = content.value.samples & initial.contextAxes() ? 1 : 0;
    content.tensor = tensor.tensor ? number : 0;
  }
}

void Memory::beginInstruction(bool brings) {
  operands.assign(at.source->touches.size(), {});
  if (brings)
    communications.begin({at.run, at.step});
  else
    communications.beginOther();
}

std::optional<Fault> Memory::read(size_t index, bool adds) {
  const Touch &touch = at.source->touches[index];
  if (std::optional<Fault> found = rules.checkLayer(touch))
    return found;
  std::optional<Fault> found;
  uint32_t time = clocks.timeOf(at.stream), numStreams = clocks.numStreams();
  const Segments &segments = at.steps.segments;
  ValueRanges &values = operands[index];
  Access access{touch, at.storageOf(touch.buffer), adds};
  at.steps.visit(touch, *at.current, at.layer, [&](SegmentSpan span) {
    for (uint32_t i = span.first; i < span.last && !found; ++i) {
      Content &content = contents[i];
      access.segment = i;
      access.pieceBegin = segments.begin(span.first);
      content.liveness.isRead = true;
      found = rules.checkRead(access, content);
      readTimes[i * numStreams + at.stream] = time;
      communications.markRead(content.origin.communication);
      values.append({segments.begin(i), segments.end(i), content.value});
    }
  });
  return found;
}

std::optional<Fault> Memory::write(const Touch &touch,
                                   llvm::function_ref<Value(uint32_t)> valueOf) {
  if (std::optional<Fault> found = rules.checkLayer(touch))
    return found;
  std::optional<Fault> found;
  format::BufferKind kind = at.bufferOf(touch).kind();
  Write write{kind == format::BufferKind::gradient ||
                  (kind == format::BufferKind::communication && at.source->flow == Flow::Copy),
              !touch.exact || touch.movesWith != 0};
  Access access{touch, at.storageOf(touch.buffer), at.adds()};
  at.steps.visit(touch, *at.current, at.layer, [&](SegmentSpan span) {
    for (uint32_t i = span.first; i < span.last && !found; ++i) {
      access.segment = i;
      access.pieceBegin = at.steps.segments.begin(span.first);
      found = checkWrite(access);
      if (!found)
        found = writeSegment(access, write, valueOf(i));
    }
  });
  return found;
}

// Checks that a segment may be written: nothing still uses it or was to use it.
std::optional<Fault> Memory::checkWrite(const Access &access) const {
  const Content &content = contents[access.segment];
  const Provenance &origin = content.origin;
  if (std::optional<Fault> found =
          rules.checkWrite(access, content, &readTimes[access.segment * clocks.numStreams()]))
    return found;
  bool isOwn = origin.time > 0 && origin.run == at.run && origin.step == at.step;
  bool trains = at.steps.entry.kind() == format::EntryKind::train;
  if (content.liveness.isGradient && !content.liveness.isRead && !content.value.isZero && !isOwn &&
      trains && rules.replaces(access, content))
    return unread(access.segment);
  return std::nullopt;
}

std::optional<Fault> Memory::writeSegment(const Access &access, const Write &write, Value value) {
  Content &content = contents[access.segment];
  const Provenance &before = content.origin;
  if (write.isPartial && before.isWritten && before.storage == access.storage)
    value.keep(content.value);
  if (access.adds)
    value.addTo(content.value);
  if (content.tensor > 0) {
    if (std::optional<Fault> found = checkReplicas(access, value))
      return found;
    value.reduced = kAllAxes;
    value.samples = value.exchanged = 0;
    value.ring = {};
    communications.markRead(communications.current());
  }
  content.addends = addendsAfter(access, content);
  content.origin = originAfter(access, columnsAfter(access, before));
  content.value = value;
  content.liveness = {/*isRead=*/false, write.isGradient};
  auto *times = &readTimes[access.segment * clocks.numStreams()];
  std::fill_n(times, clocks.numStreams(), 0);
  return std::nullopt;
}

Addends Memory::addendsAfter(const Access &access, const Content &before) const {
  bool goesOn = access.adds && !before.value.isZero;
  if (!goesOn)
    return {1, at.run, false};
  int32_t microBatch = before.origin.microBatch;
  bool isOther = microBatch != kStep && microBatch != at.microBatch();
  return {before.addends.count + 1, before.addends.begun,
          !at.isOfStep && (before.addends.isMixed || isOther)};
}

// Returns the set of bytes that are current once a segment has been written.
ColumnSets::Set Memory::columnsAfter(const Access &access, const Provenance &before) {
  const Touch &touch = access.touch;
  if (touch.exact)
    return ColumnSets::kAll;
  if (!touch.columns) // nobody knows what it leaves out
    return ColumnSets::kAllWithStep;
  const Segments &segments = at.steps.segments;
  int64_t begin = segments.begin(access.segment), bytes = segments.end(access.segment) - begin;
  ColumnSets::Set columns = ColumnSets::kNone;
  if (before.isWritten && before.storage == access.storage) {
    columns = before.columns;
    bool isStale = before.microBatch != kStep && !at.isOfStep && !access.adds &&
                   before.microBatch != at.microBatch();
    if (before.microBatch == kStep)
      columns = columnSets.withStep(columns);
    else if (isStale && !columnSets.isOfStep(columns))
      columns = ColumnSets::kNone;
  }
  return columnSets.add(columns, *touch.columns, begin - access.pieceBegin, bytes,
                        at.isOfStep || access.adds);
}

Provenance Memory::originAfter(const Access &access, ColumnSets::Set columns) const {
  Provenance origin;
  origin.storage = access.storage;
  origin.run = at.run;
  origin.step = at.step;
  origin.time = clocks.timeOf(at.stream);
  origin.communication = communications.current();
  origin.microBatch = at.isOfStep ? kStep : at.microBatch();
  origin.stream = at.stream;
  origin.isWritten = true;
  origin.columns = columns;
  return origin;
}

// Checks that replicas of a persistent tensor stay equal.
std::optional<Fault> Memory::checkReplicas(const Access &access, const Value &value) const {
  const InitialTensor &tensor = *tensorAt(access.segment);
  AxisSet wrong = axesWithout(value.axes, tensor.shards);
  if (wrong == 0)
    return std::nullopt;
  std::string along = axisNames(at.steps.manifest, wrong);
  // The operand explains the fault.
  for (size_t i = 0; i < operands.size(); ++i)
    if (at.source->touches[i].reads)
      for (const ValueRange &range : operands[i])
        if (range.value.axes & wrong)
          return at.fail("values",
                         text("leaves different values in the replicas of '", tensor.name,
                              "' along ", along, ": ",
                              at.steps.bufferName(at.source->touches[i].buffer),
                              " differs there, as if a reduction or gather were missing"),
                         writerOf(range));
  return at.fail("values",
                 text("leaves different values in ", at.steps.bufferName(access.touch.buffer),
                      " along ", along),
                 "its ranks along " + along + " hold copies of '" + tensor.name + "'");
}

Fault Memory::unread(uint32_t segment) const {
  const Provenance &origin = contents[segment].origin;
  const format::Run &writer = *at.steps.entry.order()->Get(origin.run);
  return at.steps.fault(writer, at.steps.executed(writer.task())[origin.step], "values",
                        text("writes ", describeBytes(at.steps, segment),
                             ", of a gradient or for other ranks, which nothing reads"));
}

} // namespace dtc

// Rules for values that are read, written, communicated, or left at the end.
#include "compiler/prove/verify/Values.h"

#include "runtime/format/Description.h"

#include <algorithm>

namespace dtc {

using format::text;

std::string Values::writerOf(const Byte &byte) const {
  if (byte.writeTime == 0)
    return "it holds what was there before the step";
  const format::Run &writer = *steps.entry.order()->Get(byte.writer);
  return "it was written by " +
         steps.describe(writer, steps.executed(writer.task())[byte.writerStep]);
}

std::string Values::bytesOf(uint32_t segment) const {
  return text("bytes ", steps.segments.begin(segment), " to ", steps.segments.end(segment),
              " of the arena");
}

std::optional<Fault> Values::checkAddends(const Touch &touch, const Byte &byte, bool adds) const {
  if (byte.microBatch == kStep || byte.isZero)
    return std::nullopt;
  uint64_t all = steps.manifest.num_micro_batches();
  if (isOfStep ? all == 1 || (byte.isMixed && byte.adds % all == 0)
               : adds || (!byte.isMixed &&
                          byte.microBatch == static_cast<int32_t>(current->micro_batch())))
    return std::nullopt;
  std::string name = steps.bufferName(touch.buffer);
  if (isOfStep) {
    if (byte.isMixed)
      return fail("values",
                  text("reads the sum in ", name, ", to which ", byte.adds,
                       " addends were added, wanted as many of each of ", all, " micro-batches"),
                  writerOf(byte));
    return fail("values",
                text("reads ", name, " for all of ", all,
                     " micro-batches, where only that of micro-batch ", byte.microBatch,
                     " is left"),
                writerOf(byte));
  }
  if (byte.isMixed)
    return fail("values", text("reads ", name, ", a sum to which other micro-batches add"),
                writerOf(byte));
  return fail("memory",
              text("reads ", name, ", which holds what belongs to micro-batch ", byte.microBatch),
              writerOf(byte));
}

ColumnSets::Set Values::columnsAfter(const Touch &touch, const Byte &byte, uint32_t segment,
                                     int64_t place, uint64_t storage, bool adds) {
  if (touch.exact)
    return ColumnSets::kAll;
  if (!touch.columns) // nobody knows what it leaves out
    return ColumnSets::kAllWithStep;
  int64_t begin = steps.segments.begin(segment), bytes = steps.segments.end(segment) - begin;
  ColumnSets::Set before = ColumnSets::kNone;
  if (byte.isWritten && byte.storage == storage) {
    before = byte.columns;
    bool isStale = byte.microBatch != kStep && !isOfStep && !adds &&
                   byte.microBatch != static_cast<int32_t>(current->micro_batch());
    if (byte.microBatch == kStep)
      before = columnSets.withStep(before);
    else if (isStale && !columnSets.isOfStep(before))
      before = ColumnSets::kNone;
  }
  return columnSets.add(before, *touch.columns, begin - place, bytes, isOfStep || adds);
}

std::optional<Fault> Values::checkColumns(const Touch &touch, const Byte &byte, uint32_t segment,
                                          int64_t place) const {
  if (!touch.exact && !touch.columns) // it may read what was written and no more
    return std::nullopt;
  int64_t begin = steps.segments.begin(segment), bytes = steps.segments.end(segment) - begin;
  std::optional<Columns> missing = columnSets.findMissing(
      byte.columns, touch.columns ? &*touch.columns : nullptr, begin - place, bytes);
  if (!missing)
    return std::nullopt;
  Column first = missing->columns.front();
  const char *since = isOfStep ? "in this step" : "for this micro-batch";
  if (missing->stride == bytes)
    return fail("memory",
                text("reads bytes ", begin + first.begin, " to ", begin + first.end,
                     " of the arena, part of ", steps.bufferName(touch.buffer),
                     ", which nothing has written ", since),
                writerOf(byte));
  // As bytes of the rows of the buffer.
  int64_t stride = missing->stride;
  int64_t from = begin - steps.placeOf(touch, Piece(), *current, layer).begin + first.begin;
  from = (from % stride + stride) % stride;
  return fail("memory",
              text("reads bytes ", from, " to ", std::min(from + first.end - first.begin, stride),
                   " of each ", stride, " of ", steps.bufferName(touch.buffer),
                   ", which nothing has written ", since),
              writerOf(byte));
}

std::optional<Fault> Values::checkRead(const Touch &touch, const Byte &byte, uint32_t segment,
                                       uint64_t storage, bool adds) const {
  if (!byte.isWritten)
    return fail("memory",
                text("reads ", bytesOf(segment), ", part of ", steps.bufferName(touch.buffer),
                     ", which nothing has written in this step"));
  if (byte.storage != storage)
    return fail("memory",
                text("reads ", bytesOf(segment), ", part of ", steps.bufferName(touch.buffer),
                     ", which something else has overwritten while it was in use"),
                writerOf(byte));
  if (byte.writeTime > 0 && !isBefore(byte.writeStream, byte.writeTime))
    return fail("memory",
                text("reads ", steps.bufferName(touch.buffer), " on stream ", static_cast<int>(now),
                     ", which waits for no event after stream ", static_cast<int>(byte.writeStream),
                     " has written it"),
                writerOf(byte));
  return checkAddends(touch, byte, adds);
}

std::optional<Fault> Values::checkWrite(const Touch &touch, const Byte &byte,
                                        uint32_t segment) const {
  for (uint8_t stream = 0; stream < numStreams; ++stream)
    if (stream != now && !isBefore(stream, readTimes[segment * numStreams + stream]))
      return fail("memory",
                  text("writes ", steps.bufferName(touch.buffer), " on stream ",
                       static_cast<int>(now), ", while stream ", static_cast<int>(stream),
                       " may still read ", bytesOf(segment)),
                  writerOf(byte));
  if (byte.writeTime > 0 && !isBefore(byte.writeStream, byte.writeTime))
    return fail("memory",
                text("writes ", steps.bufferName(touch.buffer), " on stream ",
                     static_cast<int>(now), ", while stream ", static_cast<int>(byte.writeStream),
                     " may still write ", bytesOf(segment)),
                writerOf(byte));
  return std::nullopt;
}

// Checks that replicas of a persistent tensor stay equal.
std::optional<Fault> Values::checkTensor(const Touch &touch, const Kept &tensor,
                                         const Held &value) const {
  AxisSet wrong = value.axes & static_cast<AxisSet>(~tensor.shards);
  if (wrong == 0)
    return std::nullopt;
  // The operand explains the fault.
  std::string why = "its ranks along " + axisNames(steps.manifest, wrong) + " hold copies of '" +
                    tensor.name + "'";
  for (size_t i = 0; i < source->touches.size(); ++i)
    if (source->touches[i].reads && i < read_.size())
      for (const Held &held : read_[i])
        if (held.axes & wrong) {
          SegmentSpan span = steps.segments.find(held.begin, held.end);
          return fail("values",
                      text("leaves different values in the replicas of '", tensor.name, "' along ",
                           axisNames(steps.manifest, wrong), ": ",
                           steps.bufferName(source->touches[i].buffer),
                           " differs there, as if a reduction or gather were missing"),
                      writerOf(bytes[span.first]));
        }
  return fail("values",
              text("leaves different values in ", steps.bufferName(touch.buffer), " along ",
                   axisNames(steps.manifest, wrong)),
              why);
}

// An optimizer takes for each part of a tensor that part's gradient: what goes into it, element by
// element, differs wherever parts of the tensor do.
std::optional<Fault> Values::checkUpdate() {
  const Kept *tensor = nullptr;
  for (const Touch &touch : source->touches)
    if (touch.writes && !touch.pieces.empty()) {
      SegmentSpan span = steps.spanOf(touch, 0, *current, layer);
      if (span.first < span.last && bytes[span.first].tensor > 0 &&
          tensors[bytes[span.first].tensor - 1].elements == elementsOf(touch))
        tensor = &tensors[bytes[span.first].tensor - 1];
    }
  if (!tensor)
    return std::nullopt;
  bool isTogether = false, any = false;
  for (size_t i = 0; i < source->touches.size(); ++i) {
    const Touch &touch = source->touches[i];
    bool isElementwise = touch.reads && touch.pieces.size() == 1 &&
                         elementsOf(touch) == tensor->elements && tensor->elements > 1;
    if (!isElementwise)
      continue;
    any = true;
    for (const Held &held : read_[i]) {
      isTogether |= held.together != 0;
      if (AxisSet missing = batchAxes & static_cast<AxisSet>(~held.reduced);
          missing && !held.isZero) {
        SegmentSpan span = steps.segments.find(held.begin, held.end);
        return fail("values",
                    text("updates '", tensor->name, "' with ", steps.bufferName(touch.buffer),
                         ", which was not summed along ", axisNames(steps.manifest, missing),
                         ", where ranks have samples of their own"),
                    writerOf(bytes[span.first]));
      }
      AxisSet lacking = tensor->shards & static_cast<AxisSet>(~held.axes);
      if (lacking && !held.isZero) {
        SegmentSpan span = steps.segments.find(held.begin, held.end);
        return fail("values",
                    text("updates '", tensor->name, "', which is sharded along ",
                         axisNames(steps.manifest, lacking), ", with ",
                         steps.bufferName(touch.buffer),
                         ", which is replicated there: it was reduced once too often"),
                    writerOf(bytes[span.first]));
      }
    }
    if (std::optional<Fault> found = checkFinished(touch, read_[i], "for an update", 0))
      return found;
  }
  if (tensor->isShared && any && !isTogether)
    return fail("values", text("updates '", tensor->name,
                               "', which ranks of other programs hold, too, with nothing that was "
                               "reduced over all of them"));
  return std::nullopt;
}

std::optional<Fault> Values::checkWhole(const Touch &touch) const {
  const format::Buffer &buffer = *steps.program.buffers()->Get(touch.buffer);
  if (static_cast<uint64_t>(touch.pieces[0].bytes) == buffer.bytes())
    return std::nullopt;
  return fail("values",
              text("moves ", touch.pieces[0].bytes, " bytes of ", steps.bufferName(touch.buffer),
                   ", wanted all of its ", buffer.bytes()));
}

std::optional<Fault> Values::checkGroup(const format::Collective &op) const {
  std::string name = format::groupName(steps.manifest, op.group());
  if (!groups.ascends(op.group()))
    return fail("values", text("is over '", name,
                               "', whose ranks do not ascend, so that its parts are out of place"));
  AxisSet spread = groups.spread(op.group(), steps.index);
  if (AxisSet cut = spread & static_cast<AxisSet>(~groups.joined(op.group(), steps.index)))
    return fail("values", text("is over '", name, "', which has some ranks along ",
                               axisNames(steps.manifest, cut), " in one list and some in another"));
  if (op.role() == format::CollectiveRole::gradient && op.reduce() != format::ReduceKind::sum)
    return fail("values", "reduces gradients by max, wanted their sum");
  if (op.role() == format::CollectiveRole::activation && (spread & batchAxes))
    return fail("values",
                text("mixes activations along ", axisNames(steps.manifest, spread & batchAxes),
                     ", where ranks have samples of their own"));
  return std::nullopt;
}

bool Values::isMadeByCollective(const Byte &byte) const {
  if (byte.writeTime == 0)
    return false;
  const format::Run &writer = *steps.entry.order()->Get(byte.writer);
  uint32_t instruction = steps.executed(writer.task())[byte.writerStep].instruction;
  return steps.program.tasks()->Get(writer.task())->instructions()->Get(instruction)->op_type() ==
         format::Op::Collective;
}

std::optional<Fault> Values::checkReduced(const format::Collective &op, const Held &held) const {
  if (held.isZero)
    return std::nullopt;
  AxisSet same = groups.spread(op.group(), steps.index) & static_cast<AxisSet>(~held.axes);
  SegmentSpan span = steps.segments.find(held.begin, held.end);
  // The maximum of equals is what they are, and a gather may put copies side by side.
  bool sums = op.reduce() == format::ReduceKind::sum &&
              (op.kind() == format::CollectiveKind::all_reduce ||
               op.kind() == format::CollectiveKind::reduce_scatter);
  bool isPart = op.role() == format::CollectiveRole::gradient ||
                op.role() == format::CollectiveRole::parameter;
  if (same && (sums || isPart || isMadeByCollective(bytes[span.first])))
    return fail("values",
                text("combines ", steps.bufferName(op.src()), " over ",
                     axisNames(steps.manifest, same), ", but it is already replicated there"),
                writerOf(bytes[span.first]));
  if (!sums)
    return std::nullopt;
  // Statistics of a batch are summed over its parts alone: other axes may split their channels.
  AxisSet others = groups.spread(op.group(), steps.index) & static_cast<AxisSet>(~held.partial);
  if (others && op.role() == format::CollectiveRole::control && op.count() > 1)
    return fail("values",
                text("sums ", steps.bufferName(op.src()), " along ",
                     axisNames(steps.manifest, others), ", where it is no part of a sum"),
                writerOf(bytes[span.first]));
  AxisSet twice = groups.spread(op.group(), steps.index) & held.reduced;
  if (twice && op.role() == format::CollectiveRole::gradient)
    return fail("values",
                text("reduces ", steps.bufferName(op.src()), " along ",
                     axisNames(steps.manifest, twice), " a second time"),
                writerOf(bytes[span.first]));
  if (held.together == op.group() + 1)
    return fail("values",
                text("reduces ", steps.bufferName(op.src()), " over '",
                     format::groupName(steps.manifest, op.group()), "' a second time"),
                writerOf(bytes[span.first]));
  return std::nullopt;
}

// Checks the purpose of a training entry: each parameter's gradient is complete, in the shards that
// the file declares.
std::optional<Fault> Values::checkGradients() const {
  for (uint32_t t = 0; t < format::sizeOf(steps.program.gradients()); ++t) {
    const format::Tensor &tensor = *steps.program.gradients()->Get(t);
    AxisSet shards = shardsOf(tensor.shards());
    SegmentSpan span = spanOf(*steps.program.buffers()->Get(tensor.buffer()));
    for (uint32_t i = span.first; i < span.last; ++i) {
      const Byte &byte = bytes[i];
      AxisSet wrong = byte.axes & static_cast<AxisSet>(~shards);
      AxisSet lacking = batchAxes & static_cast<AxisSet>(~byte.reduced);
      std::string why;
      if (!byte.isWritten || byte.storage != steps.storageOf(tensor.buffer(), format::Run(), 0))
        why = "is not there";
      else if (!ColumnSets::isAll(byte.columns))
        why = "is written in part only";
      else if (byte.partial || (lacking && !byte.isZero))
        why = "is not summed along " + axisNames(steps.manifest, byte.partial | lacking);
      else if (wrong)
        why = "differs along " + axisNames(steps.manifest, wrong);
      if (why.empty())
        continue;
      Fault fault;
      fault.check = "values";
      fault.program = steps.index;
      fault.rank = steps.rank;
      fault.message = text("the gradient of '", tensor.name()->string_view(), "' ", why,
                           " at the end of entry 'gradients'");
      fault.note = writerOf(byte);
      return fault;
    }
  }
  return std::nullopt;
}

// Two copies may fill a gradient in turn, each its own columns, before anything reads it.
bool Values::replaces(const Touch &touch, const Byte &byte, uint32_t segment, int64_t place) const {
  if (touch.exact)
    return true;
  int64_t begin = steps.segments.begin(segment), bytes = steps.segments.end(segment) - begin;
  return touch.columns && columnSets.meets(byte.columns, *touch.columns, begin - place, bytes);
}

Fault Values::unread(uint32_t segment) const {
  const Byte &byte = bytes[segment];
  const format::Run &writer = *steps.entry.order()->Get(byte.writer);
  return steps.fault(
      writer, steps.executed(writer.task())[byte.writerStep], "values",
      text("writes ", bytesOf(segment), ", of a gradient or for other ranks, which nothing reads"));
}

// Memory of parameters and state holds these when the step is over.
std::optional<Fault> Values::checkKept() const {
  for (uint32_t i = 0; i < bytes.size(); ++i) {
    const Byte &byte = bytes[i];
    if (byte.tensor == 0)
      continue;
    const Kept &tensor = tensors[byte.tensor - 1];
    if (byte.storage == steps.storageOf(tensor.tensor->buffer(), format::Run(0, 0), 0) &&
        ColumnSets::isAll(byte.columns))
      continue;
    const format::Run &writer = *steps.entry.order()->Get(byte.writer);
    return steps.fault(writer, steps.executed(writer.task())[byte.writerStep], "memory",
                       text("overwrites ", bytesOf(i), ", part of '", tensor.name,
                            "', which the next step wants"));
  }
  return std::nullopt;
}

// All that was brought was for something, and what is reported is known to every rank.
std::optional<Fault> Values::checkEnd() {
  for (const format::Output *output : *steps.program.outputs()) {
    SegmentSpan span = spanOf(*steps.program.buffers()->Get(output->buffer()));
    for (uint32_t i = span.first; i < span.last; ++i)
      communicationRead[bytes[i].communication] = true;
  }
  for (uint32_t i = 0; trains() && i < bytes.size(); ++i)
    if (bytes[i].isGradient && !bytes[i].isRead && !bytes[i].isZero)
      return unread(i);
  for (uint32_t i = 1; trains() && i < communications.size(); ++i)
    if (!communicationRead[i]) {
      const format::Run &of = *steps.entry.order()->Get(communications[i].first);
      return steps.fault(
          of, steps.executed(of.task())[communications[i].second], "values",
          "brings what nothing reads: it was done twice, or what should read it reads "
          "something else");
    }
  if (std::optional<Fault> found = checkKept())
    return found;
  if (steps.entry.kind() == format::EntryKind::gradients)
    if (std::optional<Fault> found = checkGradients())
      return found;
  for (const format::Output *output : *steps.program.outputs()) {
    bool isOfGradients = output->role() == format::OutputRole::gradient_scale &&
                         steps.entry.kind() == format::EntryKind::gradients;
    bool isOfLoss = output->role() == format::OutputRole::loss ||
                    output->role() == format::OutputRole::loss_weight ||
                    output->role() == format::OutputRole::loss_beside;
    if (!trains() && !isOfLoss && !isOfGradients)
      continue;
    SegmentSpan span = spanOf(*steps.program.buffers()->Get(output->buffer()));
    for (uint32_t i = span.first; i < span.last; ++i) {
      const Byte &byte = bytes[i];
      std::string what = text("output '", EnumNameOutputRole(output->role()), "'");
      Fault fault;
      fault.check = "values";
      fault.entry = EnumNameEntryKind(steps.entry.kind());
      fault.program = steps.index;
      fault.rank = steps.rank;
      fault.note = writerOf(byte);
      if (!byte.isWritten || byte.storage != steps.storageOf(output->buffer(), format::Run(), 0))
        fault.message = what + " is not written, or overwritten by something else";
      else if (byte.partial)
        fault.message =
            what + " is still a partial sum along " + axisNames(steps.manifest, byte.partial);
      else if (byte.axes)
        fault.message = what + " differs along " + axisNames(steps.manifest, byte.axes) +
                        ", as if a reduction were missing";
      if (!fault.message.empty())
        return fault;
    }
  }
  return std::nullopt;
}

} // namespace dtc

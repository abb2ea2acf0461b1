#include "compiler/prove/verify/MemoryRules.h"

#include "runtime/format/Description.h"

#include <algorithm>

namespace dtc {

using format::text;

std::optional<Fault> MemoryRules::checkLayer(const Touch &touch) const {
  if (!at.steps.lacksStorage(at.bufferOf(touch), at.layer))
    return std::nullopt;
  return at.fail("memory", text("uses ", at.steps.bufferName(touch.buffer),
                                ", which says of no storage that it is this layer's"));
}

std::optional<Fault> MemoryRules::checkRead(const Access &access, const Content &content) const {
  const Provenance &origin = content.origin;
  auto part = [&] {
    return text("reads ", describeBytes(at.steps, access.segment), ", part of ",
                at.steps.bufferName(access.touch.buffer));
  };
  if (!origin.isWritten)
    return at.fail("memory", part() + ", which nothing has written in this step");
  if (origin.storage != access.storage)
    return at.fail("memory", part() + ", which something else has overwritten while it was in use",
                   describeWriter(at.steps, origin));
  if (origin.time > 0 && !isDone(origin.stream, origin.time))
    return at.fail("memory",
                   text("reads ", at.steps.bufferName(access.touch.buffer), " on stream ",
                        static_cast<int>(at.stream), ", which waits for no event after stream ",
                        static_cast<int>(origin.stream), " has written it"),
                   describeWriter(at.steps, origin));
  if (std::optional<Fault> found = checkAddends(access, content))
    return found;
  return origin.columns == ColumnSets::kAll ? std::nullopt : checkColumns(access, content);
}

std::optional<Fault> MemoryRules::checkAddends(const Access &access, const Content &content) const {
  int32_t microBatch = content.origin.microBatch;
  if (microBatch == kStep || content.value.isZero)
    return std::nullopt;
  uint64_t all = at.steps.manifest.num_micro_batches();
  const Addends &addends = content.addends;
  bool isComplete = at.isOfStep
                        ? all == 1 || (addends.isMixed && addends.count % all == 0)
                        : access.adds || (!addends.isMixed && microBatch == at.microBatch());
  if (isComplete)
    return std::nullopt;
  return unfinishedSum(access, content);
}

Fault MemoryRules::unfinishedSum(const Access &access, const Content &content) const {
  uint64_t all = at.steps.manifest.num_micro_batches();
  std::string name = at.steps.bufferName(access.touch.buffer);
  std::string writer = describeWriter(at.steps, content.origin);
  const Addends &addends = content.addends;
  if (at.isOfStep && addends.isMixed)
    return at.fail("values",
                   text("reads the sum in ", name, ", to which ", addends.count,
                        " addends were added, wanted as many of each of ", all, " micro-batches"),
                   writer);
  if (at.isOfStep)
    return at.fail("values",
                   text("reads ", name, " for all of ", all,
                        " micro-batches, where only that of micro-batch ",
                        content.origin.microBatch, " is left"),
                   writer);
  if (addends.isMixed)
    return at.fail("values", text("reads ", name, ", a sum to which other micro-batches add"),
                   writer);
  return at.fail(
      "memory",
      text("reads ", name, ", which holds what belongs to micro-batch ", content.origin.microBatch),
      writer);
}

std::optional<Fault> MemoryRules::checkColumns(const Access &access, const Content &content) const {
  const Touch &touch = access.touch;
  if (!touch.exact && !touch.columns) // it may read what was written and no more
    return std::nullopt;
  std::optional<Columns> missing = columnSets.findMissing(
      content.origin.columns, touch.columns ? &*touch.columns : nullptr,
      at.steps.segments.begin(access.segment) - access.pieceBegin, bytesOf(access.segment));
  if (!missing)
    return std::nullopt;
  return unwritten(access, content, *missing);
}

Fault MemoryRules::unwritten(const Access &access, const Content &content,
                             const Columns &missing) const {
  const Touch &touch = access.touch;
  int64_t begin = at.steps.segments.begin(access.segment);
  Column first = missing.columns.front();
  std::string name = at.steps.bufferName(touch.buffer);
  std::string writer = describeWriter(at.steps, content.origin);
  const char *since = at.isOfStep ? "in this step" : "for this micro-batch";
  if (missing.stride == bytesOf(access.segment))
    return at.fail("memory",
                   text("reads bytes ", begin + first.begin, " to ", begin + first.end,
                        " of the arena, part of ", name, ", which nothing has written ", since),
                   writer);
  // As bytes of the rows of the buffer.
  int64_t stride = missing.stride;
  int64_t from = begin - at.rangeOf(touch, Piece()).begin + first.begin;
  from = (from % stride + stride) % stride;
  return at.fail("memory",
                 text("reads bytes ", from, " to ",
                      std::min(from + first.end - first.begin, stride), " of each ", stride, " of ",
                      name, ", which nothing has written ", since),
                 writer);
}

std::optional<Fault> MemoryRules::checkWrite(const Access &access, const Content &content,
                                             const uint32_t *readTimes) const {
  auto early = [&](uint8_t stream, const std::string &does) {
    return at.fail("memory",
                   text("writes ", at.steps.bufferName(access.touch.buffer), " on stream ",
                        static_cast<int>(at.stream), ", while stream ", static_cast<int>(stream),
                        " may still ", does),
                   describeWriter(at.steps, content.origin));
  };
  for (uint8_t stream = 0; stream < clocks.numStreams(); ++stream)
    if (stream != at.stream && !isDone(stream, readTimes[stream]))
      return early(stream, "read " + describeBytes(at.steps, access.segment));
  const Provenance &origin = content.origin;
  if (origin.time > 0 && !isDone(origin.stream, origin.time))
    return early(origin.stream, "write " + describeBytes(at.steps, access.segment));
  return std::nullopt;
}

bool MemoryRules::replaces(const Access &access, const Content &content) const {
  if (access.touch.exact)
    return true;
  return access.touch.columns &&
         columnSets.meets(content.origin.columns, *access.touch.columns,
                          at.steps.segments.begin(access.segment) - access.pieceBegin,
                          bytesOf(access.segment));
}

} // namespace dtc

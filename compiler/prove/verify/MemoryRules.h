// Rules of reading and writing memory: what is read was written for it, and in order.
#pragma once

#include "compiler/prove/verify/Clocks.h"
#include "compiler/prove/verify/Content.h"
#include "compiler/prove/verify/Execution.h"

#include <optional>

namespace dtc {

// One segment that a touch of the current instruction reads or writes.
struct Access {
  const Touch &touch;
  uint64_t storage = 0; // through which it is touched
  bool adds = false;    // the touch adds to what is there
  uint32_t segment = 0;
  int64_t pieceBegin = 0; // address at which the piece begins
};

// Checks accesses of the current instruction of `at`.
class MemoryRules {
public:
  MemoryRules(const Execution &at, const Clocks &clocks, const ColumnSets &columnSets)
      : at(at), clocks(clocks), columnSets(columnSets) {}

  // Checks that the buffer of a touch has a storage in the layer.
  std::optional<Fault> checkLayer(const Touch &touch) const;
  // Checks that a segment holds what the touch wants, and that its writer is done.
  std::optional<Fault> checkRead(const Access &access, const Content &content) const;
  // Checks that the writer and all readers of a segment are done. `readTimes`: per stream.
  std::optional<Fault> checkWrite(const Access &access, const Content &content,
                                  const uint32_t *readTimes) const;
  // Returns true if a write is known to replace bytes of the segment that were written before. Two
  // copies may fill a gradient in turn, each its own columns, before anything reads it.
  bool replaces(const Access &access, const Content &content) const;

private:
  std::optional<Fault> checkAddends(const Access &access, const Content &content) const;
  Fault unfinishedSum(const Access &access, const Content &content) const;
  std::optional<Fault> checkColumns(const Access &access, const Content &content) const;
  Fault unwritten(const Access &access, const Content &content, const Columns &missing) const;
  bool isDone(uint8_t stream, uint32_t time) const {
    return clocks.isDone(at.stream, stream, time);
  }
  int64_t bytesOf(uint32_t segment) const {
    return at.steps.segments.end(segment) - at.steps.segments.begin(segment);
  }

  const Execution &at;
  const Clocks &clocks;
  const ColumnSets &columnSets;
};

} // namespace dtc

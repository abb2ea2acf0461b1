#include "compiler/prove/verify/CopyFlow.h"

namespace dtc {
namespace {

// Finds for segments of a copy's destination the bytes that they are copied from. Pieces follow one
// another on both sides; within one, bytes do where both are whole.
class CopySource {
public:
  explicit CopySource(const Execution &at)
      : at(at), from(at.source->touches[0]), to(at.source->touches[1]),
        isWhole(from.exact && to.exact) {
    goTo(0);
  }

  // Returns the addresses that a segment is copied from: a hull, unless both sides are whole.
  Steps::Range find(uint32_t segment) {
    int64_t begin = at.steps.segments.begin(segment), end = at.steps.segments.end(segment);
    for (size_t tries = 0; tries < to.pieces.size() && !(dst.begin <= begin && end <= dst.end);
         ++tries)
      goTo((piece + 1) % to.pieces.size());
    return isWhole ? Steps::Range{src.begin + begin - dst.begin, src.begin + end - dst.begin} : src;
  }

private:
  void goTo(size_t index) {
    piece = index;
    src = at.rangeOf(from, from.pieces[piece]);
    dst = at.rangeOf(to, to.pieces[piece]);
  }

  const Execution &at;
  const Touch &from, &to;
  bool isWhole;
  size_t piece = 0;
  Steps::Range src, dst;
};

} // namespace

std::optional<Fault> followCopy(ProgramState &state) {
  if (std::optional<Fault> found = state.memory.read(0))
    return found;
  if (state.at.adds())
    if (std::optional<Fault> found = state.memory.read(1, /*adds=*/true))
      return found;
  ValueRanges sorted = state.memory.operand(0);
  sorted.sort();
  AxisSet moves = state.scalarAxes();
  CopySource source(state.at);
  return state.memory.write(state.at.source->touches[1], [&](uint32_t segment) {
    Steps::Range range = source.find(segment);
    Value value = sorted.joined(range.begin, range.end);
    value.axes |= moves;
    return value;
  });
}

} // namespace dtc

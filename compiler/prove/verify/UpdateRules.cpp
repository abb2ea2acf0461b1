#include "compiler/prove/verify/UpdateRules.h"

#include "compiler/prove/verify/PartialSums.h"
#include "runtime/format/Description.h"

namespace dtc {
namespace {

using format::text;

// Returns the persistent tensor of which the instruction writes a part for each of its elements.
const InitialTensor *updatedTensor(const ProgramState &state) {
  const InitialTensor *updated = nullptr;
  for (const Touch &touch : state.at.source->touches) {
    if (!touch.writes || touch.pieces.empty())
      continue;
    SegmentSpan span = state.steps.spanOf(touch, 0, *state.at.current, state.at.layer);
    if (span.first == span.last)
      continue;
    const InitialTensor *tensor = state.memory.tensorAt(span.first);
    if (tensor && tensor->elements == state.at.elementsOf(touch))
      updated = tensor;
  }
  return updated;
}

// Checks a range of an operand that a tensor is updated with, element by element.
std::optional<Fault> checkGradient(const ProgramState &state, const InitialTensor &tensor,
                                   uint32_t buffer, const ValueRange &range) {
  if (range.value.isZero)
    return std::nullopt;
  if (AxisSet missing = range.value.toBeSummed(state.initial.batchAxes(), tensor.shards))
    return state.at.fail("values",
                         text("updates '", tensor.name, "' with ", state.steps.bufferName(buffer),
                              ", which was not summed along ", state.namesOf(missing),
                              ", where ranks have samples of their own"),
                         state.memory.writerOf(range));
  if (AxisSet lacking = axesWithout(tensor.shards, range.value.axes))
    return state.at.fail("values",
                         text("updates '", tensor.name, "', which is sharded along ",
                              state.namesOf(lacking), ", with ", state.steps.bufferName(buffer),
                              ", which is replicated there: it was reduced once too often"),
                         state.memory.writerOf(range));
  return std::nullopt;
}

// Checks an operand that a tensor is updated with; `isTogether` becomes true if it was reduced over
// several programs.
std::optional<Fault> checkOperand(const ProgramState &state, const InitialTensor &tensor,
                                  size_t touch, bool &isTogether) {
  for (const ValueRange &range : state.memory.operand(touch)) {
    isTogether |= range.value.together != 0;
    uint32_t buffer = state.at.source->touches[touch].buffer;
    if (std::optional<Fault> found = checkGradient(state, tensor, buffer, range))
      return found;
  }
  return checkFinished(state, touch, "for an update", 0);
}

} // namespace

std::optional<Fault> checkUpdate(const ProgramState &state) {
  const InitialTensor *tensor = updatedTensor(state);
  if (!tensor || tensor->isRest) // each rank keeps its own
    return std::nullopt;
  bool isTogether = false, any = false;
  for (size_t i = 0; i < state.at.source->touches.size(); ++i) {
    const Touch &touch = state.at.source->touches[i];
    bool isElementwise = touch.reads && touch.pieces.size() == 1 &&
                         state.at.elementsOf(touch) == tensor->elements && tensor->elements > 1;
    if (!isElementwise)
      continue;
    any = true;
    if (std::optional<Fault> found = checkOperand(state, *tensor, i, isTogether))
      return found;
  }
  if (tensor->isShared && any && !isTogether)
    return state.at.fail("values",
                         text("updates '", tensor->name,
                              "', which ranks of other programs hold, too, with nothing that was "
                              "reduced over all of them"));
  return std::nullopt;
}

} // namespace dtc

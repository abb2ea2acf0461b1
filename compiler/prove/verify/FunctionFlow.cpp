#include "compiler/prove/verify/FunctionFlow.h"

#include "compiler/prove/verify/PartialSums.h"
#include "compiler/prove/verify/RingRules.h"
#include "compiler/prove/verify/RowRules.h"
#include "compiler/prove/verify/UpdateRules.h"
#include "runtime/format/Description.h"

namespace dtc {

using format::text;

namespace {

// Reads all operands and what results are added to; `made` becomes what all operands make.
std::optional<Fault> readOperands(ProgramState &state, Value &made) {
  made.axes = state.scalarAxes();
  const std::vector<Touch> &touches = state.at.source->touches;
  for (size_t i = 0; i < touches.size(); ++i) {
    bool adds = touches[i].writes && state.at.adds();
    if (!touches[i].reads && !adds)
      continue;
    if (std::optional<Fault> found = state.memory.read(i, adds))
      return found;
    if (touches[i].reads) {
      Value operand = state.memory.operand(i).joined();
      made.axes |= operand.axes;
      made.partial |= operand.partial;
      made.samples |= operand.samples;
      made.exchanged |= operand.exchanged;
      made.ring |= operand.ring;
    }
  }
  made.isZero = state.at.source->flow == Flow::Zero;
  return std::nullopt;
}

// Checks that nothing reads rows of a rank's own samples beside those that ranks have exchanged.
std::optional<Fault> checkExchanged(const ProgramState &state, const Value &made) {
  AxisSet mixed = made.samples & made.exchanged;
  if (!mixed)
    return std::nullopt;
  return state.at.fail("values", text("reads samples of the rank's own beside samples that ranks "
                                      "have exchanged along ",
                                      state.namesOf(mixed)));
}

std::optional<Fault> checkOperands(const ProgramState &state) {
  if (std::optional<Fault> found = checkUpdate(state))
    return found;
  if (std::optional<Fault> found = checkParts(state))
    return found;
  if (std::optional<Fault> found = checkKeys(state))
    return found;
  return checkLookup(state);
}

// Sets what a result has of the operands that it is made of element by element. Operands of as many
// elements are taken for these.
void setElementwise(const ProgramState &state, const Touch &result, Value &value) {
  const std::vector<Touch> &touches = state.at.source->touches;
  value.reduced = kAllAxes;
  bool any = false;
  for (size_t i = 0; i < touches.size(); ++i) {
    if (!touches[i].reads || state.at.elementsOf(touches[i]) != state.at.elementsOf(result))
      continue;
    Value operand = state.memory.operand(i).joined();
    value.together = operand.together ? operand.together : value.together;
    if (operand.reduced == kAllAxes)
      continue; // persistent tensors carry no reduction state
    value.reduced &= operand.reduced;
    any = true;
  }
  // A value that no sample enters is the same addend in each rank's sum, so nothing is to be
  // summed.
  if (!any && !value.isZero)
    value.reduced =
        axesWithout(state.initial.batchAxes(), value.samples | value.partial | value.exchanged);
  // An operand of as many elements that no sample enters, such as a rounded weight, needs no sum;
  // what is made of it and of samples does.
  value.reduced = axesWithout(value.reduced, value.samples);
}

} // namespace

std::optional<Fault> followFunction(ProgramState &state) {
  Value made;
  if (std::optional<Fault> found = readOperands(state, made))
    return found;
  if (std::optional<Fault> found = checkOperands(state))
    return found;
  if (std::optional<Fault> found = checkExchanged(state, made))
    return found;
  if (std::optional<Fault> found = checkPositions(state, made))
    return found;
  if (std::optional<Fault> found = checkRows(state))
    return found;
  bool isKernel = state.at.source->source->op_as_Launch();
  RowResults rows(state);
  uint32_t result = 0;
  for (const Touch &touch : state.at.source->touches) {
    if (!touch.writes)
      continue;
    // Shares add up to what all ranks hold, so they differ between ranks, whatever they were made
    // of.
    AxisSet share = shareOf(state, result);
    Value value = made;
    value.axes |= share;
    value.partial =
        isKernel ? share : static_cast<AxisSet>(made.partial | unfinishedOf(state, touch.buffer));
    setElementwise(state, touch, value);
    value.reduced = axesWithout(value.reduced, share);
    setPositions(state, touch.buffer, value);
    value.order = rows.orderOf(touch, result++);
    if (std::optional<Fault> found = state.memory.write(touch, [&](uint32_t) { return value; }))
      return found;
  }
  return std::nullopt;
}

} // namespace dtc

#include "compiler/prove/verify/PartialSums.h"

#include "compiler/prove/verify/RingRules.h"
#include "runtime/format/Description.h"
#include "runtime/format/Instructions.h"

namespace dtc {

using format::text;

namespace {

// Returns the union of a set of axes of all that the instruction reads of a buffer.
AxisSet unionOf(const ProgramState &state, uint32_t buffer, AxisSet Value::*of) {
  const std::vector<Touch> &touches = state.at.source->touches;
  AxisSet axes = 0;
  for (size_t i = 0; i < touches.size(); ++i)
    if (touches[i].reads && touches[i].buffer == buffer)
      axes |= state.memory.operand(i).joined().*of;
  return axes;
}

// Returns the axes on which what the instruction reads of a buffer may differ.
AxisSet axesOf(const ProgramState &state, uint32_t buffer) {
  return unionOf(state, buffer, &Value::axes);
}

// Returns true if the instruction averages, which commutes with sums.
bool averages(const format::Instruction &instruction) {
  if (const format::Pool2d *op = instruction.op_as_Pool2d())
    return !op->shape()->max();
  if (const format::Pool2dGrad *op = instruction.op_as_Pool2dGrad())
    return !op->shape()->max();
  return false;
}

// Returns the purpose for which an instruction reads its operands, for messages.
const char *purposeOf(const format::Instruction &instruction) {
  if (instruction.op_as_Gemm() || instruction.op_as_GroupedGemm())
    return "for a product";
  return format::kindOf(instruction.op_type()).timeClass == format::TimeClass::Attention
             ? "for attention"
             : "as if it were whole";
}

} // namespace

AxisSet ownOf(const ProgramState &state) {
  AxisSet axes = 0;
  if (!state.at.source->source->op_as_Launch())
    return axes;
  for (const Touch &touch : state.at.source->touches) {
    if (!touch.reads || touch.pieces.empty())
      continue;
    SegmentSpan span = state.steps.spanOf(touch, 0, *state.at.current, state.at.layer);
    if (span.first == span.last)
      continue;
    const InitialTensor *tensor = state.memory.tensorAt(span.first);
    if (tensor && tensor->isRest)
      axes |= tensor->shards;
  }
  return axes;
}

AxisSet unfinishedOf(const ProgramState &state, uint32_t buffer) {
  const format::Instruction &instruction = *state.at.source->source;
  if (const format::Gemm *op = instruction.op_as_Gemm()) {
    if (op->batch() > 1) // ranks may each have some matrices of a batch
      return 0;
    return axesOf(state, op->a()) & axesOf(state, op->b());
  }
  // Ranks that differ in their samples may have rows of other experts, whose products they do not
  // add up; sums over rows are those of their samples, or of the samples of all ranks that have
  // exchanged them.
  if (const format::GroupedGemm *op = instruction.op_as_GroupedGemm()) {
    AxisSet both = axesOf(state, op->a()) & axesOf(state, op->b());
    if (!op->sums_rows())
      return axesWithout(both, state.initial.batchAxes());
    return axesWithout(both & state.initial.batchAxes(),
                       unionOf(state, op->a(), &Value::exchanged));
  }
  if (const format::Conv2dWeightGrad *op = instruction.op_as_Conv2dWeightGrad())
    return axesOf(state, op->x()) & axesOf(state, op->dy()) & state.initial.batchAxes();
  if (instruction.op_as_Embedding())
    return state.scalarAxes();
  if (const format::EmbeddingGrad *op = instruction.op_as_EmbeddingGrad())
    return axesOf(state, op->ids());
  if (const format::AttentionGrad *op = instruction.op_as_AttentionGrad()) {
    if (buffer != op->dk() && buffer != op->dv())
      return 0;
    return axesWithout(axesOf(state, op->forward()->q()), axesOf(state, op->forward()->k()));
  }
  return 0;
}

AxisSet shareOf(const ProgramState &state, uint32_t result) {
  const format::Launch *launch = state.at.source->source->op_as_Launch();
  if (!launch || result >= format::sizeOf(launch->shares()))
    return 0;
  return static_cast<AxisSet>(launch->shares()->Get(result)) & state.varying();
}

std::optional<Fault> checkFinished(const ProgramState &state, size_t touch, const char *why,
                                   AxisSet allowed) {
  for (const ValueRange &each : state.memory.operand(touch))
    if (AxisSet partial = axesWithout(each.value.partial, allowed))
      return state.at.fail(
          "values",
          text("reads ", state.steps.bufferName(state.at.source->touches[touch].buffer), " ", why,
               ", which is still a partial sum along ", state.namesOf(partial)),
          state.memory.writerOf(each));
  return std::nullopt;
}

std::optional<Fault> checkLookup(const ProgramState &state) {
  const format::Embedding *op = state.at.source->source->op_as_Embedding();
  if (!op)
    return std::nullopt;
  AxisSet moves = state.scalarAxes(), table = axesOf(state, op->table_());
  std::string name = state.steps.bufferName(op->table_());
  if (AxisSet replicated = axesWithout(moves, table))
    return state.at.fail("values",
                         text("looks up rows of ", name, " from another one on along ",
                              state.namesOf(replicated), ", where ranks hold the same rows"));
  if (AxisSet apart = axesWithout(table & axesOf(state, op->ids()), moves))
    return state.at.fail("values", text("looks up tokens that differ along ", state.namesOf(apart),
                                        " in ", name, ", which is sharded there"));
  return std::nullopt;
}

std::optional<Fault> checkKeys(const ProgramState &state) {
  const format::Instruction &instruction = *state.at.source->source;
  const format::AttentionGrad *grad = instruction.op_as_AttentionGrad();
  const format::Attention *op = grad ? grad->forward() : instruction.op_as_Attention();
  if (!op)
    return std::nullopt;
  AxisSet parts = 0;
  if (op->lengths() != format::noBuffer)
    parts |= axesOf(state, op->lengths()) & state.initial.contextAxes();
  if (op->starts() != format::noBuffer) {
    AxisSet starts = axesOf(state, op->starts()) & state.initial.contextAxes();
    if (AxisSet same = axesWithout(axesOf(state, op->q()) & state.initial.contextAxes(), starts))
      return state.at.fail("values", text("takes queries that differ along ", state.namesOf(same),
                                          " for ones at the same positions"));
  }
  AxisSet apart = parts & (axesOf(state, op->k()) | axesOf(state, op->v()));
  if (!apart || (hasPassedOn(state, op->k()) && hasPassedOn(state, op->v())))
    return std::nullopt;
  return state.at.fail("values",
                       text("reads as many keys as lengths say that differ along ",
                            state.namesOf(apart), ", where ", state.steps.bufferName(op->k()),
                            " or ", state.steps.bufferName(op->v()), " was not gathered"));
}

std::optional<Fault> checkParts(const ProgramState &state) {
  const format::Instruction &instruction = *state.at.source->source;
  if (state.at.source->flow != Flow::Function || averages(instruction))
    return std::nullopt;
  // Each rank would add the bias, and GELU of parts is nonsense.
  const format::Gemm *product = instruction.op_as_Gemm();
  if (product && format::hasEpilogue(*product))
    if (AxisSet partial = unfinishedOf(state, product->c()))
      return state.at.fail("values", text("does more than multiply, and reads a partial sum along ",
                                          state.namesOf(partial)));
  AxisSet allowed = ownOf(state);
  const format::Launch *launch = instruction.op_as_Launch();
  for (uint32_t result = 0; launch && result < format::sizeOf(launch->shares()); ++result)
    allowed |= shareOf(state, result);
  const char *why = purposeOf(instruction);
  for (size_t i = 0; i < state.at.source->touches.size(); ++i)
    if (state.at.source->touches[i].reads)
      if (std::optional<Fault> found = checkFinished(state, i, why, allowed))
        return found;
  return std::nullopt;
}

} // namespace dtc

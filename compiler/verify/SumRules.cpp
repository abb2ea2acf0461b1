// Which values are parts of sums that ranks have yet to finish, and who may read such parts.
//
// An instruction leaves such sums where a dim that it sums over is split. A generated kernel says so itself
// (Launch.shares). Of all others the operands tell: along an axis on which ranks hold unlike parts of
//   both sides of a product, its inner dim is split: another dim of the result belongs to one side only;
//   the ids of an embedding's gradient, ranks have tokens of their own, which it adds up;
//   the queries of attention but not its keys, several ranks add to the gradients of the same keys;
// and where the first row of an embedding's table depends on the rank, each rank finds some of the words.
// It does not matter where operands come from: parameters at rest, gathered before use, in another type, activations.
//
// Parts may be copied, sent, and summed up by collectives. What a kernel makes of them has to be parts, too, as the
// kernel says; a product, attention, a norm or any other function would make nonsense of a part.
#include "compiler/verify/Values.h"

#include "runtime/format/Description.h"
#include "runtime/format/InstructionKinds.h"

namespace dtc {

using format::text;

AxisSet Values::axesOf(uint32_t buffer) const {
  AxisSet axes = 0;
  for (size_t i = 0; i < source->touches.size(); ++i)
    if (source->touches[i].reads && source->touches[i].buffer == buffer)
      axes |= mergedOf(read_[i]).axes;
  return axes;
}

AxisSet Values::unfinishedOf(uint32_t buffer) const {
  const format::Instruction &instruction = *source->source;
  if (const format::Gemm *op =
          instruction.op_as_Gemm()) // of a batch ranks may have some products each
    return op->batch() > 1 ? AxisSet(0) : static_cast<AxisSet>(axesOf(op->a()) & axesOf(op->b()));
  if (instruction.op_as_Embedding())
    return source->scalarAxes & groups.varying(steps.index);
  if (const format::EmbeddingGrad *op = instruction.op_as_EmbeddingGrad())
    return axesOf(op->ids());
  if (const format::AttentionGrad *op = instruction.op_as_AttentionGrad()) {
    AxisSet queries = axesOf(op->forward()->q()), keys = axesOf(op->forward()->k());
    return buffer == op->dk() || buffer == op->dv() ? static_cast<AxisSet>(queries & ~keys)
                                                    : AxisSet(0);
  }
  return 0;
}

AxisSet Values::shareOf(const format::Launch *launch, uint32_t result) const {
  if (!launch || result >= format::sizeOf(launch->shares()))
    return 0;
  return static_cast<AxisSet>(launch->shares()->Get(result)) & groups.varying(steps.index);
}

std::optional<Fault> Values::checkFinished(const Touch &touch, const std::vector<Held> &held,
                                           const char *why, AxisSet allowed) const {
  for (const Held &each : held)
    if (AxisSet partial = each.partial & static_cast<AxisSet>(~allowed))
      return fail("values",
                  text("reads ", steps.bufferName(touch.buffer), " ", why,
                       ", which is still a part of a sum along ",
                       axisNames(steps.manifest, partial)),
                  writerOf(bytes[steps.segments.find(each.begin, each.end).first]));
  return std::nullopt;
}

// Rows of a table are looked up where they are: ranks that begin with another row hold other rows, and words of a
// rank's own are in a table that is the same where they differ.
std::optional<Fault> Values::checkLookup() const {
  const format::Embedding *op = source->source->op_as_Embedding();
  if (!op)
    return std::nullopt;
  AxisSet moves = source->scalarAxes & groups.varying(steps.index), table = axesOf(op->table_());
  if (AxisSet alike = moves & static_cast<AxisSet>(~table))
    return fail("values", text("looks up rows of ", steps.bufferName(op->table_()),
                               " from another one on along ", axisNames(steps.manifest, alike),
                               ", where ranks hold the same rows"));
  if (AxisSet apart = table & axesOf(op->ids()) & static_cast<AxisSet>(~moves))
    return fail("values",
                text("looks up words that differ along ", axisNames(steps.manifest, apart), " in ",
                     steps.bufferName(op->table_()), ", of which ranks there hold unlike parts"));
  return std::nullopt;
}

std::optional<Fault> Values::checkParts() const {
  const format::Instruction &instruction = *source->source;
  bool averages = false; // which commutes with sums
  if (const format::Pool2d *op = instruction.op_as_Pool2d())
    averages = !op->shape()->max();
  if (const format::Pool2dGrad *op = instruction.op_as_Pool2dGrad())
    averages = !op->shape()->max();
  if (source->flow != Flow::Function || averages)
    return std::nullopt;
  // Each rank would add the bias, and GELU of parts is nonsense.
  const format::Gemm *product = instruction.op_as_Gemm();
  if (AxisSet partial = product && format::hasEpilogue(*product) ? unfinishedOf(product->c()) : 0)
    return fail("values", text("does more than multiply, and has a part of a sum along ",
                               axisNames(steps.manifest, partial)));
  AxisSet allowed = 0;
  const format::Launch *launch = instruction.op_as_Launch();
  for (uint32_t result = 0; launch && result < format::sizeOf(launch->shares()); ++result)
    allowed |= shareOf(launch, result);
  bool isAttention =
      format::kindOf(instruction.op_type()).timeClass == format::TimeClass::Attention;
  const char *why = instruction.op_as_Gemm() ? "for a product"
                    : isAttention            ? "for attention"
                                             : "as if it were whole";
  for (size_t i = 0; i < source->touches.size(); ++i)
    if (source->touches[i].reads)
      if (std::optional<Fault> found = checkFinished(source->touches[i], read_[i], why, allowed))
        return found;
  return std::nullopt;
}

} // namespace dtc

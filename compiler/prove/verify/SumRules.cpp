// Tracks values that are partial sums, and checks who may read them.
// An instruction leaves partial sums if a dimension that it reduces is sharded. A generated kernel
// declares this itself (Launch.shares). For other instructions the operands tell, along each axis:
// - matmul: if both operands are sharded along the axis, the contracted dimension is sharded, since
//   any other dimension of the result belongs to one operand only;
// - gradient of an embedding: if the ids are sharded, each rank adds up its own tokens;
// - attention: if the queries are sharded but not the keys, several ranks add to the gradients of
//   the same keys;
// - embedding lookup: if the table's first row depends on the rank, each rank finds some of the
//   vocabulary entries.
// It does not matter how operands came about: parameters at rest, gathered, converted, or
// activations.
// Partial sums may be copied, sent, and reduced by collectives. A kernel that reads one has to
// declare its result as partial, too; a matmul, attention, norm or any other function of a partial
// sum is an error.
#include "compiler/prove/verify/Values.h"

#include "runtime/format/Description.h"
#include "runtime/format/Instructions.h"

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
          instruction.op_as_Gemm()) // ranks may each have some matrices of a batch
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
                       ", which is still a partial sum along ", axisNames(steps.manifest, partial)),
                  writerOf(bytes[steps.segments.find(each.begin, each.end).first]));
  return std::nullopt;
}

// Rows of a table are looked up where they are: ranks that begin with another row hold other rows,
// and words of a rank's own are in a table that is the same where they differ.
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
                text("looks up tokens that differ along ", axisNames(steps.manifest, apart), " in ",
                     steps.bufferName(op->table_()), ", which is sharded there"));
  return std::nullopt;
}

std::optional<Fault> Values::checkParts() const {
  const format::Instruction &instruction = *source->source;
  bool averages = false; // averaging commutes with sums
  if (const format::Pool2d *op = instruction.op_as_Pool2d())
    averages = !op->shape()->max();
  if (const format::Pool2dGrad *op = instruction.op_as_Pool2dGrad())
    averages = !op->shape()->max();
  if (source->flow != Flow::Function || averages)
    return std::nullopt;
  // Each rank would add the bias, and GELU of parts is nonsense.
  const format::Gemm *product = instruction.op_as_Gemm();
  if (AxisSet partial = product && format::hasEpilogue(*product) ? unfinishedOf(product->c()) : 0)
    return fail("values", text("does more than multiply, and reads a partial sum along ",
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

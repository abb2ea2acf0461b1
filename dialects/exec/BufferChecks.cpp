#include "dialects/exec/BufferChecks.h"

using namespace mlir;
using namespace dtc;
using namespace dtc::exec;

LogicalResult dtc::exec::verifyElements(Operation *op, StringRef role, Value buffer,
                                        int64_t elements, bool exact, Type dtype) {
  if (!dtype)
    dtype = Float32Type::get(op->getContext());
  if (getDtype(buffer) != dtype)
    return op->emitOpError() << "has " << role << " '" << getName(buffer) << "' of "
                             << getDtype(buffer) << "; want " << dtype;
  int64_t want = elements * getElementBytes(dtype), bytes = getBytes(buffer);
  if (exact ? bytes == want : bytes >= want)
    return success();
  return op->emitOpError() << "has " << role << " '" << getName(buffer) << "' of " << bytes
                           << " bytes; want " << (exact ? "" : "at least ") << want << " bytes";
}

LogicalResult dtc::exec::verifyFloats(Operation *op, StringRef role, Value buffer, int64_t elements,
                                      bool exact) {
  Type dtype = getDtype(buffer);
  if (!isa<FloatType>(dtype))
    return op->emitOpError() << "has " << role << " '" << getName(buffer) << "' of " << dtype
                             << "; want f32, bf16 or f16";
  return verifyElements(op, role, buffer, elements, exact, dtype);
}

// Checks gemm_c4, grouped_gemm_c5, embedding_grad_c2 and copy_c4.
LogicalResult dtc::exec::verifyStartsSum(InstructionOpInterface op) {
  if (!op.startsSum() || op.accumulates())
    return success();
  return op->emitOpError() << "has '" << kStartsSum << "', but does not add to '"
                           << getName(op.getWrittenBuffers()[0]) << "'";
}

#include "dialects/exec/GroupedOps.h"

#include "dialects/exec/BufferChecks.h"

using namespace mlir;
using namespace dtc::exec;

bool GroupedGemmOp::accumulateInto(Value target, bool startsSum) {
  if (accumulates() || !getSumsRows())
    return false;
  getCMutable().assign(target);
  setAccumulate(true);
  setStartsSum(startsSum);
  return true;
}

LogicalResult GroupedGemmOp::verify() {
  int64_t groups = getGroups(), samples = getSamples(), rows = getRows(), k = getK(), n = getN();
  for (int64_t size : {groups, samples, rows, k, n})
    if (size < 1) // grouped_gemm_c1
      return emitOpError() << "has a size of " << size << "; want positive ones";
  if (getSumsRows() && getTransB()) // grouped_gemm_c4
    return emitOpError() << "has 'transposed' and 'sums_rows'; want one of them";
  if (getAccumulate() && (!getSumsRows() || !getDtype(getC()).isF32())) // grouped_gemm_c4
    return emitOpError() << "adds to c of " << getDtype(getC())
                         << (getSumsRows() ? "" : " without 'sums_rows'")
                         << "; want sums of rows in f32";
  int64_t matrices = groups * k * n;
  if (failed(verifyElements(*this, "counts", getCounts(), samples * groups, false,
                            IntegerType::get(getContext(), 32))) || // grouped_gemm_c1
      failed(verifyFloats(*this, "a", getA(), rows * k, false)) ||  // grouped_gemm_c2
      failed(verifyFloats(*this, "b", getB(), getSumsRows() ? rows * n : matrices, false)) ||
      failed(verifyFloats(*this, "c", getC(), getSumsRows() ? matrices : rows * n, false)))
    return failure();
  Type dtype = getDtype(getA()), result = getDtype(getC());
  if (dtype != getDtype(getB()) || (result != dtype && !result.isF32())) // grouped_gemm_c3
    return emitOpError() << "multiplies " << dtype << " by " << getDtype(getB()) << " to " << result
                         << "; want one type, or f32 for 'c'";
  for (Value read : {getA(), getB(), getCounts()})
    if (getRange(getC()).overlaps(getRange(read))) // grouped_gemm_c6
      return emitOpError() << "writes '" << getName(getC()) << "', which it also reads";
  return verifyStartsSum(*this); // grouped_gemm_c5
}

#define GET_OP_CLASSES
#include "dialects/exec/GroupedOps.cpp.inc"

#include "compiler/build/emit/Dtypes.h"

#include "llvm/Support/ErrorHandling.h"

namespace dtc {

format::DType dtypeOf(mlir::Type type) {
  if (type.isF32())
    return format::DType::f32;
  if (type.isBF16())
    return format::DType::bf16;
  if (type.isF16())
    return format::DType::f16;
  if (type.isInteger(32))
    return format::DType::i32;
  if (type.isInteger(64))
    return format::DType::i64;
  if (type.isInteger(8))
    return format::DType::u8;
  llvm::reportFatalInternalError("a buffer has an element type that .dte files do not have");
}

} // namespace dtc

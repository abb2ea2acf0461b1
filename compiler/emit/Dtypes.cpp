#include "compiler/emit/Dtypes.h"

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
  return type.isInteger(64) ? format::DType::i64 : format::DType::u8;
}

} // namespace dtc

// Stores of indices, which kernels otherwise only load.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/codegen/KernelBuilder.h"

namespace dtc {

// Stores an index as an element of an i32 buffer; writes to a null buffer are dropped.
class IndexStore : public KernelBuilder {
public:
  // Emits the store of `index` to element `at` of `buffer`.
  static void emit(KernelBuilder &k, Value index, Value buffer, Value at) {
    if (!buffer)
      return;
    Value element = mlir::arith::IndexCastOp::create(k.builder, k.loc, elementOf(buffer), index);
    (k.*&IndexStore::storeElement)(element, buffer, at);
  }
};

} // namespace dtc

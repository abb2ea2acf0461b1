// Labels of collectives with the execution of the block that they belong to.
#pragma once

#include "dialects/exec/Exec.h"

#include <optional>

namespace dtc {

// Attribute of collectives of @microbatch after inlining: the execution of a block that made them,
// numbered in program order.
constexpr llvm::StringLiteral kExecutionAttr = "execution";

// Attribute of an exec.collective that every micro-batch runs beside compute: its execution, or
// kOutsideOfBlocks if no block made it. Collectives that a step runs once have none. It decides
// which collectives are merged, and is removed when layers are rolled.
constexpr llvm::StringLiteral kExecutionLabel = "exec.execution";
constexpr int64_t kOutsideOfBlocks = -1;

// Returns the execution of a collective; nullopt if it has none.
inline std::optional<int64_t> getExecution(exec::CollectiveOp collective) {
  auto label = collective->getAttrOfType<mlir::IntegerAttr>(kExecutionLabel);
  return label ? std::optional(label.getInt()) : std::nullopt;
}

// Sets the execution of a collective; nullopt sets nothing.
inline void setExecution(exec::CollectiveOp collective, std::optional<int64_t> execution) {
  if (execution)
    collective->setAttr(kExecutionLabel,
                        mlir::Builder(collective.getContext()).getI64IntegerAttr(*execution));
}

} // namespace dtc

// Which execution of a block a collective of a micro-batch belongs to.
#pragma once

#include "dialects/exec/Exec.h"

#include <optional>

namespace dtc {

// On collectives of @microbatch, once blocks are inlined: which execution of a block made them, numbered in program order.
constexpr llvm::StringLiteral kExecutionAttr = "execution";

// The same on an exec.collective that every micro-batch makes beside compute; kOutsideOfBlocks where no block makes it. What
// a step makes once has none. It says which collectives travel together, and goes when layers are rolled.
constexpr llvm::StringLiteral kExecutionLabel = "exec.execution";
constexpr int64_t kOutsideOfBlocks = -1;

inline std::optional<int64_t> getExecution(exec::CollectiveOp collective) {
  auto label = collective->getAttrOfType<mlir::IntegerAttr>(kExecutionLabel);
  return label ? std::optional(label.getInt()) : std::nullopt;
}

inline void setExecution(exec::CollectiveOp collective, std::optional<int64_t> execution) {
  if (execution)
    collective->setAttr(kExecutionLabel,
                        mlir::Builder(collective.getContext()).getI64IntegerAttr(*execution));
}

} // namespace dtc

#include "passes/codegen/KernelSide.h"

using namespace mlir;
using namespace dtc;

bool dtc::isAt(graph::FuncOp kernel, KernelSide side) {
  bool isHosts = kernel->hasAttr(graph::kHostAttr);
  return side == KernelSide::Any || isHosts == (side == KernelSide::Host);
}

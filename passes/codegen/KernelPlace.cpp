#include "passes/codegen/KernelPlace.h"

using namespace mlir;
using namespace dtc;

bool dtc::isAt(graph::FuncOp kernel, KernelPlace place) {
  bool isHosts = kernel->hasAttr(graph::kHostAttr);
  return place == KernelPlace::Any || isHosts == (place == KernelPlace::Host);
}

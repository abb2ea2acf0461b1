// Registers the ops that copy between device memory and host memory.
#include "dialects/graph/OffloadOps.h"

using namespace mlir;
using namespace dtc::graph;

#define GET_OP_CLASSES
#include "dialects/graph/OffloadOps.cpp.inc"

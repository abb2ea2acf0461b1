// Registers the op that keeps recomputed ops apart from the originals.
#include "dialects/graph/RecomputeOps.h"

using namespace mlir;
using namespace dtc::graph;

#define GET_OP_CLASSES
#include "dialects/graph/RecomputeOps.cpp.inc"

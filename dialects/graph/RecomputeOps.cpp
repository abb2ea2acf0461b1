// What keeps ops that are computed again apart from those that were computed first.
#include "dialects/graph/RecomputeOps.h"

using namespace mlir;
using namespace dtc::graph;

#define GET_OP_CLASSES
#include "dialects/graph/RecomputeOps.cpp.inc"

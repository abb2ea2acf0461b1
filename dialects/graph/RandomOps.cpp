// Registers the random op of pointwise bodies.
#include "dialects/graph/RandomOps.h"

using namespace mlir;
using namespace dtc::graph;

#define GET_OP_CLASSES
#include "dialects/graph/RandomOps.cpp.inc"

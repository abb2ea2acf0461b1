// Random numbers in the bodies of pointwise ops.
#include "dialects/graph/RandomOps.h"

using namespace mlir;
using namespace dtc::graph;

#define GET_OP_CLASSES
#include "dialects/graph/RandomOps.cpp.inc"

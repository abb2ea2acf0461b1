// What goes between the memory of a device and that of its host.
#include "dialects/graph/OffloadOps.h"

using namespace mlir;
using namespace dtc::graph;

#define GET_OP_CLASSES
#include "dialects/graph/OffloadOps.cpp.inc"

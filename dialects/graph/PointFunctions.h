// The functions of graph.point and the comparisons of graph.compare.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpImplementation.h"

#include "dialects/graph/PointEnums.h.inc"

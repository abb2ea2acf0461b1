// The ways in which a state takes its next value (graph.observe).
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpImplementation.h"

#include "dialects/graph/StateEnums.h.inc"

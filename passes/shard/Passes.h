// Passes that turn one device's program into one rank's.
#pragma once

#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace dtc {

#define GEN_PASS_DECL
#include "passes/shard/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/shard/Passes.h.inc"

} // namespace dtc

// Models with one layer of each kind.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace dtc {

// A model with one layer, or a few, of each kind: what makes planning as quick for 96 layers as for
// one.
struct FoldedModel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<std::string> blocks; // functions of the distinct layers, by first call
  std::vector<int> chain;          // block of each layer of the whole model, in order
  // Elements of the model's trained and frozen parameters that '@loss' does not read.
  double unread = 0, unreadFrozen = 0;
};

// Keeps `keep` layers of each kind. Layers are executions of blocks in '@loss': those of a repeat,
// or calls, as a model has them whose blocks come in turn (dense, sparse, dense, ...) or whose
// layers are written out one by one; a repeat executes one block only. A further call of a block is
// replaced by its first operand and, for results but the first, by the first call; its first
// operand and result have to be of one type, others are kept. So are all calls of a block if ops
// besides the layers read a first result between them, make something for each of them, or if the
// calls are beside each other. `model` is not changed.
FoldedModel foldLayers(mlir::ModuleOp model, int64_t keep = 1);

} // namespace dtc

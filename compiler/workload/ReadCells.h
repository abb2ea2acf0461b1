// Reads the cells of a model off the programs that partitioning makes of it.
#pragma once

#include "compiler/plan/OpSplits.h"
#include "compiler/workload/Cells.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <optional>

namespace dtc {

// A model with one layer, or a few, of each kind: what makes planning as quick for 96 layers as for
// one.
struct FoldedModel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<std::string> blocks; // functions of the distinct layers, by first call
  std::vector<int> chain;          // block of each layer of the whole model, in order
};

// Keeps `keep` layers of each kind. Layers are calls in '@loss'; calls of the same function are the
// same layer. A further call of a block is replaced by its first operand and, for results but the
// first, by the first call; its first operand and result have to be of one type, others are kept.
// `model` is not changed.
FoldedModel foldLayers(mlir::ModuleOp model, int64_t keep = 1);

// The step of a folded model: bound to a batch, differentiated, with an optimizer. Null after a
// diagnostic.
mlir::OwningOpRef<mlir::ModuleOp> differentiateFolded(mlir::ModuleOp folded);

// Differentiates and partitions a copy for a tensor-parallel group of `tp` ranks and reads off what
// each block does. Nothing after a diagnostic where the model can't be partitioned that way.
std::optional<ModelCells> readCells(const FoldedModel &model, int64_t tp, bool sequenceParallel);

// The same where the placements are given.
std::optional<ModelCells> readCells(const FoldedModel &model, int64_t tp, bool sequenceParallel,
                                    const SearchedPlacements &placements);

} // namespace dtc

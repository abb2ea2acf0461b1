// Turns the program of one logical device into the program that every rank of the mesh runs.
#pragma once

#include "passes/shard/OpPlacement.h"

namespace dtc {

// Steps:
// 1. Parameters carry their placement; under ZeRO-1 optimizer state is split over the data axis too
//    (assignStatePlacements).
// 2. @microbatch: tokens are split over the data axis; every op is placed by placeOp and rewritten
// on local types, with
//    reshard between; gradients leave as they come (unfinished sums stay partial) but for splits
//    that are not their parameter's.
// 3. A block is partitioned once for each combination of argument placements that it is called
// with.
// 4. @update: gradients are first brought to where the optimizer state lives: all-reduce, or
// reduce-scatter under ZeRO. Emits a diagnostic and fails when something can't be split, e.g. a
// batch that the data axis does not divide.
mlir::LogicalResult partitionModule(mlir::ModuleOp module);

// Under graph.zero >= 1: splits each state along the dim that divides best among those the
// parameter leaves whole. States of parameters without such a dim stay as the parameter.
void assignStatePlacements(mlir::ModuleOp module, const Mesh &mesh);

// Splits cross_entropy into ops that can be split over words: reduce max, sum_exp, pick, log.
void decomposeCrossEntropy(mlir::ModuleOp module);

} // namespace dtc

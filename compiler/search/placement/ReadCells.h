// Reads the cells of a model off the programs that partitioning makes of it.
#pragma once

#include "compiler/decide/decisions/Decisions.h"
#include "compiler/decide/plan/OpSplits.h"
#include "compiler/price/workload/Cells.h"
#include "compiler/price/workload/FoldLayers.h"
#include "dialects/graph/Precision.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "passes/graph/ExchangeRows.h"

#include <optional>

namespace dtc {

// Folded, with what of a precision plans know by name: the loss scale of f16, where other steps
// have a constant. Types stay f32, as roundings are in no plan (OpChoices.h).
FoldedModel foldFor(mlir::ModuleOp model, Precision precision);

// The step of a folded model: bound to a batch, differentiated, with an optimizer. Null after a
// diagnostic. With an exchange among 2 ranks or more the batch is that of all of them.
mlir::OwningOpRef<mlir::ModuleOp> differentiateFolded(mlir::ModuleOp folded,
                                                      const RowExchange &exchange = {});

// Returns how programs of the decisions exchange rows of experts; among 1 rank where they do not,
// as in models of experts with a capacity.
RowExchange rowExchangeOf(const FoldedModel &model, const Decisions &decisions);

// Differentiates and partitions a copy for a tensor-parallel group of `tp` ranks and reads off what
// each block does. Nothing after a diagnostic where the model can't be partitioned that way.
// `foldsExperts`: the placements leave experts whole.
std::optional<ModelCells> readCells(const FoldedModel &model, int64_t tp, bool sequenceParallel,
                                    const SearchedPlacements &placements, bool foldsExperts = false,
                                    const RowExchange &exchange = {});
// The same where the model is differentiated already. With `exchangeRanks` of 2 or more it
// exchanges rows of experts, and is partitioned over these ranks, too: the cells are those of this
// ep alone, and have its all-to-alls as the program has them.
std::optional<ModelCells> readCells(const FoldedModel &model, mlir::ModuleOp differentiated,
                                    int64_t tp, bool sequenceParallel,
                                    const SearchedPlacements &placements, bool foldsExperts,
                                    int64_t exchangeRanks = 1);

} // namespace dtc

// Counts the rows that one sample has in the batch dim of a tensor.
#pragma once

#include "dialects/graph/Graph.h"
#include "llvm/ADT/DenseMap.h"

namespace dtc {

// The rows per sample of every value of a model whose batch is not bound yet ('?' in its type). The
// number is 1 if the dim counts samples, and 8 if a reshape has merged tensor<?x8x16xf32> into
// tensor<?x16xf32>: with 4 samples that tensor has 32 rows, and the rows of one sample are
// neighbours.
class SampleRows {
public:
  // Follows the batch through all functions of `module`, from '@loss' into the blocks that it
  // calls. Fails with a diagnostic at the first op that
  // - reshapes so that a row would hold elements of several samples, or rows of one sample would be
  //   apart;
  // - makes a tensor of two batch dims, or loops over two batches: it pairs samples;
  // - reads tensors of unequal rows per sample together;
  // - draws random numbers, which are keyed by the sample, for rows that are not samples.
  static llvm::FailureOr<SampleRows> read(mlir::ModuleOp module);

  // Returns the rows per sample in the dynamic dim of `value`; 1 if all its dims are static.
  int64_t of(mlir::Value value) const {
    auto found = rows.find(value);
    return found == rows.end() ? 1 : found->second;
  }
  // Returns the most rows per sample of the operands and results of `op`.
  int64_t ofOp(mlir::Operation *op) const;

private:
  class Reader;
  llvm::DenseMap<mlir::Value, int64_t> rows; // values that have other than 1 row per sample
};

} // namespace dtc

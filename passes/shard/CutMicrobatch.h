// Cuts '@microbatch' into one function per pipeline stage.
#pragma once

#include "dialects/graph/Graph.h"

#include <map>
#include <set>
#include <string>

namespace dtc {

// Steps:
// 1. Every op gets a chunk and a phase (completeChunks), and so a stage.
// 2. A gradient to which several stages add, such as that of tied embeddings, is split into the sum
// of each stage; '@update' adds them up once per step instead of once per micro-batch.
// 3. A value that another chunk reads goes from chunk to neighbouring chunk, by `graph.send` and
// `graph.receive` if these are on different stages: activations in forward, their gradients in
// backward. A value that is read on its own stage needs no transfer.
//
// The function of a stage then has the ops of that stage, in their order.
class MicrobatchCut {
public:
  // Prepares to cut `microbatch`, which run changes. `stageOfChunk` has the stage of each chunk.
  MicrobatchCut(graph::FuncOp microbatch, llvm::ArrayRef<int64_t> stageOfChunk)
      : whole(microbatch), stageOfChunk(stageOfChunk) {}

  // Cuts the function. Fails after a diagnostic if a value would have to be sent against the order
  // of the chunks, or is no tensor.
  llvm::LogicalResult run();

  // Returns the stages that read a parameter or contribute to its gradient; the first stage if
  // there is none.
  const std::set<int64_t> &stagesOf(llvm::StringRef parameter) const;
  // Returns the stage of a sum that is no gradient, by its name (graph.accumulated).
  int64_t stageOfSum(llvm::StringRef name) const { return sums.lookup(name); }

  // Builds the function of one stage at `builder`: its inputs, its ops, its sums. Inputs that are
  // never read belong to the first stage.
  graph::FuncOp build(mlir::OpBuilder &builder, int64_t stage) const;

private:
  // A stage's contribution to a result of the function.
  struct Part {
    int64_t stage;
    unsigned result;
    mlir::Value value;
  };
  using Parts = std::map<int64_t, mlir::Value>; // keyed by stage

  int64_t stageOf(mlir::Operation *op) const;
  void takeApart();
  Parts partsOf(mlir::Value sum);
  void noteStages();
  void addZeros();
  llvm::LogicalResult transfer(mlir::Value value);
  mlir::Value hop(mlir::OpBuilder &builder, mlir::Value value, int64_t from, int64_t to);

  graph::FuncOp whole;
  llvm::ArrayRef<int64_t> stageOfChunk;
  std::vector<Part> parts;
  llvm::StringMap<std::set<int64_t>> readers; // stages that use a parameter
  llvm::StringMap<int64_t> sums;
  // keyed by the sending and the receiving chunk
  std::map<std::pair<int64_t, int64_t>, int64_t> numTransfers;
};

} // namespace dtc

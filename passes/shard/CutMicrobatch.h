// Cuts '@microbatch' into what each stage of a pipeline does of it.
#pragma once

#include "dialects/graph/Graph.h"

#include <map>
#include <set>
#include <string>

namespace dtc {

// Steps:
// 1. Every op gets a chunk and a phase (completeChunks), and so a stage.
// 2. A gradient to which several stages add, as that of tied embeddings, is taken apart into the sum
//    of each stage, which '@update' adds up once a step instead of every micro-batch.
// 3. What one chunk makes and another reads goes from chunk to chunk, next to next, by `graph.send`
//    and `graph.receive` where these are on different stages: forward what layers hand on, backward
//    its gradient. What is read on the stage that makes it needs no transfer.
// Then a stage is the ops that are its own, in their order.
class MicrobatchCut {
public:
  // Changes `microbatch`.
  MicrobatchCut(graph::FuncOp microbatch, llvm::ArrayRef<int64_t> stageOfChunk)
      : whole(microbatch), stageOfChunk(stageOfChunk) {}

  // Fails after a diagnostic where something would have to go against the order of the chunks, or
  // is no tensor.
  llvm::LogicalResult run();

  // The stages that read a parameter, or give a gradient of it; the first one where none does.
  const std::set<int64_t> &stagesOf(llvm::StringRef parameter) const;
  // Of a sum that is no gradient, by its name (graph.accumulated).
  int64_t stageOfSum(llvm::StringRef name) const { return sums.lookup(name); }

  // The function of one stage, at `builder`: its inputs, its ops, its sums. Inputs that nothing reads
  // are those of the first stage.
  graph::FuncOp build(mlir::OpBuilder &builder, int64_t stage) const;

private:
  // What a stage gives for a result of the function.
  struct Part {
    int64_t stage;
    unsigned result;
    mlir::Value value;
  };
  using Parts = std::map<int64_t, mlir::Value>; // by stage

  int64_t stageOf(mlir::Operation *op) const;
  void takeApart();
  Parts partsOf(mlir::Value sum);
  void noteStages();
  llvm::LogicalResult transfer(mlir::Value value);
  mlir::Value hop(mlir::OpBuilder &builder, mlir::Value value, int64_t from, int64_t to);

  graph::FuncOp whole;
  llvm::ArrayRef<int64_t> stageOfChunk;
  std::vector<Part> parts;
  llvm::StringMap<std::set<int64_t>> readers; // of parameters
  llvm::StringMap<int64_t> sums;
  std::map<std::pair<int64_t, int64_t>, int64_t> numTransfers; // from one chunk to another
};

} // namespace dtc

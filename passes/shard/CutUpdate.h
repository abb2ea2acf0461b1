// Cuts '@update' into one function per pipeline stage.
#pragma once

#include "dialects/graph/Graph.h"

#include <functional>
#include <set>
#include <string>

namespace dtc {

// Cuts '@update': a stage updates the parameters and states that it holds. Every value of '@update'
// is one of:
// - known on some stages: those that have all its operands; scalars of the run, and states that
//   belong to no parameter, are known on all stages;
// - a sum to which several stages add, such as the gradient of tied embeddings, or the sum of all
//   squares for the norm. It is added up (`graph.stage_reduce`) before an op other than a sum reads
//   it: a scalar over all stages, a tensor over those that add to it. If several stages know a
//   term, such as the squares of a tied parameter, the first of them adds it.
//
// A scalar that a stage needs and does not know, such as the divisor of a weighted mean, is handed
// out by such a sum too, before it is combined with a sum over the stages, so that all stages know
// the result. A stage that knows it keeps using its own copy, so that its loss waits for no other
// stage. All stages reduce in one order, that of the function.
class UpdateCut {
public:
  // Callbacks that return the stages that hold a parameter, by symbol, and the stage of a sum of
  // '@microbatch', by name.
  struct Owners {
    std::function<const std::set<int64_t> &(llvm::StringRef)> ofParameter;
    std::function<int64_t(llvm::StringRef)> ofSum;
  };
  UpdateCut(graph::FuncOp update, int64_t numStages, Owners owners)
      : whole(update), numStages(numStages), owners(std::move(owners)),
        symbols(mlir::SymbolTable::getNearestSymbolTable(update)) {}

  // Finds the stages that know each value. Fails after a diagnostic at an op that reads tensors of
  // different stages.
  llvm::LogicalResult run();

  // Builds the function of one stage at `builder`; its outputs are those that the stage knows.
  graph::FuncOp build(mlir::OpBuilder &builder, int64_t stage) const;

private:
  struct Known {
    std::set<int64_t> stages; // the stages that know the value or add to it
    bool isSum = false;       // the value must be added up over `stages`
    bool isOfAll = false;     // made of a sum over all stages
    bool isOfTensors = false; // made of parameters, state or gradients, not of sums of a step only
  };
  class StageBuilder;

  std::set<int64_t> all() const;
  std::set<int64_t> ownersOf(llvm::StringRef symbol) const;
  Known know(mlir::Operation &op);
  bool addsUp(mlir::Operation &op) const;
  void complete(mlir::Value value);
  bool isOfAllStages(mlir::Value value) const;
  // Returns the stages that know a value; for a sum, those that know it once it is added up.
  const std::set<int64_t> &stagesOf(mlir::Value value) const;

  graph::FuncOp whole;
  int64_t numStages;
  Owners owners;
  mlir::SymbolTable symbols; // symbols of the whole step
  llvm::DenseMap<mlir::Value, Known> known;
  llvm::DenseMap<mlir::Value, std::set<int64_t>> completed; // finished sums and handed out scalars
};

} // namespace dtc

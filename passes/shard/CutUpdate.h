// Cuts '@update' into what each stage of a pipeline does of it.
#pragma once

#include "dialects/graph/Graph.h"

#include <functional>
#include <set>
#include <string>

namespace dtc {

// A stage updates the parameters and states that it has. Every value of '@update' is
// - known on some stages: those that have all that it is made of; scalars of the run, and state that
//   belongs to no parameter, are known on all;
// - or a sum to which several stages add, as the gradient of tied embeddings and the sum of all
//   squares for the norm. It is added up (`graph.stage_reduce`) where something else than a sum
//   reads it: a scalar over all stages, a tensor over those that add to it. What several stages know,
//   as the squares of a tied parameter, the first of them adds.
// A scalar that a stage needs and does not know, as what a weighted mean is divided by, is handed
// out by such a sum, too: before it meets a sum over the stages, so that what comes of both is known
// on all. A stage that knows it by itself goes on with its own, so that its loss waits for no other
// stage. All stages reduce in one order, that of the function.
class UpdateCut {
public:
  // Says which stages have a parameter (by symbol), and which one a sum of '@microbatch' by name.
  struct Owners {
    std::function<const std::set<int64_t> &(llvm::StringRef)> ofParameter;
    std::function<int64_t(llvm::StringRef)> ofSum;
  };
  UpdateCut(graph::FuncOp update, int64_t numStages, Owners owners)
      : whole(update), numStages(numStages), owners(std::move(owners)),
        symbols(mlir::SymbolTable::getNearestSymbolTable(update)) {}

  // Finds where every value is known. Fails after a diagnostic at an op that reads tensors of
  // different stages.
  llvm::LogicalResult run();

  // The function of one stage, at `builder`; its outputs are those that it knows.
  graph::FuncOp build(mlir::OpBuilder &builder, int64_t stage) const;

private:
  struct Known {
    std::set<int64_t> stages; // or that add to it
    bool isSum = false;       // to be added up over `stages`
    bool isOfAll = false;     // made of what all stages added up
    bool isOfTensors =
        false; // made of parameters, state or gradients: what else than sums of a step
  };
  class StageBuilder;

  std::set<int64_t> all() const;
  std::set<int64_t> ownersOf(llvm::StringRef symbol) const;
  Known know(mlir::Operation &op);
  bool addsUp(mlir::Operation &op) const;
  void complete(mlir::Value value);
  bool isOfAllStages(mlir::Value value) const;
  // Known where it is a sum, added up.
  const std::set<int64_t> &stagesOf(mlir::Value value) const;

  graph::FuncOp whole;
  int64_t numStages;
  Owners owners;
  mlir::SymbolTable symbols; // of the whole step
  llvm::DenseMap<mlir::Value, Known> known;
  llvm::DenseMap<mlir::Value, std::set<int64_t>> completed; // sums and handed out scalars
};

} // namespace dtc

// Reads the blocks of a partitioned step. Internal to this folder.
#pragma once

#include "compiler/price/workload/DimRoles.h"
#include "compiler/price/workload/Epilogues.h"
#include "passes/graph/HiddenMatrices.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace dtc {

// `module` is after the shard phase with one call of each block; its batch is `samples`.
class CellBuilder {
public:
  // `foldsExperts`: data parallelism of experts has the ranks of tensor parallelism in it.
  // `exchangeRanks` of 2 or more: the program is partitioned over so many ranks of expert
  // parallelism. Its collectives are there, and amounts are those of this ep alone.
  CellBuilder(mlir::ModuleOp module, int64_t samples, bool foldsExperts, int64_t exchangeRanks = 1);

  // The cells of embedding, head and blocks, and tied parameters; chain and tp are the caller's.
  ModelCells build();

private:
  using OpList = llvm::SmallVector<mlir::Operation *>;

  void findForward();
  void findCounting();
  void findSharedGradients();
  bool isForward(mlir::Operation *op) const { return forward.contains(op); }
  bool isForwardCall(mlir::Operation *op) const;
  bool isBackwardCall(mlir::Operation *op) const;
  // Returns true if `op` contributes to a gradient that depends on samples, not only to gradients
  // of weights.
  bool feedsInput(mlir::Operation *op);

  BlockCell buildBlock(graph::BlockCallOpInterface forwardCall);
  // Ops of '@microbatch' outside the blocks.
  BlockCell buildPart(llvm::StringRef name, const OpList &ops);

  void addOps(BlockCell &cell, const OpList &ops, bool forwardPart);
  void addOp(BlockCell &cell, mlir::Operation *op, CellPhase phase);
  // Notes what a product takes over from the op as its epilogue.
  void addEpilogue(CellOp &cellOp, mlir::Operation *op);
  void setSizesOfSample(CellOp &cellOp, mlir::Operation *op, const graph::OpRule &rule) const;
  // Adds the scores of attention, and the collectives that context parallelism needs for it.
  void addContext(BlockCell &cell, const CellOp &cellOp, mlir::Operation *op,
                  const graph::OpRule &rule) const;
  // Adds the exchange that experts with a capacity need, whose programs have none.
  void addDispatch(BlockCell &cell, mlir::Operation *op, const graph::OpRule &rule,
                   CellPhase phase) const;
  void addCollective(BlockCell &cell, mlir::Operation *op, CellPhase phase) const;
  // Returns true for a collective that is none of a block's own: of statistics over the samples of
  // all ranks, which follow the op that sums them.
  bool isOfSamples(mlir::Operation *collective) const;
  // Returns true if ranks of expert parallelism take part in a collective of the program.
  bool isAmongExperts(mlir::Operation *collective) const;
  // Indices of the ops that a collective is there for; all ops have theirs by then.
  std::vector<int> opsBehind(mlir::Operation *collective) const;
  // Returns the index of the op that packs the rows that a collective sends, or unpacks those that
  // it brings; none where it moves their numbers.
  std::vector<int> packingOf(mlir::Operation *exchange) const;
  void addKept(BlockCell &cell, const llvm::SetVector<mlir::Value> &kept, const OpList &ops) const;
  // The same of each partial way to recompute.
  void addPartials(BlockCell &cell, const llvm::SetVector<mlir::Value> &kept,
                   const OpList &ops) const;
  // Marks the exchanges of rows of experts that full recomputation does not repeat.
  void addUnread(BlockCell &cell, const llvm::SetVector<mlir::Value> &kept,
                 const OpList &ops) const;
  Amount peakOf(const OpList &ops, const llvm::SetVector<mlir::Value> &kept) const;
  void addParameters(BlockCell &cell, mlir::ValueRange values);
  // Adds the matrices of a parameter that is trained, if it has any.
  void addMatrices(BlockCell &cell, mlir::Value value, graph::GetOp get) const;
  static bool isParameter(graph::GetOp get);
  static bool isFrozen(graph::GetOp get);
  // Adds the parameters that the calls of a block gather: operands of `forward`, some of which
  // `backward` reads, too, and some the ops that run again to make `kept`.
  void addGathers(BlockCell &cell, graph::BlockCallOpInterface forward,
                  graph::BlockCallOpInterface backward, const llvm::SetVector<mlir::Value> &kept);
  double elementsOf(mlir::Value value) const;

  Amount bytesOf(mlir::Value value) const;
  Amount ownBytesOf(mlir::Value value) const;
  void addTo(Amount &amount, double value, uint8_t bits) const;

  mlir::ModuleOp module;
  double samples;
  bool foldsExperts;
  int64_t exchangeRanks;
  llvm::SmallVector<unsigned, 4> sampleAxes, expertAxes; // of the module's mesh
  graph::FuncOp microbatch;
  DimRoles roles;
  llvm::SetVector<mlir::Operation *> forward; // of '@microbatch': what the loss needs
  // The ops of `forward` that make the sum of the weights of a weighted mean and nothing else. They
  // are no work of their own: software counts targets while it reads them for the loss.
  llvm::SmallPtrSet<mlir::Operation *, 8> counting;
  llvm::StringMap<HiddenMatrix> matrices;
  llvm::StringSet<> sharedGradients; // parameters whose gradients tensor parallelism adds up
  llvm::DenseMap<mlir::Operation *, bool> inputPaths;
  llvm::DenseMap<mlir::Operation *, int> indices; // index of each op in its cell
  llvm::DenseMap<mlir::Operation *, size_t> collectiveIndices;
  llvm::DenseMap<mlir::Block *, EpilogueParts> epilogues;
  graph::BlockCallOpInterface
      reading; // the call of the function whose ops are being added; none: '@microbatch'
};

} // namespace dtc

// Finds the ops on heads, which tensor parallelism splits differently from all others. Internal to
// this folder.
#pragma once

#include "passes/shard/Mesh.h"

#include "compiler/search/placement/WeightClasses.h"

namespace dtc {

// On a mesh with two axes of tensor parallelism (stepMesh) attention splits its kv heads over the
// outer one. Ops on the way from the products that make heads to attention, and from attention to
// those that read its result, have a loop over these heads, too; it is the outermost loop of a
// dim. Products end the way.
class HeadOps {
public:
  // Finds no ops on a mesh with one axis of tensor parallelism.
  HeadOps(mlir::ModuleOp step, const Mesh &mesh, const WeightClasses &weights);

  // The op's loops over heads; none for ops that are not on the way.
  llvm::ArrayRef<unsigned> loopsOf(mlir::Operation *op) const;
  // Dims of a parameter that are heads.
  bool isHeadDim(unsigned weightClass, int64_t dim) const {
    return headDims.contains({weightClass, static_cast<unsigned>(dim)});
  }
  // Returns true if the inner axis can split the query heads of a kv head. Otherwise its ranks run
  // attention, and matmuls that produce or read its heads, together.
  bool splitsGroups() const { return groupsSplit; }

private:
  void start(mlir::Operation *op, const graph::OpRule &rule, unsigned heads);
  void spread(const WeightClasses &weights);
  void visit(mlir::Operation *op, mlir::Value value, int64_t dim, const WeightClasses &weights);
  void push(mlir::Value value, const graph::TensorLoops &tensor, unsigned loop);

  const Mesh &mesh;
  bool groupsSplit = true;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<unsigned, 2>> loops;
  llvm::DenseSet<std::pair<unsigned, unsigned>> headDims;
  llvm::SmallVector<std::pair<mlir::Value, int64_t>> found; // dims that are heads, to be visited
  llvm::DenseSet<std::pair<mlir::Value, int64_t>> seen;
};

} // namespace dtc

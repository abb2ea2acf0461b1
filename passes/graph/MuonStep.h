// Builds the update of one hidden matrix by Muon.
#pragma once

#include "passes/graph/HiddenMatrices.h"
#include "passes/graph/LayerwiseStep.h"

namespace dtc {

// Builds the update of a parameter of hidden matrices; returns the new tensor, then its new
// momentum. As torch.optim.Muon of PyTorch 2.9, with Nesterov's momentum:
//   b' = momentum b + (1 - momentum) g;  u = momentum b' + (1 - momentum) g;
//   p' = p - lr (weight_decay p + factor orthogonal(u))
// Each matrix is made orthogonal as a whole: where ranks have parts of u, they gather it, and the
// rest of the update is again of their parts. It is gathered and multiplied in the type `products`,
// f32 or bf16. If `apply` is 0, p and b stay unchanged.
// Source: Jordan et al. 2024, "Muon"; the factors: `MatrixRate`.
llvm::SmallVector<mlir::Value> buildMuonStep(mlir::OpBuilder &builder, mlir::Location loc,
                                             mlir::Value param, mlir::Value grad,
                                             mlir::Value momentum, const StepScalars &scalars,
                                             const AddOptimizerOptions &options, bool decays,
                                             const HiddenMatrix &matrix, mlir::Type products);

// Returns the floating-point operations of the products that make the matrices of a parameter of
// that shape orthogonal.
double flopsOfOrthogonal(const HiddenMatrix &matrix, llvm::ArrayRef<int64_t> shape);

} // namespace dtc

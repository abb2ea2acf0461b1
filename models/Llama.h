// Builds Llama (Touvron et al. 2023, arXiv:2302.13971; grouped queries as in Llama 2 and 3) and
// related models as graph IR, with the parameter names and layouts of Hugging Face.
#pragma once

#include "models/LlamaConfig.h"

namespace dtc {

// Builds the model for sequences of `sequence` tokens. Weights are [out, in], the layout of
// torch.nn.Linear. The weights of all experts of a layer are one parameter [experts, out, in]. In
// its name "*" stands for the number of the expert: "...experts.*.w1.weight" is
// "...experts.0.w1.weight" and so on in a checkpoint.
mlir::OwningOpRef<mlir::ModuleOp> buildLlama(mlir::MLIRContext *context, const LlamaConfig &config,
                                             int64_t sequence);

} // namespace dtc

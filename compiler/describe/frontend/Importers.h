// The importers of the model types. Internal to this folder.
#pragma once

#include "compiler/describe/frontend/TypedConfig.h"

#include <cstdint>

namespace dtc {

// Limits of the values in a file, first those of a vocabulary or a sequence.
inline constexpr int64_t kMostTokens = int64_t(1) << 31;
inline constexpr int64_t kMostLayers = 10000, kMostExperts = 1 << 16;

// Builds GPT-2 from `config` for sequences of `sequence` tokens; 0 takes the longest that the file
// allows. If the config is refused, sets its error and returns null.
mlir::OwningOpRef<mlir::ModuleOp> importGpt2(mlir::MLIRContext *context, TypedConfig &config,
                                             int64_t sequence);
// Builds a model of one of the families (Families.h), in the same way.
mlir::OwningOpRef<mlir::ModuleOp> importLlama(mlir::MLIRContext *context, TypedConfig &config,
                                              int64_t sequence);
// Builds T5 in the same way.
mlir::OwningOpRef<mlir::ModuleOp> importT5(mlir::MLIRContext *context, TypedConfig &config,
                                           int64_t sequence);
// Builds a class of one of the families of encoders (Encoders.h), in the same way. `architecture`
// is one of the two that the family has.
mlir::OwningOpRef<mlir::ModuleOp> importEncoder(mlir::MLIRContext *context, TypedConfig &config,
                                                const std::string &architecture, int64_t sequence);

} // namespace dtc

// The importers of the model types, and what they have in common. Internal to this folder.
#pragma once

#include "compiler/frontend/TypedConfig.h"

#include <cstdint>

namespace dtc {

// Bounds of what a file may ask for; those of a vocabulary or a sequence first.
inline constexpr int64_t kMostTokens = int64_t(1) << 31;
inline constexpr int64_t kMostLayers = 10000, kMostExperts = 1 << 16;

// Reads what a norm adds to the variance: a number above 0 and below 1.
double readEpsilon(TypedConfig &config, const char *key);

// The standard deviation of the first weights: "initializer_range", 0 or more.
double readDeviation(TypedConfig &config);

// The sequence length: the command line's, or `positions`; checked against `positions`, which is
// the value of `key`.
int64_t chooseSequence(TypedConfig &config, int64_t asked, int64_t positions, const char *key);

// Refuses `key` unless its value, `divisor`, divides `dividend`, the value of `ofKey`.
void requireDivides(TypedConfig &config, const char *key, int64_t divisor, const char *ofKey,
                    int64_t dividend);

// Each builds the model of `config` for sequences of `sequence` tokens, or of the longest that the
// file allows where that is 0. Where the config is refused, its error is set and null is returned.
mlir::OwningOpRef<mlir::ModuleOp> importGpt2(mlir::MLIRContext *context, TypedConfig &config,
                                             int64_t sequence);
mlir::OwningOpRef<mlir::ModuleOp> importLlama(mlir::MLIRContext *context, TypedConfig &config,
                                              int64_t sequence);

} // namespace dtc

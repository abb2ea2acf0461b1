// The importers of the model types, and their common functions. Internal to this folder.
#pragma once

#include "compiler/describe/frontend/TypedConfig.h"

#include <cstdint>

namespace dtc {

// Limits of the values in a file, first those of a vocabulary or a sequence.
inline constexpr int64_t kMostTokens = int64_t(1) << 31;
inline constexpr int64_t kMostLayers = 10000, kMostExperts = 1 << 16;

// Reads the number that a norm adds to the variance: above 0 and below 1.
double readEpsilon(TypedConfig &config, const char *key);

// Reads the standard deviation of the initial weights: "initializer_range", 0 or more.
double readDeviation(TypedConfig &config);

// Returns the sequence length: the one of the command line, or `positions`. Refuses one above
// `positions`, the value of `key`.
int64_t chooseSequence(TypedConfig &config, int64_t asked, int64_t positions, const char *key);

// Refuses `key` unless its value, `divisor`, divides `dividend`, the value of `ofKey`.
void requireDivides(TypedConfig &config, const char *key, int64_t divisor, const char *ofKey,
                    int64_t dividend);

// Reads the row of an embedding without gradient from look-ups, where the class has one. A negative
// number counts from the end of the table.
std::optional<int64_t> readPadding(TypedConfig &config, int64_t vocabulary);

// Reads which layers have a window from the list of newer files: 1 for each that has one. Returns
// nothing if the file has no list.
std::optional<llvm::SmallVector<int64_t>> listedWindows(HfConfig &json, int64_t layers);

// Builds GPT-2 from `config` for sequences of `sequence` tokens; 0 takes the longest that the file
// allows. If the config is refused, sets its error and returns null.
mlir::OwningOpRef<mlir::ModuleOp> importGpt2(mlir::MLIRContext *context, TypedConfig &config,
                                             int64_t sequence);
// Builds a model of one of the families (Families.h), in the same way.
mlir::OwningOpRef<mlir::ModuleOp> importLlama(mlir::MLIRContext *context, TypedConfig &config,
                                              int64_t sequence);
// Builds a class of one of the families of encoders (Encoders.h), in the same way. `architecture`
// is one of the two that the family has.
mlir::OwningOpRef<mlir::ModuleOp> importEncoder(mlir::MLIRContext *context, TypedConfig &config,
                                                const std::string &architecture, int64_t sequence);

} // namespace dtc

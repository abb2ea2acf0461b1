// The import of a Hugging Face config.json, and what the importers of model types share.
#pragma once

#include "compiler/describe/frontend/TypedConfig.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdint>

namespace dtc {

// Returns the class of transformers that dtc builds for a model_type, the first if there are two,
// or "" if it builds none.
// Example: "LlamaForCausalLM" for "llama".
std::string architectureOf(llvm::StringRef modelType);

// Builds the model of a config for sequences of `sequence` tokens; 0 takes the config's own length.
// On an error, sets the error of `config` and returns null.
mlir::OwningOpRef<mlir::ModuleOp> importHfConfig(mlir::MLIRContext *context, HfConfig &config,
                                                 int64_t sequence);

// Returns the class of transformers that dtc builds for the text of a config.json: the one that the
// text names, or the usual one of its type; "" if it builds none.
std::string architectureOfConfig(const std::string &text);

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

} // namespace dtc

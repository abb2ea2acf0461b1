// Reads a model: graph IR from a .mlir file, or built from a Hugging Face config.json.
#pragma once

#include "compiler/text/ModelPrinter.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace dtc {

// Loads `path`, which openModel() finds: a .mlir file in the graph dialect or a config.json (by its
// first character, '{'), a folder with a config.json, or a name of the catalogue.
// `sequence` is the sequence length for a config.json; 0: the config's own. On error writes one
// message with file, line and column and a mend to `errors` and returns null. Example:
// loadModel(context, "gpt2/config.json", 1024, llvm::errs())
// A model that is built from a config has it as attribute graph.config. What the loss does not depend
// on is dropped (dtc-drop-unread), but for inputs and parameters; a note to `errors` names the latter.
mlir::OwningOpRef<mlir::ModuleOp> loadModel(mlir::MLIRContext *context, const std::string &path,
                                            int64_t sequence, llvm::raw_ostream &errors);

// The same as it is written: blocks declare their parameters, ops are in their short forms. What
// `dtc import` prints, with what the file says beside it.
mlir::OwningOpRef<mlir::ModuleOp> loadWrittenModel(mlir::MLIRContext *context,
                                                   const std::string &path, int64_t sequence,
                                                   llvm::raw_ostream &errors, SourceNotes &notes);

// Makes of a model as it is written what passes see: ops are complete (dtc-complete-ops), parameters
// are in the module, blocks take theirs as arguments (dtc-instantiate-blocks). Emits diagnostics.
llvm::LogicalResult completeModel(mlir::ModuleOp module);

// The same of a model that is known to be right.
mlir::OwningOpRef<mlir::ModuleOp> completed(mlir::OwningOpRef<mlir::ModuleOp> module);

// Checks the shape of a complete model: '@loss' from named inputs, whose dim 0 is the batch '?', to
// tensor<f32>, which is the same however the batch is cut up (LossForm.h); and, where some are
// sequences, the attribute graph.sequence_length, their dim 1. Emits diagnostics.
llvm::LogicalResult checkModel(mlir::ModuleOp module);

} // namespace dtc

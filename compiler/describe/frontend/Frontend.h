// Reads a model: graph IR from a .mlir file, or built from a Hugging Face config.json.
#pragma once

#include "compiler/describe/text/ModelPrinter.h"
#include "models/Documents.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace dtc {

// Loads the model that openModel() finds for `path`: a .mlir file in the graph dialect or a
// config.json (told apart by the first character, '{'), a folder with a config.json, or a name of
// the catalogue. `sequence` is the sequence length for a config.json; 0 takes the config's own.
// `documents` builds one whose samples are of several documents, which graph IR has to be itself. A
// model that is built from a config has it as the attribute graph.config. Everything that the loss
// does not depend on is removed (dtc-drop-unread), except inputs and parameters; a note on `errors`
// names those parameters. On an error, writes one message with file, line, column and a hint to
// `errors` and returns null.
// Example: loadModel(context, "gpt2/config.json", 1024, llvm::errs())
mlir::OwningOpRef<mlir::ModuleOp> loadModel(mlir::MLIRContext *context, const std::string &path,
                                            int64_t sequence, llvm::raw_ostream &errors,
                                            Documents documents = Documents::None);

// Same as loadModel, but returns the model as it is written: blocks declare their parameters, and
// ops have their short forms. `dtc import` prints it, with `notes`, the comments and names of the
// file.
mlir::OwningOpRef<mlir::ModuleOp> loadWrittenModel(mlir::MLIRContext *context,
                                                   const std::string &path, int64_t sequence,
                                                   llvm::raw_ostream &errors, SourceNotes &notes,
                                                   Documents documents = Documents::None);

// Turns a model as written into what passes expect: ops are complete (dtc-complete-ops), parameters
// are in the module, and blocks take theirs as arguments (dtc-instantiate-blocks). Emits
// diagnostics.
llvm::LogicalResult completeModel(mlir::ModuleOp module);

// Same as completeModel, for a model that is known to be valid.
mlir::OwningOpRef<mlir::ModuleOp> completed(mlir::OwningOpRef<mlir::ModuleOp> module);

// Checks the form of a complete model. '@loss' must go from named inputs, whose dim 0 is the batch
// '?', to tensor<f32>, and its value must not depend on how the batch is divided (LossForm.h). If
// some inputs are sequences, the attribute graph.sequence_length must be their dim 1. Emits
// diagnostics.
llvm::LogicalResult checkModel(mlir::ModuleOp module);

} // namespace dtc

// Reads graph IR from text, with what a file says beside it.
#pragma once

#include "compiler/support/Diagnostics.h"
#include "compiler/text/ModelPrinter.h"

#include "mlir/IR/OwningOpRef.h"

namespace dtc {

constexpr const char *kWhatModelsAre =
    "a model is a module in the graph dialect, as 'dtc import' writes one, or a Hugging Face "
    "config.json";

// The module that `text` holds. Errors point into it and say types by their names there. With
// `notes` values and types keep their names in locations, and `notes` gets comments and empty
// lines, for printModel.
Result<mlir::OwningOpRef<mlir::ModuleOp>> parseModel(mlir::MLIRContext *context,
                                                     const std::string &path, llvm::StringRef text,
                                                     SourceNotes *notes = nullptr);

// Types in a message by their names in the file as well: "tensor<?x8xf32>" becomes
// "!hidden (tensor<?x8xf32>)".
std::string nameTypes(llvm::StringRef message, llvm::StringRef source);

// Returns the first error about a model that was written as `source`, with types by their names;
// `other` where nothing was captured. The note has the types of the op that
// the error is about, or says what a model is where `source` has no op of the dialect.
UserError sayByName(const DiagnosticCapture &capture, UserError other, llvm::StringRef source);

} // namespace dtc

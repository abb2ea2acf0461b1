// Reads graph IR from text, with the comments and names of the file.
#pragma once

#include "compiler/describe/text/ModelPrinter.h"
#include "compiler/support/Diagnostics.h"

#include "mlir/IR/OwningOpRef.h"

namespace dtc {

constexpr const char *kWhatModelsAre =
    "a model is a module in the graph dialect, as 'dtc import' writes one, or a Hugging Face "
    "config.json";

// Returns the module in `text`. Errors point into the text and name types as the file does. With
// `notes`, values and types keep their names in locations, and `notes` receives comments and empty
// lines, for printModel.
Result<mlir::OwningOpRef<mlir::ModuleOp>> parseModel(mlir::MLIRContext *context,
                                                     const std::string &path, llvm::StringRef text,
                                                     SourceNotes *notes = nullptr);

// Adds to the types in a message their names in the file: "tensor<?x8xf32>" becomes "!hidden
// (tensor<?x8xf32>)".
std::string nameTypes(llvm::StringRef message, llvm::StringRef source);

// Returns the first error about a model that was written as `source`, with named types, or `other`
// if nothing was captured. The note has the types of the op that the error is about, or explains
// what a model is if `source` has no op of the dialect.
UserError sayByName(const DiagnosticCapture &capture, UserError other, llvm::StringRef source);

} // namespace dtc

// What a file says beside its model: comments, empty lines, names.
#pragma once

#include "compiler/text/ModelPrinter.h"

#include "mlir/AsmParser/AsmParserState.h"

namespace dtc {

// Reads the notes of `text`, from which `state` and `module` were parsed, and gives the values of
// `module` the names that they have there.
SourceNotes readNotes(mlir::ModuleOp module, const mlir::AsmParserState &state,
                      llvm::StringRef text);

} // namespace dtc

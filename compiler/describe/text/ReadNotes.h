// Reads the parts of a file that are not in its module: comments, empty lines, names.
#pragma once

#include "compiler/describe/text/ModelPrinter.h"

#include "mlir/AsmParser/AsmParserState.h"

namespace dtc {

// Reads the notes of `text`, from which `state` and `module` were parsed. Gives the values of
// `module` the names that they have in the text.
SourceNotes readNotes(mlir::ModuleOp module, const mlir::AsmParserState &state,
                      llvm::StringRef text);

} // namespace dtc

// Text that shows the location of a mistake, and what was probably meant.
#pragma once

#include "compiler/support/Error.h"

namespace dtc {

// Returns "did you mean 'NEAREST'? ", to be put before a list of choices, or "" if no name is near.
std::string didYouMean(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> known);

// Returns the line of `source` at `location` with a caret under the column below it, without a
// newline at the end. Long lines are cut around the location. Empty if `location` has no line or
// column, or if the line is not text.
std::string excerptAt(const SourceLocation &location, llvm::StringRef source);

// Prints error.text() with excerptAt() before the note. Returns 1. Example:
//   a.mlir:7:10: error: custom op 'graph.gelo' is unknown
//       %y = graph.gelo %x : !rows
//            ^
//   a.mlir:7:10: note: did you mean 'graph.gelu'?
int reportWithSource(const UserError &error, llvm::StringRef source, llvm::raw_ostream &errors);

// Same as above, with the text of the file that the error points into, if it can be read.
int reportWithFile(const UserError &error, llvm::raw_ostream &errors);

} // namespace dtc

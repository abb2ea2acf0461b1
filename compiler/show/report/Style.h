// The style sheet of all pages.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace dtc::html {

// Returns the style sheet. Colours of all charts are classes here, so that light and dark pages
// share the drawings.
llvm::StringRef styleSheet();

} // namespace dtc::html

// The page's style sheet. Internal to this folder.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace dtc::html {

// Colours of all charts are classes here, so that light and dark pages share the drawings.
llvm::StringRef styleSheet();

} // namespace dtc::html

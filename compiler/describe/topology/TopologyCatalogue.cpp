#include "compiler/describe/topology/TopologyCatalogue.h"

namespace dtc {

llvm::StringRef catalogueText(llvm::StringRef name) { return textOf(topologyCatalogue(), name); }

} // namespace dtc

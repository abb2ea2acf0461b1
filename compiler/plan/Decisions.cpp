// Names of decisions.
#include "compiler/plan/Decisions.h"

namespace dtc {

llvm::StringRef toString(Recompute recompute) {
  return recompute == Recompute::None   ? "none"
         : recompute == Recompute::Full ? "full"
                                        : "selective";
}

} // namespace dtc

#include "compiler/decide/decisions/Decision.h"

#include "llvm/ADT/STLExtras.h"

namespace dtc {

std::string InPins::values() const {
  if (!isNumber())
    return words.str();
  if (high >= kMostPinned)
    return std::to_string(low) + " or more";
  return std::to_string(low) + (high == low + 1 ? " or " : " to ") + std::to_string(high);
}

llvm::StringRef Decision::whyLeftOut(KeptResult of) const {
  const LeftOut *found = llvm::find_if(leftOut, [&](const LeftOut &each) { return each.of == of; });
  return found == leftOut.end() ? "" : found->why;
}

} // namespace dtc

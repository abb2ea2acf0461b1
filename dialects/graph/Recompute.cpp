// Names of ways to recompute.
#include "dialects/graph/Recompute.h"

#include "llvm/ADT/STLExtras.h"

namespace dtc {

static constexpr llvm::StringLiteral kNames[kNumRecomputes] = {"none",
                                                               "selective",
                                                               "selective+attention",
                                                               "selective+linear",
                                                               "selective+attention+linear",
                                                               "selective+experts",
                                                               "selective+attention+experts",
                                                               "selective+linear+experts",
                                                               "selective+attention+linear+experts",
                                                               "full"};

llvm::StringRef toString(Recompute recompute) { return kNames[static_cast<size_t>(recompute)]; }

std::optional<Recompute> recomputeFrom(llvm::StringRef word) {
  for (Recompute recompute : kRecomputes)
    if (word == toString(recompute))
      return recompute;
  return std::nullopt;
}

std::string listOfRecomputes() {
  std::string list;
  for (llvm::StringRef name : llvm::ArrayRef(kNames).drop_back())
    list += name.str() + (name == kNames[kNumRecomputes - 2] ? "" : ", ");
  return list + " or " + kNames[kNumRecomputes - 1].str();
}

} // namespace dtc

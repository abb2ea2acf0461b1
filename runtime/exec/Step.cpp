#include "runtime/exec/Step.h"

namespace dtc::rt {

const char *nameOf(TimeClass timeClass) {
  constexpr const char *names[numTimeClasses] = {"kernel", "gemm",       "attention", "embedding",
                                                 "copy",   "collective", "wait"};
  return names[static_cast<size_t>(timeClass)];
}

} // namespace dtc::rt

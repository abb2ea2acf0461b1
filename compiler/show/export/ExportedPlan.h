// An exported plan, and the version of a launcher that it is written for.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace dtc {

// A version of a launcher that exports are written for: a release, by the number of its package, or
// a commit of its repository, by its first digits.
struct LauncherRelease {
  llvm::StringRef name;    // for people: "torchtitan"
  llvm::StringRef version; // "0.3.0" or "b5bcd76c"
  llvm::StringRef date;    // "2026-09"
};

// An exported plan: a file, and notes for the user.
struct ExportedPlan {
  std::string text; // content of the file
  // For the user: what the file can't say and the launch or the model's code has to, and what the
  // launcher does in another way without harm. One line each.
  std::vector<std::string> notes;
};

} // namespace dtc

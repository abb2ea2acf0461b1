// The constants that are fitted, and what they would be without a fit.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <string>

namespace dtc::published {

// Stack files and Constants.cpp mark them [fit].
struct FittedConstant {
  llvm::StringRef owners, field; // as in names of --fit
  // What stands in its place where no row tells: the figure of stacks/dtc.toml or gpu.toml, or the
  // value of the stack `like`; of a device's products, what it sustains
  // (DeviceConstants::sustained).
  double prior = 0;
  llvm::StringRef like = "";

  std::string name() const { return (owners + "." + field).str(); }
};

llvm::ArrayRef<FittedConstant> fittedConstants();

} // namespace dtc::published

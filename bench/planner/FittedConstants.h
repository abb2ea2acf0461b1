// The constants that are fitted, and their values without a fit.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <string>

namespace dtc::published {

// A fitted constant. Stack files and Constants.cpp mark it [fit].
struct FittedConstant {
  llvm::StringRef owners, field; // as in names of --fit
  // The value if no row moves the constant: the figure of stacks/dtc.toml or gpu.toml, or that of
  // the stack `like`. For a device's products it is the sustained rate
  // (DeviceConstants::sustained).
  double prior = 0;
  llvm::StringRef like = "";

  // Returns the name as in --fit: "owners.field".
  std::string name() const { return (owners + "." + field).str(); }
};

// Returns all fitted constants.
llvm::ArrayRef<FittedConstant> fittedConstants();

} // namespace dtc::published

// Places in the source, for messages.
#pragma once

#include "runtime/simt/Abi.h"

#include <string>

namespace dtc::simt {

// Returns the location of a site, such as "Norm.cu:12", or the name of its function.
std::string locationOf(const abi::Site &site);

} // namespace dtc::simt

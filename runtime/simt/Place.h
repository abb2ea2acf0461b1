// Places in the source, for messages.
#pragma once

#include "runtime/simt/Abi.h"

#include <string>

namespace dtc::simt {

// Returns the place of a site, such as "Norm.cu:12", or the name of its function.
std::string placeOf(const abi::Site &site);

} // namespace dtc::simt

// The folder that the flight records of a job go to.
#pragma once

#include "runtime/base/Status.h"

#include <string>

namespace dtc::rt {

// Makes it where it is not there: `wanted`, or where that is empty dtrun-flights-USER-JOB of TMPDIR
// or /tmp, which is the same for all ranks of this machine. Unavailable where the system refuses,
// or where somebody else's is in the place.
Status openFlightFolder(const std::string &wanted, std::string &folder);

} // namespace dtc::rt

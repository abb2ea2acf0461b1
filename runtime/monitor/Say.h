// Prints messages of keepers to users.
#pragma once

#include "runtime/comm/RollCall.h"
#include "runtime/format/Printable.h"

#include <cstdio>
#include <string>

namespace dtc::rt {

// Writes `lines` to stderr.
inline void say(const std::string &lines) {
  std::fputs(format::printable(lines).c_str(), stderr);
  std::fflush(stderr);
}

// The same of why the job ends, which the launcher wants to know.
inline void tell(const std::string &lines) {
  say(lines);
  if (!lines.empty())
    tellLauncher(lines);
}

} // namespace dtc::rt

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

// Writes the reason for the end of the job to stderr and sends it to the launcher.
inline void report(const std::string &lines) {
  say(lines);
  if (!lines.empty())
    sendToLauncher(lines);
}

} // namespace dtc::rt

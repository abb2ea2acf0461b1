// Names of functions in stacks.
#pragma once

#include <string>

namespace dtc::rt {

// Returns backtrace_symbols' lines with names of functions in them that it does not know, by the
// tables of the files: "/usr/bin/dtrun(+0x1234) [0x55..]" becomes
// "/usr/bin/dtrun: dtc::rt::f(int) +0x34".
std::string withNames(const std::string &lines);

} // namespace dtc::rt

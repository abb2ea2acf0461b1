// What is done when a signal ends the process: files are removed, a terminal is left tidy.
#pragma once

#include <string>

namespace dtc::rt {

// From now on SIGHUP, SIGINT and SIGTERM remove the file `path` before they end this process; where
// the program takes one of these signals itself, that one does not. Returns what dropRemoval wants;
// -1, and does nothing, where too many files are under way.
int removeOnSignal(const std::string &path);
void dropRemoval(int removal);

// The same for what a terminal shows from its cursor on: it is erased. -1: nothing is, any more.
void eraseOnSignal(int descriptor);

} // namespace dtc::rt

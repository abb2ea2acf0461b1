// Cleans up when a signal ends the process: removes files, tidies a terminal.
#pragma once

#include <string>

namespace dtc::rt {

// Makes SIGHUP, SIGINT and SIGTERM remove the file `path` before they end this process, except
// those of them that the program handles itself. Returns a number for dropRemoval; -1, without any
// effect, if too many files are registered.
int removeOnSignal(const std::string &path);
// Undoes removeOnSignal, so that signals leave the file.
void dropRemoval(int removal);

// Makes the same signals erase a terminal from its cursor on; -1 undoes that.
void eraseOnSignal(int descriptor);

} // namespace dtc::rt

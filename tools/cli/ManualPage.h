// Manual pages in the macros of man(7), written from a command line.
#pragma once

#include "tools/cli/CommandTree.h"

#include <string>
#include <vector>

namespace dtc {

// A manual page as a file.
struct ManualPage {
  std::string file; // such as "dtc-topology-show.1"
  std::string text;
};

// Returns the pages of `program` and of each of its commands, the program's own first. `version`
// is shown below each page, such as "dtc 0.1.0".
std::vector<ManualPage> manualPages(const CommandInfo &program, const std::string &version);

} // namespace dtc

// Reads one system of one kind of device. Internal to this folder.
#pragma once

#include "compiler/describe/topology/Description.h"
#include "compiler/support/TomlReader.h"

namespace dtc {

// Reads a system. `what` names the file, or the part of it, in messages. `known` are its keys.
SystemDescription readSystem(const toml::table &root, const std::string &what,
                             llvm::ArrayRef<llvm::StringRef> known, FirstError &errors);

// Reads every [[slow_link]] of the table. `system` must have its levels.
void readSlowLinks(TableReader &reader, const std::string &what, SystemDescription &system,
                   FirstError &errors);

} // namespace dtc

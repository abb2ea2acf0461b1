// Reads topologies: of the catalogue, of files and of text.
#pragma once

#include "compiler/describe/topology/Topology.h"

#include <string>
#include <vector>

namespace dtc {

// Returns the names of the catalogue, sorted: "cpu", "dgx-a100-40g", ...
std::vector<std::string> catalogueNames();

// Loads a system of the catalogue, or else a topology file. `nodes` 0 takes the number of the
// description, and `devices` 0 takes all devices (`cpu`: one). Errors: an unknown name (nearest
// name), any mistake in a file (its line and column), or counts that the hierarchy cannot be
// divided into (nearest possible count).
// Example: loadTopology("dgx-h100", /*nodes=*/2, /*devices=*/0) has 16 devices.
Result<Topology> loadTopology(const std::string &nameOrFile, int64_t nodes = 0,
                              int64_t devices = 0);

// Same as loadTopology, from TOML text. Errors name `path`.
Result<Topology> parseTopology(llvm::StringRef text, const std::string &path, int64_t nodes = 0,
                               int64_t devices = 0);

} // namespace dtc

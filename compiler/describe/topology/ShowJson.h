// Prints a topology as JSON for `dtc topology show`. Internal to this folder.
#pragma once

#include "compiler/describe/topology/Topology.h"
#include "llvm/Support/raw_ostream.h"

namespace dtc {

// Prints a topology as one JSON object.
void showJson(const Topology &topology, llvm::raw_ostream &out);

} // namespace dtc

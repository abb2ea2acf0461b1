// Prints a topology as text for `dtc topology show`. Internal to this folder.
#pragma once

#include "compiler/describe/topology/Topology.h"
#include "llvm/Support/raw_ostream.h"

namespace dtc {

// Prints a topology as text for people.
void showText(const Topology &topology, llvm::raw_ostream &out);

} // namespace dtc

// What `dtc topology show` prints. Internal to this folder.
#pragma once

#include "compiler/topology/Topology.h"

#include "llvm/Support/raw_ostream.h"

namespace dtc {

void showText(const Topology &topology, llvm::raw_ostream &out);
// One object.
void showJson(const Topology &topology, llvm::raw_ostream &out);

} // namespace dtc

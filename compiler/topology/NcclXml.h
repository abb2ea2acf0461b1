// Reads the description of a node that NCCL writes (NCCL_TOPO_DUMP_FILE). Internal to this folder.
#pragma once

#include "compiler/topology/Inventory.h"

namespace dtc {

// `path` is what errors name. The text comes from outside: whatever it is, an error or an
// inventory. Elements and attributes that are not known are passed over, as NCCL adds some with
// each version. Errors: not XML, no <system>, values that are no numbers or out of range, too deep
// or too many.
Result<Inventory> readNcclXml(llvm::StringRef text, const std::string &path);

} // namespace dtc

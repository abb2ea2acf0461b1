// Reads the description of a node that NCCL writes (NCCL_TOPO_DUMP_FILE). Internal to this folder.
#pragma once

#include "compiler/describe/topology/Inventory.h"

namespace dtc {

// Reads the XML text. Errors name `path`. The text comes from an unknown source, so any text gives
// an inventory or an error. Unknown elements and attributes are ignored, because NCCL adds some
// with each version. Errors: not XML, no <system>, values that are not numbers or out of range, too
// deep or too many elements.
Result<Inventory> readNcclXml(llvm::StringRef text, const std::string &path);

} // namespace dtc

// Assembles PTX without avoidable spills.
#pragma once

#include "passes/codegen/PtxCode.h"

#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace dtc {

// Assembles PTX without avoidable spills. If ptxas spills registers of a kernel in order to fit
// more blocks on a multiprocessor, changes `ptx` to ask for fewer blocks, which drivers that
// translate the PTX respect as well. Result and errors are those of assembleCubin.
llvm::Expected<std::optional<std::vector<char>>>
assembleWithoutSpills(std::string &ptx, GpuTarget target, std::string *report = nullptr);

} // namespace dtc

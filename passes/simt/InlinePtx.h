// One instruction of inline PTX, taken apart.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/Support/Error.h"
#include <string>

namespace dtc {

struct InlinePtx {
  std::string opcode; // "cvt.rn.bf16x2.f32"; empty where there is no instruction
  llvm::SmallVector<llvm::Value *>
      operands; // beside the results, in the order of the text, numbers among them
};

// Reads the inline PTX that `call` calls. A second mention of a result reads the operand that is tied to it.
//
// Example: "cp.async.cg.shared.global [$0], [$1], 16;" is the opcode and three operands, the last one i32 16.
// Errors: several instructions, predicates, operands that are neither $N nor a number.
llvm::Expected<InlinePtx> readInlinePtx(const llvm::CallBase &call);

} // namespace dtc

// Parses one instruction of inline PTX.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/Support/Error.h"
#include <string>

namespace dtc {

// One instruction of inline PTX.
struct InlinePtx {
  std::string opcode; // "cvt.rn.bf16x2.f32"; empty if there is no instruction
  llvm::SmallVector<llvm::Value *>
      operands; // the operands except results, in textual order, immediates included
};

// Parses the inline PTX of `call`. A second mention of a result reads the operand that is tied to
// it.
//
// Example: "cp.async.cg.shared.global [$0], [$1], 16;" gives the opcode and three operands, the
// last one i32 16. Errors: several instructions, predicates, operands that are neither $N nor a
// number.
llvm::Expected<InlinePtx> readInlinePtx(const llvm::CallBase &call);

} // namespace dtc

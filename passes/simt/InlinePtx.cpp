#include "passes/simt/InlinePtx.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InlineAsm.h"

using namespace llvm;
using namespace dtc;

namespace {

// The values that the placeholders $0, $1, ... refer to.
struct Bound {
  unsigned results = 0;
  DenseMap<unsigned, Value *> inputs; // operand values by placeholder number
  DenseMap<unsigned, Value *> tied;   // tied operand values by the number of their result
};

Bound bind(const CallBase &call, const InlineAsm &assembly) {
  Bound bound;
  unsigned argument = 0;
  for (const InlineAsm::ConstraintInfo &constraint : assembly.ParseConstraints()) {
    if (constraint.Type == InlineAsm::isOutput) {
      ++bound.results;
    } else if (constraint.Type == InlineAsm::isInput) {
      Value *value = call.getArgOperand(argument);
      unsigned result;
      if (!constraint.Codes.empty() && !StringRef(constraint.Codes[0]).getAsInteger(10, result))
        bound.tied[result] = value;
      bound.inputs[bound.results + argument++] = value;
    }
  }
  return bound;
}

} // namespace

Expected<InlinePtx> dtc::readInlinePtx(const CallBase &call) {
  auto &assembly = *cast<InlineAsm>(call.getCalledOperand());
  StringRef all = StringRef(assembly.getAsmString()).trim(" \t\n;");
  auto refuse = [&](const Twine &why) {
    return createStringError("inline PTX '" + all + "' in '" + call.getFunction()->getName() +
                             "': " + why);
  };
  if (all.contains(';') || all.starts_with("@") || all.starts_with("{"))
    return refuse("the emulator takes one instruction, without predicates");
  InlinePtx instruction;
  size_t end = all.find_first_of(" \t\n");
  instruction.opcode = all.substr(0, end).str();
  Bound bound = bind(call, assembly);
  SmallSet<unsigned, 8> written;
  SmallVector<StringRef> tokens;
  SplitString(end == StringRef::npos ? "" : all.substr(end), tokens, ", \t\n{}[]");
  for (StringRef token : tokens) {
    unsigned number;
    uint64_t literal;
    StringRef digits = token;
    if (!token.getAsInteger(0, literal)) {
      instruction.operands.push_back(
          ConstantInt::get(Type::getInt32Ty(call.getContext()), literal));
    } else if (!digits.consume_front("$") || digits.getAsInteger(10, number)) {
      return refuse("operand '" + token + "' is neither bound to a value nor a number");
    } else if (Value *value = bound.inputs.lookup(number)) {
      instruction.operands.push_back(value);
    } else if (!written.insert(number).second) {
      Value *tied = bound.tied.lookup(number);
      if (!tied)
        return refuse("reads its result '" + token + "'");
      instruction.operands.push_back(tied);
    }
  }
  return instruction;
}

#include "passes/simt/Sites.h"

#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"

using namespace llvm;
using namespace dtc;

GlobalVariable *dtc::addConstant(Module &module, Constant *value, const Twine &name) {
  return new GlobalVariable(module, value->getType(), /*isConstant=*/true,
                            GlobalValue::InternalLinkage, value, name);
}

Sites::Sites(Module &module) : module(module) {
  LLVMContext &context = module.getContext();
  Type *pointer = PointerType::get(context, 0), *word = Type::getInt32Ty(context);
  type = StructType::get(context, {pointer, pointer, word, word, word, word, word, word});
}

Constant *Sites::text(StringRef words) {
  Constant *&known = texts[words];
  if (!known)
    known = addConstant(module, ConstantDataArray::getString(module.getContext(), words));
  return known;
}

Constant *Sites::add(const Instruction &instruction, Access access) {
  Type *word = Type::getInt32Ty(module.getContext());
  std::string function = demangle(instruction.getFunction()->getName()), file;
  uint64_t line = 0;
  if (const DebugLoc &location = instruction.getDebugLoc(); location && location.getLine()) {
    auto *scope = cast<DIScope>(location.getScope());
    file = scope->getFilename().str();
    line = location.getLine();
  }
  auto number = [&](uint64_t value) { return ConstantInt::get(word, value); };
  Constant *values[] = {text(function),       text(file),
                        number(line),         number(access.bytes),
                        number(access.align), number(static_cast<uint64_t>(access.kind)),
                        number(access.space), number(sites++)};
  return addConstant(module, ConstantStruct::get(type, values));
}

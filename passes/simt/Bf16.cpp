#include "passes/simt/Bf16.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"

using namespace llvm;
using namespace dtc;

// Returns the bf16 bits of an f32 scalar or vector, rounded to nearest even.
static Value *toBf16(IRBuilder<> &builder, Value *value) {
  Type *words = value->getType()->getWithNewType(builder.getInt32Ty());
  Type *halves = value->getType()->getWithNewType(builder.getInt16Ty());
  auto constant = [&](uint64_t number) { return ConstantInt::get(words, number); };
  Value *bits = builder.CreateBitCast(value, words);
  Value *odd = builder.CreateAnd(builder.CreateLShr(bits, constant(16)), constant(1));
  Value *rounded = builder.CreateLShr(
      builder.CreateAdd(builder.CreateAdd(bits, constant(0x7fff)), odd), constant(16));
  Value *isNan =
      builder.CreateICmpUGT(builder.CreateAnd(bits, constant(0x7fffffff)), constant(0x7f800000));
  Value *result =
      builder.CreateTrunc(builder.CreateSelect(isNan, constant(0x7fff), rounded), halves);
  return builder.CreateBitCast(result, value->getType()->getWithNewType(builder.getBFloatTy()));
}

void dtc::expandBf16(Module &module) {
  SmallVector<FPTruncInst *> truncations;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (auto *truncation = dyn_cast<FPTruncInst>(&instruction);
          truncation && truncation->getType()->getScalarType()->isBFloatTy() &&
          truncation->getSrcTy()->getScalarType()->isFloatTy())
        truncations.push_back(truncation);
  for (FPTruncInst *truncation : truncations) {
    IRBuilder<> builder(truncation);
    truncation->replaceAllUsesWith(toBf16(builder, truncation->getOperand(0)));
    truncation->eraseFromParent();
  }
  LLVMContext &context = module.getContext();
  auto *type = FunctionType::get(Type::getBFloatTy(context), {Type::getFloatTy(context)}, false);
  auto *function = Function::Create(type, GlobalValue::ExternalLinkage, "__truncsfbf2", module);
  function->setVisibility(GlobalValue::HiddenVisibility);
  IRBuilder<> builder(BasicBlock::Create(context, "", function));
  builder.CreateRet(toBf16(builder, function->getArg(0)));
}

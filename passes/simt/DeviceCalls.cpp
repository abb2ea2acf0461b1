#include "passes/simt/DeviceCalls.h"

#include "passes/simt/InlinePtx.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;
using namespace dtc;

namespace {

enum class Effect { Pure, Any };

const StringMap<Effect> &knownFunctions() {
  static const StringMap<Effect> known = {
#define SIMT_PURE(name, function) {name, Effect::Pure},
#define SIMT_CALL(name, function) {name, Effect::Any},
#include "runtime/simt/Intrinsics.def"
#undef SIMT_PURE
#undef SIMT_CALL
  };
  return known;
}

// Returns the type that a value is passed as: i32 for up to 32 bits, i64 for 64 bits, a generic
// pointer for pointers; vectors pass their bits. Null for all other sizes.
Type *wordOf(Type *type) {
  LLVMContext &context = type->getContext();
  if (type->isPointerTy())
    return PointerType::get(context, 0);
  TypeSize bits = type->getPrimitiveSizeInBits();
  if (bits.isScalable() || bits == 0 || bits > 64)
    return nullptr;
  return bits <= 32 ? Type::getInt32Ty(context) : bits == 64 ? Type::getInt64Ty(context) : nullptr;
}

Value *toWord(IRBuilder<> &builder, Value *value) {
  Type *type = value->getType(), *word = wordOf(type);
  if (type->isPointerTy())
    return builder.CreateAddrSpaceCast(value, word);
  Type *bits = builder.getIntNTy(static_cast<unsigned>(type->getPrimitiveSizeInBits()));
  return builder.CreateZExtOrTrunc(builder.CreateBitCast(value, bits), word);
}

Value *fromWord(IRBuilder<> &builder, Value *word, Type *type) {
  if (type->isPointerTy())
    return builder.CreateAddrSpaceCast(word, type);
  Type *bits = builder.getIntNTy(static_cast<unsigned>(type->getPrimitiveSizeInBits()));
  return builder.CreateBitCast(builder.CreateZExtOrTrunc(word, bits), type);
}

// True for intrinsics that LLVM lowers on any processor. They touch no memory that needs a check,
// or are checked as accesses.
bool isForAnyProcessor(const IntrinsicInst &call) {
  switch (call.getIntrinsicID()) {
  case Intrinsic::memcpy:
  case Intrinsic::memcpy_inline:
  case Intrinsic::memmove:
  case Intrinsic::memset:
  case Intrinsic::memset_inline:
  case Intrinsic::lifetime_start:
  case Intrinsic::lifetime_end:
  case Intrinsic::assume:
  case Intrinsic::experimental_noalias_scope_decl:
  case Intrinsic::stacksave:
  case Intrinsic::stackrestore:
    return true;
  default:
    return isa<DbgInfoIntrinsic>(call) ||
           (call.doesNotAccessMemory() &&
            !call.getCalledFunction()->getName().starts_with("llvm.nvvm."));
  }
}

} // namespace

CallInst *DeviceCalls::callThrough(IRBuilder<> &builder, StringRef name, Type *result,
                                   ArrayRef<Value *> arguments) {
  auto known = knownFunctions().find(name);
  assert(known != knownFunctions().end() && "the caller has looked the function up");
  GlobalVariable *&slot = imports[known->getKey()];
  Type *pointer = builder.getPtrTy();
  if (!slot)
    slot = new GlobalVariable(module, pointer, false, GlobalValue::InternalLinkage,
                              Constant::getNullValue(pointer), "slot." + name);
  SmallVector<Type *> types;
  for (Value *argument : arguments)
    types.push_back(argument->getType());
  LoadInst *function = builder.CreateLoad(pointer, slot);
  function->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(module.getContext(), {}));
  CallInst *call = builder.CreateCall(FunctionType::get(result, types, false), function, arguments);
  call->setDoesNotThrow();
  if (known->second == Effect::Pure) {
    call->setDoesNotAccessMemory();
    call->addFnAttr(Attribute::WillReturn);
  } else {
    call->setConvergent();
  }
  return call;
}

void DeviceCalls::add(IRBuilder<> &builder, StringRef name, ArrayRef<Value *> arguments) {
  callThrough(builder, name, builder.getVoidTy(), arguments);
}

Value *DeviceCalls::addPointer(IRBuilder<> &builder, StringRef name) {
  return callThrough(builder, name, builder.getPtrTy(), {});
}

Error DeviceCalls::replaceBy(CallBase &call, const std::string &name, ArrayRef<Value *> operands) {
  auto refuse = [&](const Twine &why) {
    return createStringError("'" + call.getFunction()->getName() + "' uses '" + name + "', " + why);
  };
  auto known = knownFunctions().find(name);
  if (known == knownFunctions().end())
    return refuse("which the emulated GPU does not have");
  IRBuilder<> builder(&call);
  Type *result = call.getType();
  auto *several = dyn_cast<StructType>(result);
  SmallVector<Value *> arguments;
  if (several) {
    IRBuilder<> entry(&*call.getFunction()->getEntryBlock().getFirstInsertionPt());
    arguments.push_back(
        entry.CreateAlloca(ArrayType::get(builder.getInt32Ty(), several->getNumElements())));
    for (Type *element : several->elements())
      if (wordOf(element) != builder.getInt32Ty())
        return refuse("which gives more than 32 bits at once");
  } else if (!result->isVoidTy() && !wordOf(result)) {
    return refuse("which gives more than 64 bits");
  }
  for (Value *operand : operands) {
    if (!wordOf(operand->getType()))
      return refuse("which takes more than 64 bits");
    arguments.push_back(toWord(builder, operand));
  }
  if (known->second == Effect::Any)
    arguments.push_back(sites.add(call));
  CallInst *replaced =
      callThrough(builder, name,
                  several || result->isVoidTy() ? builder.getVoidTy() : wordOf(result), arguments);
  if (several) {
    Value *all = PoisonValue::get(several);
    for (unsigned i = 0; i < several->getNumElements(); ++i) {
      Value *address = builder.CreateConstInBoundsGEP1_32(builder.getInt32Ty(), arguments[0], i);
      Value *word = builder.CreateLoad(builder.getInt32Ty(), address);
      all = builder.CreateInsertValue(all, fromWord(builder, word, several->getElementType(i)), i);
    }
    replaced->removeFnAttr(Attribute::Memory); // the call now writes its results through memory
    call.replaceAllUsesWith(all);
  } else if (!result->isVoidTy()) {
    call.replaceAllUsesWith(fromWord(builder, replaced, result));
  }
  call.eraseFromParent();
  return Error::success();
}

Error DeviceCalls::replaceAssembly(CallBase &call) {
  Expected<InlinePtx> instruction = readInlinePtx(call);
  if (!instruction)
    return instruction.takeError();
  if (instruction->opcode.empty()) { // an empty asm only stops compiler reordering
    call.eraseFromParent();
    return Error::success();
  }
  return replaceBy(
      call, "ptx:" + instruction->opcode + "/" + std::to_string(instruction->operands.size()),
      instruction->operands);
}

Error DeviceCalls::replace(CallBase &call) {
  if (call.isInlineAsm())
    return replaceAssembly(call);
  Function *callee = call.getCalledFunction();
  if (!callee)
    return createStringError("'" + call.getFunction()->getName() +
                             "' calls a function by its address");
  if (!callee->isDeclaration()) {
    call.setCallingConv(CallingConv::C);
    return Error::success();
  }
  if (auto *intrinsic = dyn_cast<IntrinsicInst>(&call)) {
    Intrinsic::ID id = intrinsic->getIntrinsicID();
    if (id == Intrinsic::trap || id == Intrinsic::debugtrap || id == Intrinsic::ubsantrap)
      return replaceBy(call, "simt.trap", {});
    if (isForAnyProcessor(*intrinsic))
      return Error::success();
  }
  return replaceBy(call, callee->getName().str(), SmallVector<Value *>(call.args()));
}

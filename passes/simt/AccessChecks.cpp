#include "passes/simt/AccessChecks.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;
using namespace dtc;
using simt::abi::Access;

namespace {

bool needsCheck(const Value *pointer) {
  const Value *object = getUnderlyingObject(pointer, /*MaxLookup=*/0);
  if (auto *argument = dyn_cast<Argument>(object))
    return !argument->hasByValAttr();
  if (auto *variable = dyn_cast<GlobalVariable>(object))
    return !variable->hasInternalLinkage() || !variable->isConstant();
  return !isa<AllocaInst>(object);
}

class Checker {
public:
  Checker(Function &function, DeviceCalls &calls, Sites &sites)
      : layout(function.getDataLayout()), calls(calls), sites(sites) {}

  void check(Instruction &instruction) {
    if (auto *load = dyn_cast<LoadInst>(&instruction)) {
      bool other = load->isAtomic() || load->isVolatile();
      if (addCheck(*load, load->getPointerOperand(), load->getType(), load->getAlign(),
                   other ? Access::AtomicRead : Access::Read) &&
          !load->isAtomic())
        load->setAlignment(Align(1));
    } else if (auto *store = dyn_cast<StoreInst>(&instruction)) {
      bool other = store->isAtomic() || store->isVolatile();
      if (addCheck(*store, store->getPointerOperand(), store->getValueOperand()->getType(),
                   store->getAlign(), other ? Access::AtomicWrite : Access::Write) &&
          !store->isAtomic())
        store->setAlignment(Align(1));
    } else if (auto *change = dyn_cast<AtomicRMWInst>(&instruction)) {
      addCheck(*change, change->getPointerOperand(), change->getType(), change->getAlign(),
               Access::Change);
    } else if (auto *exchange = dyn_cast<AtomicCmpXchgInst>(&instruction)) {
      addCheck(*exchange, exchange->getPointerOperand(), exchange->getNewValOperand()->getType(),
               exchange->getAlign(), Access::Change);
    } else if (auto *many = dyn_cast<MemIntrinsic>(&instruction)) {
      checkRange(*many, many->getRawDest(), many->getDestAlign(), Access::Write);
      if (auto *transfer = dyn_cast<MemTransferInst>(many)) {
        checkRange(*many, transfer->getRawSource(), transfer->getSourceAlign(), Access::Read);
        transfer->setSourceAlignment(Align(1));
      }
      many->setDestAlignment(Align(1));
    }
  }

private:
  bool addCheck(Instruction &at, Value *pointer, Type *type, Align align, Access kind) {
    if (!needsCheck(pointer))
      return false;
    IRBuilder<> builder(&at);
    Constant *site = sites.add(at, {layout.getTypeStoreSize(type), align.value(), kind,
                                    pointer->getType()->getPointerAddressSpace()});
    calls.add(builder, "simt.access", {flat(builder, pointer), site});
    return true;
  }
  void checkRange(MemIntrinsic &at, Value *pointer, MaybeAlign align, Access kind) {
    if (!needsCheck(pointer))
      return;
    IRBuilder<> builder(&at);
    Constant *site = sites.add(
        at, {0, align.valueOrOne().value(), kind, pointer->getType()->getPointerAddressSpace()});
    Value *bytes = builder.CreateZExtOrTrunc(at.getLength(), builder.getInt64Ty());
    calls.add(builder, "simt.access.range", {flat(builder, pointer), bytes, site});
  }
  static Value *flat(IRBuilder<> &builder, Value *pointer) {
    return builder.CreateAddrSpaceCast(pointer, builder.getPtrTy());
  }

  const DataLayout &layout;
  DeviceCalls &calls;
  Sites &sites;
};

bool callsEmulator(const BasicBlock &block) {
  return any_of(block, [](const Instruction &instruction) {
    auto *call = dyn_cast<CallInst>(&instruction);
    return call && call->isIndirectCall() && call->isConvergent();
  });
}

} // namespace

void dtc::addAccessChecks(Function &function, DeviceCalls &calls, Sites &sites) {
  Checker checker(function, calls, sites);
  SmallVector<Instruction *> all;
  for (Instruction &instruction : instructions(function))
    all.push_back(&instruction);
  for (Instruction *instruction : all)
    checker.check(*instruction);
}

void dtc::addLoopSteps(Function &function, DeviceCalls &calls, Sites &sites) {
  DominatorTree dominators(function);
  LoopInfo loops(dominators);
  for (Loop *loop : loops.getLoopsInPreorder()) {
    if (any_of(loop->blocks(), [](const BasicBlock *block) { return callsEmulator(*block); }))
      continue;
    Instruction &start = *loop->getHeader()->getFirstInsertionPt();
    IRBuilder<> builder(&start);
    calls.add(builder, "simt.step", {sites.add(start)});
  }
}

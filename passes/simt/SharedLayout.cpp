#include "passes/simt/SharedLayout.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/ReplaceConstant.h"

using namespace llvm;
using namespace dtc;

namespace {

constexpr unsigned sharedSpace = 3;

// Returns the kernel and all functions that it may call.
SetVector<const Function *> reach(const Function *kernel) {
  SetVector<const Function *> found;
  found.insert(kernel);
  for (size_t i = 0; i < found.size(); ++i)
    for (const Instruction &instruction : instructions(*found[i]))
      for (const Use &operand : instruction.operands())
        if (auto *function = dyn_cast<Function>(operand))
          found.insert(function);
  return found;
}

bool isUsedIn(const GlobalVariable &variable, const SetVector<const Function *> &functions) {
  return any_of(variable.users(), [&](const User *user) {
    auto *instruction = dyn_cast<Instruction>(user);
    return instruction && functions.contains(instruction->getFunction());
  });
}

bool isDynamic(const GlobalVariable &variable, const DataLayout &layout) {
  return variable.isDeclaration() || layout.getTypeAllocSize(variable.getValueType()) == 0;
}

// Replaces all uses in a function by the value that `make` emits at its start.
void replaceUses(GlobalVariable &variable, function_ref<Value *(IRBuilder<> &)> make) {
  DenseMap<Function *, Value *> addresses;
  for (Use &use : make_early_inc_range(variable.uses())) {
    auto *user = dyn_cast<Instruction>(use.getUser());
    if (!user)
      continue;
    Value *&address = addresses[user->getFunction()];
    if (!address) {
      BasicBlock &entry = user->getFunction()->getEntryBlock();
      IRBuilder<> builder(&entry, entry.getFirstInsertionPt());
      address = builder.CreateAddrSpaceCast(make(builder), variable.getType());
    }
    use.set(address);
  }
}

} // namespace

SharedLayout::SharedLayout(Module &module, ArrayRef<Function *> kernels, DeviceCalls &calls) {
  const DataLayout &layout = module.getDataLayout();
  SmallVector<GlobalVariable *> variables;
  SmallVector<Constant *> constants;
  for (GlobalVariable &variable : module.globals())
    if (variable.getAddressSpace() == sharedSpace) {
      variables.push_back(&variable);
      constants.push_back(&variable);
    }
  convertUsersOfConstantsToInstructions(constants);
  SmallVector<SetVector<const Function *>> reached;
  for (Function *kernel : kernels)
    reached.push_back(reach(kernel));
  for (GlobalVariable *variable : variables) {
    if (isDynamic(*variable, layout)) {
      replaceUses(*variable, [&](IRBuilder<> &builder) {
        return calls.addPointer(builder, "simt.shared.dynamic");
      });
      continue;
    }
    uint64_t align =
        layout.getValueOrABITypeAlignment(variable->getAlign(), variable->getValueType()).value();
    uint64_t offset = 0;
    SmallVector<Function *> users;
    for (size_t i = 0; i < kernels.size(); ++i)
      if (isUsedIn(*variable, reached[i])) {
        users.push_back(kernels[i]);
        offset = std::max(offset, ends.lookup(kernels[i]));
      }
    offset = alignTo(offset, align);
    if (align < 16 && offset / align % 2 == 0)
      offset += align;
    for (Function *kernel : users)
      ends[kernel] = offset + layout.getTypeAllocSize(variable->getValueType());
    replaceUses(*variable, [&](IRBuilder<> &builder) {
      return builder.CreateInBoundsPtrAdd(calls.addPointer(builder, "simt.shared"),
                                          builder.getInt64(offset));
    });
  }
  for (GlobalVariable *variable : variables) {
    variable->replaceAllUsesWith(PoisonValue::get(variable->getType())); // lists such as llvm.used
    variable->eraseFromParent();
  }
}

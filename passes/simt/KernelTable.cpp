#include "passes/simt/KernelTable.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/IR/Constants.h"

using namespace llvm;
using namespace dtc;

namespace {

// Returns the product of the numbers in a list such as "128,1,1", skipping malformed ones; 0 for an
// empty list.
uint32_t product(StringRef sizes) {
  SmallVector<StringRef> parts;
  sizes.split(parts, ',');
  uint32_t all = sizes.empty() ? 0 : 1;
  for (StringRef part : parts) {
    uint32_t size;
    if (!part.trim().getAsInteger(10, size))
      all *= size;
  }
  return all;
}

// Reads the older annotations: !{ptr @kernel, !"reqntidx", i32 128, ...}.
void readAnnotations(Module &module, MapVector<Function *, KernelLimits> &kernels) {
  NamedMDNode *all = module.getNamedMetadata("nvvm.annotations");
  if (!all)
    return;
  for (MDNode *node : all->operands()) {
    auto *function = node->getNumOperands()
                         ? mdconst::dyn_extract_or_null<Function>(node->getOperand(0))
                         : nullptr;
    if (!function)
      continue;
    KernelLimits limits;
    bool isKernel = function->getCallingConv() == CallingConv::PTX_Kernel;
    for (unsigned i = 1; i + 1 < node->getNumOperands(); i += 2) {
      auto *key = dyn_cast<MDString>(node->getOperand(i));
      auto *value = mdconst::dyn_extract_or_null<ConstantInt>(node->getOperand(i + 1));
      if (!key || !value)
        continue;
      auto number = static_cast<uint32_t>(value->getZExtValue());
      auto multiply = [number](uint32_t &size) { size = (size ? size : 1) * number; };
      isKernel |= key->getString() == "kernel";
      if (key->getString().starts_with("reqntid"))
        multiply(limits.requiredThreads);
      else if (key->getString().starts_with("maxntid"))
        multiply(limits.maxThreads);
    }
    if (isKernel && !function->isDeclaration()) {
      KernelLimits &known = kernels[function];
      known.requiredThreads = std::max(known.requiredThreads, limits.requiredThreads);
      known.maxThreads = std::max(known.maxThreads, limits.maxThreads);
    }
  }
  all->eraseFromParent();
}

uint64_t parameterBytes(const Argument &argument, const DataLayout &layout) {
  return layout.getTypeAllocSize(argument.hasByValAttr() ? argument.getParamByValType()
                                                         : argument.getType());
}

Function *addEntry(Module &module, Function &kernel) {
  LLVMContext &context = module.getContext();
  Type *pointer = PointerType::get(context, 0);
  auto *entry = Function::Create(FunctionType::get(Type::getVoidTy(context), {pointer}, false),
                                 GlobalValue::InternalLinkage, "entry." + kernel.getName(), module);
  IRBuilder<> builder(BasicBlock::Create(context, "", entry));
  SmallVector<Value *> values;
  for (Argument &argument : kernel.args()) {
    Value *address = builder.CreateLoad(
        pointer, builder.CreateConstGEP1_64(pointer, entry->getArg(0), argument.getArgNo()));
    if (argument.hasByValAttr())
      values.push_back(builder.CreateAddrSpaceCast(address, argument.getType()));
    else
      values.push_back(builder.CreateLoad(argument.getType(), address));
  }
  builder.CreateCall(&kernel, values);
  builder.CreateRetVoid();
  for (Argument &argument : kernel.args())
    if (argument.hasByValAttr()) // the emulator has already copied the argument
      kernel.removeParamAttr(argument.getArgNo(), Attribute::ByVal);
  return entry;
}

// Builds constant structures and arrays of them.
class Tables {
public:
  explicit Tables(Module &module) : module(module), context(module.getContext()) {}

  Constant *word(uint64_t value) { return ConstantInt::get(Type::getInt32Ty(context), value); }
  Constant *record(ArrayRef<Constant *> fields) { return ConstantStruct::getAnon(context, fields); }
  // Returns the address of a constant array; null for an empty one.
  Constant *array(ArrayRef<Constant *> elements) {
    if (elements.empty())
      return ConstantPointerNull::get(PointerType::get(context, 0));
    return addConstant(
        module,
        ConstantArray::get(ArrayType::get(elements[0]->getType(), elements.size()), elements));
  }

private:
  Module &module;
  LLVMContext &context;
};

} // namespace

SmallVector<std::pair<Function *, KernelLimits>> dtc::takeKernels(Module &module) {
  MapVector<Function *, KernelLimits> kernels;
  for (Function &function : module)
    if (!function.isDeclaration() && function.getCallingConv() == CallingConv::PTX_Kernel)
      kernels[&function] = {product(function.getFnAttribute("nvvm.reqntid").getValueAsString()),
                            product(function.getFnAttribute("nvvm.maxntid").getValueAsString())};
  readAnnotations(module, kernels);
  return SmallVector<std::pair<Function *, KernelLimits>>(kernels.begin(), kernels.end());
}

void dtc::addKernelTable(Module &module, ArrayRef<std::pair<Function *, KernelLimits>> kernels,
                         const SharedLayout &shared, const DeviceCalls &calls, Sites &sites) {
  const DataLayout &layout = module.getDataLayout();
  LLVMContext &context = module.getContext();
  Tables tables(module);
  Type *pointer = PointerType::get(context, 0);
  SmallVector<Constant *> globals, infos, imports;
  for (GlobalVariable &variable : make_early_inc_range(module.globals())) {
    if (!variable.hasInitializer() || variable.getName().starts_with("llvm.") ||
        variable.getName().starts_with("slot.") ||
        (variable.hasInternalLinkage() && variable.isConstant()))
      continue;
    variable.setConstant(false); // writable, because the host may copy into it
    globals.push_back(tables.record(
        {sites.text(variable.getName()), ConstantExpr::getAddrSpaceCast(&variable, pointer),
         ConstantInt::get(Type::getInt64Ty(context),
                          layout.getTypeAllocSize(variable.getValueType()))}));
  }
  for (auto [kernel, limits] : kernels) {
    SmallVector<Constant *> bytes;
    for (const Argument &argument : kernel->args())
      bytes.push_back(tables.word(parameterBytes(argument, layout)));
    Function *entry = addEntry(module, *kernel);
    infos.push_back(tables.record(
        {sites.text(kernel->getName()), entry, tables.array(bytes), tables.word(bytes.size()),
         tables.word(shared.bytes(kernel)), tables.word(limits.requiredThreads),
         tables.word(std::max(limits.requiredThreads, limits.maxThreads))}));
  }
  for (auto &[name, slot] : calls.slots())
    imports.push_back(tables.record({sites.text(name), slot}));
  Constant *info = tables.record({tables.word(simt::abi::version), tables.word(imports.size()),
                                  tables.word(infos.size()), tables.word(globals.size()),
                                  tables.array(imports), tables.array(infos), tables.array(globals),
                                  ConstantInt::get(Type::getInt64Ty(context), sites.count())});
  addConstant(module, info, simt::abi::moduleSymbol)->setLinkage(GlobalValue::ExternalLinkage);
}

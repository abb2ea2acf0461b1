// Finds kernels that differ in size only.
#include "passes/codegen/MergedKernels.h"

#include "passes/codegen/KernelFunction.h"
#include "passes/codegen/KernelSide.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace dtc;
using namespace dtc::graph;

namespace {

// Most buffers of a merged kernel: a block first reads their addresses into registers.
constexpr unsigned mostBuffers = 24;

// True if the kernel has one loop, along which every buffer moves by one element or not at all.
bool isLine(FuncOp kernel, const PointwiseLoops &loops) {
  auto scalars = kernel->getAttrOfType<ArrayAttr>(kernelScalarsName);
  return loops.sizes.size() == 1 && loops.sizes[0] > 0 && (!scalars || scalars.empty()) &&
         llvm::all_of(loops.strides, [](ArrayRef<int64_t> strides) { return strides[0] <= 1; });
}

// Describes everything but the sizes: each op, its operands and the strides of the buffers.
std::string describe(FuncOp kernel, const PointwiseLoops &loops) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::DenseMap<Value, unsigned> numbers;
  auto define = [&](Value value) {
    unsigned number = numbers.size();
    numbers[value] = number;
    stream << "%" << number << ":" << getElementTypeOrSelf(value.getType()) << " ";
  };
  Block &body = kernel.getBody().front();
  for (Value argument : body.getArguments())
    define(argument);
  for (Operation &op : body) {
    stream << op.getName() << op.getAttrDictionary() << "(";
    for (Value operand : op.getOperands())
      stream << "%" << numbers.lookup(operand) << " ";
    stream << ") ";
    for (Value result : op.getResults())
      define(result);
  }
  for (auto [access, strides] : llvm::zip(getAccesses(kernel), loops.strides))
    stream << access.buffer << "+" << strides[0] << " ";
  return text;
}

// Returns the key under which launches may be merged; nullopt if the kernel cannot be merged.
std::optional<std::string> kindOfLine(FuncOp kernel) {
  if (getRowOp(kernel) || countRandomOps(kernel) > 0 || kernel.getNumResults() == 0 ||
      kernel.getNumArguments() + kernel.getNumResults() > mostBuffers)
    return std::nullopt;
  for (Operation &op : kernel.getBody().front().without_terminator())
    if (cast<PointwiseOpInterface>(op).needsIndices())
      return std::nullopt;
  PointwiseLoops loops = getPointwiseLoops(kernel);
  if (!isLine(kernel, loops))
    return std::nullopt;
  return describe(kernel, loops);
}

} // namespace

MergedKernels::MergedKernels(ModuleOp module) {
  llvm::StringMap<unsigned> known;
  for (FuncOp kernel : module.getOps<FuncOp>()) {
    if (!kernel.getKernel() || !isAt(kernel, KernelSide::Device))
      continue;
    std::optional<std::string> kind = kindOfLine(kernel);
    if (!kind)
      continue;
    auto [entry, isNew] = known.try_emplace(*kind, kinds.size());
    if (isNew)
      kinds.push_back({(kernel.getSymName() + "_merged").str(), kernel});
    Kind &of = kinds[entry->second];
    if (getPointwiseLoops(kernel).numColumns() > getPointwiseLoops(of.longest).numColumns())
      of.longest = kernel;
    kindOf[kernel] = entry->second;
  }
}

std::string MergedKernels::nameOf(FuncOp kernel) const {
  auto found = kindOf.find(kernel);
  return found == kindOf.end() ? std::string() : kinds[found->second].name;
}

bool MergedKernels::isLongest(FuncOp kernel) const {
  auto found = kindOf.find(kernel);
  return found != kindOf.end() && kinds[found->second].longest == kernel;
}

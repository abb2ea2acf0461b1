// Names and types of a model's inputs.
#include "dialects/graph/Inputs.h"

using namespace mlir;
using namespace dtc::graph;

StringRef dtc::graph::getInputName(FuncOp func, unsigned argument) {
  auto name = func.getArgAttrOfType<StringAttr>(argument, kInputAttr);
  return name ? name.getValue() : StringRef();
}

LogicalResult dtc::graph::checkLossSignature(FuncOp loss) {
  for (unsigned i = 0; i < loss.getNumArguments(); ++i)
    if (getInputName(loss, i).empty())
      return loss.emitOpError("has argument ") << i << " without a name; inputs are read by name";
  if (loss.getNumArguments() == 0)
    return loss.emitOpError("has no arguments; a model reads one input or more");
  auto isScalar = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getRank() == 0 && tensor.getElementType().isF32();
  };
  if (loss.getResultTypes().size() != 1 || !isScalar(loss.getResultTypes()[0]))
    return loss.emitOpError("must return one tensor<f32>, the loss");
  return success();
}

static bool isInputName(StringRef name) {
  auto isLetter = [](char c) { return llvm::isAlpha(c) || c == '_'; };
  return !name.empty() && isLetter(name.front()) && llvm::all_of(name, [&](char c) {
    return isLetter(c) || llvm::isDigit(c) || c == '.' || c == '-';
  });
}

LogicalResult dtc::graph::checkInputName(Operation *op, unsigned argument,
                                         NamedAttribute attribute) {
  auto func = dyn_cast<FuncOp>(op);
  if (!func || attribute.getName() != kInputAttr)
    return success();
  auto name = cast<StringAttr>(attribute.getValue());
  if (!isInputName(name.getValue())) // func_c2
    return op->emitOpError() << "has argument " << argument << " with input name "
                             << attribute.getValue()
                             << ", but a letter or '_' is wanted, then letters, digits, '_', '.' "
                                "and '-'";
  for (unsigned other = 0; other < argument; ++other)
    if (getInputName(func, other) == name.getValue()) // func_c2
      return op->emitOpError() << "has two inputs with the name '" << name.getValue() << "'";
  auto type = dyn_cast<RankedTensorType>(func.getArgumentTypes()[argument]);
  bool isKnown = type && (type.getElementType().isF32() || type.getElementType().isInteger(32));
  if (!isKnown || type.getRank() == 0) // func_c3
    return op->emitOpError()
           << "has input '" << name.getValue() << "' of type " << func.getArgumentTypes()[argument]
           << ", but a tensor of f32 or i32 is wanted, with the batch first; data "
              "files of other types are converted while they are read";
  return success();
}

// Helpers of the verifiers.
#include "dialects/graph/Verify.h"

#include "llvm/Support/Format.h"

using namespace mlir;
using namespace dtc::graph;

std::string dtc::graph::sizeText(int64_t size) {
  return ShapedType::isDynamic(size) ? "?" : std::to_string(size);
}

std::string dtc::graph::numberText(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", value);
  return text;
}

DimList &DimList::dims(StringRef name, RankedTensorType type, int64_t begin, int64_t end) {
  for (int64_t dim = begin; dim < end; ++dim)
    size(type.getDimSize(dim), "dim " + Twine(dim) + " of '" + name + "'");
  return *this;
}

DimList &DimList::size(int64_t size, const Twine &origin) {
  entries.push_back({size, origin.str()});
  return *this;
}

LogicalResult DimList::check(Operation *op, StringRef name, RankedTensorType type) const {
  if (failed(checkNumDims(op, name, type, entries.size())))
    return failure();
  for (const auto &[dim, entry] : llvm::enumerate(entries))
    if (type.getDimSize(dim) != entry.size)
      return op->emitOpError() << "dim " << dim << " of '" << name << "' is "
                               << sizeText(type.getDimSize(dim)) << ", but " << entry.origin
                               << " is " << sizeText(entry.size);
  return success();
}

LogicalResult dtc::graph::checkNumDims(Operation *op, StringRef name, RankedTensorType type,
                                       int64_t wanted) {
  if (type.getRank() == wanted)
    return success();
  return op->emitOpError() << "'" << name << "' has " << type.getRank() << " dims, but " << wanted
                           << " are wanted";
}

LogicalResult dtc::graph::checkAtLeastDims(Operation *op, StringRef name, RankedTensorType type,
                                           int64_t wanted) {
  if (type.getRank() >= wanted)
    return success();
  return op->emitOpError() << "'" << name << "' has " << type.getRank() << " dims, but at least "
                           << wanted << " are wanted";
}

LogicalResult dtc::graph::checkSameElement(Operation *op, StringRef name, Type type,
                                           StringRef otherName, Type other) {
  Type found = getElementTypeOrSelf(type), wanted = getElementTypeOrSelf(other);
  if (found == wanted)
    return success();
  return op->emitOpError() << "'" << name << "' has element type " << found << ", but '"
                           << otherName << "' has " << wanted;
}

LogicalResult dtc::graph::checkF32(Operation *op, StringRef name, Type type) {
  Type found = getElementTypeOrSelf(type);
  if (found.isF32())
    return success();
  return op->emitOpError() << "'" << name << "' has element type " << found
                           << ", but f32 is wanted";
}

LogicalResult dtc::graph::checkProductElement(Operation *op, Type result, StringRef inputName,
                                              Type input) {
  Type found = getElementTypeOrSelf(result);
  if (found.isF32())
    return success();
  return checkSameElement(op, "result", found, inputName, input);
}

LogicalResult dtc::graph::checkWindows(Operation *op, std::optional<ArrayAttr> windows) {
  if (!windows)
    return success();
  OpRule rule = cast<RuleOpInterface>(op).getRule();
  for (const auto &[i, attr] : llvm::enumerate(*windows)) {
    auto window = dyn_cast<WindowAttr>(attr);
    if (!window)
      return op->emitOpError() << "entry " << i << " of 'windows' is " << attr
                               << ", but a #graph.window is wanted";
    if (!llvm::is_contained(rule.indexedLoops, window.getLoop()))
      return op->emitOpError() << "entry " << i << " of 'windows' is about loop "
                               << window.getLoop() << ", whose index does not matter to this op";
    if (window.getLocal() < 1 || window.getGlobal() < 1)
      return op->emitOpError() << "entry " << i << " of 'windows' has sizes " << window.getLocal()
                               << " and " << window.getGlobal() << ", but 1 or more is wanted";
  }
  return success();
}

LogicalResult dtc::graph::checkPadding(Operation *op, std::optional<int64_t> padding,
                                       std::optional<ArrayAttr> windows, int64_t rows) {
  if (windows) // the loop of the rows is the only one that they may refer to
    for (WindowAttr window : windows->getAsRange<WindowAttr>())
      rows = window.getGlobal();
  if (padding && (*padding < 0 || *padding >= rows))
    return op->emitOpError() << "'padding' is " << *padding << ", but the table has " << rows
                             << " rows";
  return success();
}

LogicalResult dtc::graph::checkOneDim(Operation *op, StringRef name, RankedTensorType type,
                                      int64_t dim) {
  if (dim < 0 || dim >= type.getRank())
    return op->emitOpError() << "works on dim " << dim << ", but '" << name << "' has "
                             << type.getRank() << " dims";
  if (type.isDynamicDim(dim))
    return op->emitOpError() << "works on dim " << dim << " of '" << name << "', which is dynamic";
  return success();
}

LogicalResult dtc::graph::checkDimSet(Operation *op, StringRef name, ArrayRef<int64_t> dims,
                                      int64_t numDims) {
  for (const auto &[i, dim] : llvm::enumerate(dims)) {
    if (dim < 0 || dim >= numDims)
      return op->emitOpError() << "entry " << i << " of '" << name << "' is " << dim
                               << ", but there are " << numDims << " dims";
    if (i > 0 && dims[i - 1] >= dim)
      return op->emitOpError() << "entry " << i << " of '" << name << "' is " << dim << " after "
                               << dims[i - 1] << ", but dims are wanted in ascending order";
  }
  return success();
}

LogicalResult dtc::graph::checkRange(Operation *op, StringRef name, double value, double low,
                                     double high) {
  if (value >= low && value <= high)
    return success();
  return op->emitOpError() << "'" << name << "' is " << numberText(value) << ", but a number from "
                           << numberText(low) << " to " << numberText(high) << " is wanted";
}

LogicalResult dtc::graph::checkIgnoring(Operation *op, std::optional<int64_t> ignoring,
                                        RankedTensorType targets) {
  if (!ignoring || llvm::isIntN(targets.getElementTypeBitWidth(), *ignoring))
    return success();
  return op->emitOpError() << "ignores index " << *ignoring << ", which is no "
                           << targets.getElementType() << ", the element type of 'targets'";
}

LogicalResult dtc::graph::checkKey(Operation *op, bool hasStream, Value seed, Value step) {
  if (hasStream == (seed != nullptr) && hasStream == (step != nullptr))
    return success();
  return op->emitOpError()
         << "has a stream without a key, or a part of one; write 'id n key(%seed, "
            "%step)', or leave it out";
}

FailureOr<SmallVector<int64_t>> dtc::graph::broadcastShapes(Operation *op) {
  int64_t rank = 0;
  for (Value operand : op->getOperands())
    rank = std::max(rank, tensorType(operand).getRank());
  SmallVector<int64_t> shape(rank, 1);
  for (const auto &[i, operand] : llvm::enumerate(op->getOperands())) {
    RankedTensorType type = tensorType(operand);
    int64_t missing = rank - type.getRank();
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      int64_t size = type.getDimSize(dim), &total = shape[missing + dim];
      if (total != 1 && size != 1 && total != size)
        return op->emitOpError() << "dim " << dim << " of operand " << i << " is " << sizeText(size)
                                 << ", but the operands before it have " << sizeText(total)
                                 << " there; equal sizes or 1 are wanted";
      if (total == 1)
        total = size;
    }
  }
  return shape;
}

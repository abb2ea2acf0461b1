#include "dialects/exec/Exec.h"

using namespace mlir;
using namespace dtc::exec;

Splits::Splits(ArrayAttr axesAttr, std::optional<ArrayRef<int64_t>> zigzagAxes) {
  for (auto dim : axesAttr.getAsRange<ArrayAttr>()) {
    axes.emplace_back();
    for (auto axis : dim.getAsRange<IntegerAttr>())
      axes.back().push_back(axis.getInt());
  }
  if (zigzagAxes)
    zigzag.assign(zigzagAxes->begin(), zigzagAxes->end());
}

ArrayAttr Splits::getAxesAttr(MLIRContext *context) const {
  Builder builder(context);
  SmallVector<Attribute> dims;
  for (ArrayRef<int64_t> dim : axes)
    dims.push_back(builder.getI64ArrayAttr(dim));
  return builder.getArrayAttr(dims);
}

DenseI64ArrayAttr Splits::getZigzagAttr(MLIRContext *context) const {
  return zigzag.empty() ? DenseI64ArrayAttr() : DenseI64ArrayAttr::get(context, zigzag);
}

int64_t Splits::getParts(size_t dim, ArrayRef<int64_t> mesh) const {
  int64_t parts = 1;
  for (int64_t axis : axes[dim])
    parts *= mesh[axis];
  return parts;
}

int64_t Splits::getLocalSize(size_t dim, int64_t size, ArrayRef<int64_t> mesh) const {
  auto hasTwo = [&](int64_t axis) { return isZigzag(axis) && mesh[axis] > 1; };
  int64_t pieces = llvm::any_of(axes[dim], hasTwo) ? 2 : 1, all = pieces * getParts(dim, mesh);
  return pieces * (size / all + (size % all != 0));
}

// Returns the buffer of layer 0.
static Value inFirstLayer(Value buffer) {
  auto perLayer = buffer.getDefiningOp<PerLayerOp>();
  return perLayer ? perLayer.getBuffers().front() : buffer;
}

int64_t dtc::exec::getLayers(Operation *instruction) {
  auto repeat = dyn_cast<RepeatOp>(instruction->getParentOp());
  return repeat ? static_cast<int64_t>(repeat.getCount()) : 1;
}

BufferRange dtc::exec::getRange(Value buffer) {
  buffer = inFirstLayer(buffer);
  int64_t bytes = getBytes(buffer), offset = 0, microBatchStride = 0;
  while (auto view = buffer.getDefiningOp<ViewOp>()) {
    offset += view.getOffset();
    microBatchStride += view.getMicroBatchStride();
    buffer = view.getBase();
  }
  return {buffer, offset, bytes, microBatchStride};
}

int64_t dtc::exec::getBytes(Value buffer) {
  buffer = inFirstLayer(buffer);
  if (auto view = buffer.getDefiningOp<ViewOp>())
    return view.getBytes();
  return buffer.getDefiningOp<BufferOp>().getBytes();
}

Type dtc::exec::getDtype(Value buffer) {
  buffer = inFirstLayer(buffer);
  if (auto view = buffer.getDefiningOp<ViewOp>())
    return view.getDtype();
  return buffer.getDefiningOp<BufferOp>().getDtype();
}

StringRef dtc::exec::getName(Value buffer) {
  buffer = inFirstLayer(buffer);
  if (auto view = buffer.getDefiningOp<ViewOp>())
    return view.getName();
  return buffer.getDefiningOp<BufferOp>().getName();
}

bool dtc::exec::isOnHost(Value buffer) {
  return getRange(buffer).root.getDefiningOp<BufferOp>().getHost();
}

int64_t dtc::exec::getElementBytes(Type dtype) {
  return dtype.isIntOrFloat() ? dtype.getIntOrFloatBitWidth() / 8 : 0;
}

bool dtc::exec::hasUnit(Operation *op, StringRef name) {
  std::optional<Attribute> flag = op->getInherentAttr(name);
  return flag && *flag;
}

void dtc::exec::setUnit(Operation *op, StringRef name, bool value) {
  op->setInherentAttr(StringAttr::get(op->getContext(), name),
                      value ? UnitAttr::get(op->getContext()) : UnitAttr());
}

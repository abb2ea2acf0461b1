// Unrolls the repeats of a program, and compares programs.
#include "passes/schedule/UnrollLayers.h"

using namespace mlir;
using namespace dtc;

namespace {
// Returns the attribute of a repeat's instruction in one layer.
Attribute inLayer(Attribute attribute, int64_t layer) {
  if (auto scalar = dyn_cast<exec::RankScalarAttr>(attribute))
    return scalar.getLayerStride() == 0
               ? scalar
               : scalar.withLayers(scalar.getBase() + layer * scalar.getLayerStride(), 0);
  auto array = dyn_cast<ArrayAttr>(attribute);
  if (!array)
    return attribute;
  SmallVector<Attribute> elements;
  for (Attribute element : array)
    elements.push_back(inLayer(element, layer));
  return array.getValue() == ArrayRef(elements) ? array
                                                : ArrayAttr::get(array.getContext(), elements);
}

// Returns the attributes of an instruction in one layer, without its name and the stride of its
// event.
SmallVector<NamedAttribute> attributesIn(exec::InstructionOpInterface op, int64_t layer,
                                         ArrayRef<NamedAttribute> attributes) {
  SmallVector<NamedAttribute> result;
  Builder builder(op.getContext());
  bool hasEvent = isa<exec::RecordOp, exec::WaitOp>(*op);
  for (NamedAttribute named : attributes) {
    if (named.getName() == "name" || (hasEvent && named.getName() == "layer_stride"))
      continue;
    Attribute value = inLayer(named.getValue(), layer);
    if (hasEvent && named.getName() == "event")
      value = builder.getI64IntegerAttr(getEvent(op, layer));
    result.emplace_back(named.getName(), value);
  }
  return result;
}

Value inLayer(Value buffer, int64_t layer) {
  auto perLayer = buffer.getDefiningOp<exec::PerLayerOp>();
  return perLayer ? perLayer.getBuffers()[layer] : buffer;
}

void addLayer(exec::RepeatOp repeat, int64_t layer, OpBuilder &builder) {
  for (auto each : repeat.getBody().getOps<exec::InstructionOpInterface>()) {
    Operation *op = builder.clone(*each);
    for (OpOperand &operand : op->getOpOperands())
      operand.set(inLayer(operand.get(), layer));
    for (NamedAttribute named : attributesIn(each, layer, each->getAttrs()))
      op->setAttr(named.getName(), named.getValue());
    if (isa<exec::RecordOp, exec::WaitOp>(op))
      op->setAttr("layer_stride", builder.getI64IntegerAttr(0));
  }
}

// Calls visit(instruction, layer) for each instruction of a task as often as it runs, in order.
void visitInstructions(exec::TaskOp task,
                       llvm::function_ref<void(exec::InstructionOpInterface, int64_t)> visit) {
  for (Operation &op : task.getBody().front()) {
    auto repeat = dyn_cast<exec::RepeatOp>(op);
    if (!repeat) {
      visit(cast<exec::InstructionOpInterface>(op), 0);
      continue;
    }
    for (int64_t layer = 0; layer < static_cast<int64_t>(repeat.getCount()); ++layer)
      for (auto each : repeat.getBody().getOps<exec::InstructionOpInterface>())
        visit(each, layer);
  }
}
} // namespace

bool dtc::hasLayers(exec::ProgramOp program) {
  return llvm::any_of(program.getBody().getOps<exec::TaskOp>(), [](exec::TaskOp task) {
    return !task.getBody().getOps<exec::RepeatOp>().empty();
  });
}

void dtc::unrollLayers(exec::ProgramOp program) {
  for (auto task : program.getBody().getOps<exec::TaskOp>())
    for (auto repeat : llvm::make_early_inc_range(task.getBody().getOps<exec::RepeatOp>())) {
      OpBuilder builder(repeat);
      for (int64_t layer = 0; layer < static_cast<int64_t>(repeat.getCount()); ++layer)
        addLayer(repeat, layer, builder);
      repeat.erase();
    }
  for (auto perLayer : llvm::make_early_inc_range(program.getBody().getOps<exec::PerLayerOp>()))
    perLayer.erase();
}

int64_t dtc::getEvent(exec::InstructionOpInterface instruction, int64_t layer, int64_t microBatch) {
  auto eventOf = [&](auto op) {
    return static_cast<int64_t>(op.getEvent()) + layer * static_cast<int64_t>(op.getLayerStride()) +
           std::max<int64_t>(microBatch, 0) % static_cast<int64_t>(op.getSlots());
  };
  if (auto record = dyn_cast<exec::RecordOp>(*instruction))
    return eventOf(record);
  auto wait = dyn_cast<exec::WaitOp>(*instruction);
  return wait ? eventOf(wait) : -1;
}

std::vector<UnrolledInstruction> dtc::listUnrolled(exec::ProgramOp program) {
  std::vector<UnrolledInstruction> list;
  // caches dictionaries, which take time to make from properties
  llvm::DenseMap<Operation *, DictionaryAttr> attributes;
  for (auto task : program.getBody().getOps<exec::TaskOp>())
    visitInstructions(task, [&](exec::InstructionOpInterface op, int64_t layer) {
      DictionaryAttr &all = attributes[op];
      if (!all)
        all = op->getAttrDictionary();
      UnrolledInstruction &item = list.emplace_back(
          UnrolledInstruction{op->getName(), attributesIn(op, layer, all.getValue()), {}});
      for (Value operand : op->getOperands())
        item.operands.push_back(inLayer(operand, layer));
    });
  return list;
}

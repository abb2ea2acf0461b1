// Replaces consecutive repetitions by one repeat (pass dtc-roll-layers).
#include "passes/schedule/Dependences.h"
#include "passes/schedule/ExecutionLabels.h"
#include "passes/schedule/Passes.h"
#include "passes/schedule/RepeatSearch.h"
#include "passes/schedule/UnrollLayers.h"

#include "llvm/ADT/StringMap.h"

#include <map>

namespace dtc {
#define GEN_PASS_DEF_ROLLLAYERS
#include "passes/schedule/Passes.h.inc"
} // namespace dtc

using namespace mlir;
using namespace dtc;

namespace {
// Sorts instructions into kinds: the kind holds everything that a repeat keeps of an instruction;
// the numbers hold what may differ from layer to layer.
class Kinds {
public:
  ListItem itemOf(Operation &op) {
    ListItem item;
    key.clear();
    add(op.getName().getAsOpaquePointer());
    for (NamedAttribute named : op.getAttrs()) {
      if (named.getName() == "name")
        continue;
      add(named.getName().getAsOpaquePointer());
      add(keyOf(op, named, item.numbers).getAsOpaquePointer());
    }
    for (Value buffer : op.getOperands()) {
      exec::BufferRange range = exec::getRange(buffer);
      exec::BufferOp root = getRootOp(buffer);
      item.numbers.push_back(static_cast<int64_t>(*root.getOffset()) + range.offset);
      add(exec::getDtype(buffer).getAsOpaquePointer());
      add(range.bytes);
      add(range.microBatchStride);
      add(root.getKind());
      add(root.getSlots().value_or(0));
      add(root.getHost());
    }
    item.kind = kinds.try_emplace(key, kinds.size()).first->second;
    return item;
  }

private:
  template <typename T> void add(const T &value) {
    key.append(reinterpret_cast<const char *>(&value), sizeof(value));
  }

  static Attribute withoutBase(Attribute attribute, std::vector<int64_t> &numbers) {
    if (auto scalar = dyn_cast<exec::RankScalarAttr>(attribute)) {
      numbers.push_back(scalar.getBase());
      return scalar.withLayers(0, 0);
    }
    auto array = dyn_cast<ArrayAttr>(attribute);
    if (!array)
      return attribute;
    return ArrayAttr::get(array.getContext(), llvm::map_to_vector(array, [&](Attribute element) {
                            return withoutBase(element, numbers);
                          }));
  }

  static Attribute keyOf(Operation &op, NamedAttribute named, std::vector<int64_t> &numbers) {
    if (!isa<exec::RecordOp, exec::WaitOp>(op) || named.getName() != "event")
      return withoutBase(named.getValue(), numbers);
    numbers.push_back(cast<IntegerAttr>(named.getValue()).getInt());
    return UnitAttr::get(op.getContext());
  }

  std::string key; // the bytes of everything that defines a kind
  llvm::StringMap<unsigned> kinds;
};

// Rolls the instructions of a task: erases those of all layers except the first.
class Rolling {
public:
  Rolling(exec::ProgramOp program, exec::TaskOp task)
      : declarations(*program.getBody().getOps<exec::TaskOp>().begin()) {
    for (Operation &op : task.getBody().front())
      instructions.push_back(&op);
  }

  void roll(const FoundRepeat &found) {
    OpBuilder builder(instructions[found.begin]);
    auto repeat = exec::RepeatOp::create(builder, instructions[found.begin]->getLoc(), found.count);
    for (unsigned i = 0; i < found.period; ++i) {
      SmallVector<Operation *> layers;
      for (unsigned layer = 0; layer < found.count; ++layer)
        layers.push_back(instructions[found.begin + layer * found.period + i]);
      rollOne(layers);
      layers[0]->moveBefore(&repeat.getBody().front(), repeat.getBody().front().end());
      for (Operation *other : llvm::drop_begin(layers))
        other->erase();
    }
  }

private:
  void rollOne(ArrayRef<Operation *> layers) {
    Operation *first = layers[0], *second = layers[1];
    for (NamedAttribute named : first->getAttrs())
      if (Attribute rolled = withStride(named.getValue(), second->getAttr(named.getName()));
          rolled != named.getValue())
        first->setAttr(named.getName(), rolled);
    if (auto record = dyn_cast<exec::RecordOp>(first))
      setStride(record, cast<exec::RecordOp>(second));
    if (auto wait = dyn_cast<exec::WaitOp>(first))
      setStride(wait, cast<exec::WaitOp>(second));
    for (unsigned i = 0; i < first->getNumOperands(); ++i)
      first->setOperand(i, perLayer(llvm::map_to_vector(
                               layers, [&](Operation *op) { return op->getOperand(i); })));
  }

  static Attribute withStride(Attribute first, Attribute second) {
    if (auto scalar = dyn_cast<exec::RankScalarAttr>(first))
      return scalar.withLayers(scalar.getBase(),
                               cast<exec::RankScalarAttr>(second).getBase() - scalar.getBase());
    auto array = dyn_cast<ArrayAttr>(first);
    if (!array)
      return first;
    SmallVector<Attribute> elements;
    for (auto [a, b] : llvm::zip(array, cast<ArrayAttr>(second)))
      elements.push_back(withStride(a, b));
    return ArrayAttr::get(first.getContext(), elements);
  }

  template <typename Op> static void setStride(Op first, Op second) {
    first.setLayerStride(static_cast<int64_t>(second.getEvent()) -
                         static_cast<int64_t>(first.getEvent()));
  }

  Value perLayer(ArrayRef<Value> buffers) {
    if (llvm::all_equal(buffers))
      return buffers[0];
    std::vector<const void *> key;
    for (Value buffer : buffers)
      key.push_back(buffer.getAsOpaquePointer());
    Value &known = made[key];
    if (!known) {
      OpBuilder builder(declarations);
      std::string name = (exec::getName(buffers[0]) + " x" + Twine(buffers.size())).str();
      known = exec::PerLayerOp::create(builder, buffers[0].getLoc(), buffers[0].getType(), buffers,
                                       name);
    }
    return known;
  }

  Operation *declarations; // declarations are inserted before this op
  std::vector<Operation *> instructions;
  std::map<std::vector<const void *>, Value> made;
};

struct RollLayers : dtc::impl::RollLayersBase<RollLayers> {
  using RollLayersBase::RollLayersBase;

  void runOnOperation() override {
    exec::ProgramOp program = getOperation();
    for (auto buffer : program.getBody().getOps<exec::BufferOp>())
      if (!buffer.getOffset()) {
        buffer.emitOpError() << "'" << buffer.getName()
                             << "' has no offset; run dtc-plan-memory first";
        return signalPassFailure();
      }
    program.walk([](exec::CollectiveOp collective) { collective->removeAttr(kExecutionLabel); });
    std::vector<UnrolledInstruction> before = listUnrolled(program);
    roll(program);
    if (listUnrolled(program) == before)
      return;
    program.emitOpError() << "does not do with repeats what it did without";
    signalPassFailure();
  }

  void roll(exec::ProgramOp program) {
    Kinds kinds;
    for (auto task : program.getBody().getOps<exec::TaskOp>()) {
      std::vector<ListItem> items;
      for (Operation &op : task.getBody().front())
        items.push_back(kinds.itemOf(op));
      Rolling rolling(program, task);
      for (const FoundRepeat &found :
           findRepeats(items, static_cast<unsigned>(std::max<int64_t>(minSaved, 1)))) {
        rolling.roll(found);
        ++repeats;
        saved += found.saved();
      }
    }
  }
};
} // namespace

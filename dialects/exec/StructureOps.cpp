// Implements programs, buffers, kernels and declarations: names, builders and verifiers.
#include "dialects/exec/Exec.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace dtc::exec;

namespace {
int64_t product(ArrayRef<int64_t> values) {
  int64_t result = 1;
  for (int64_t value : values)
    result *= value;
  return result;
}

LogicalResult verifyDtype(Operation *op, Type dtype, int64_t bytes) {
  int64_t elementBytes = getElementBytes(dtype);
  if (elementBytes == 0)
    return op->emitOpError() << "has element type " << dtype << "; want a float or integer";
  if (bytes <= 0 || bytes % elementBytes != 0)
    return op->emitOpError() << "has " << bytes << " bytes; want a positive whole number of "
                             << dtype << " of " << elementBytes << " bytes";
  return success();
}

// Checks program_c6.
LogicalResult verifyMemory(InstructionOpInterface instruction) {
  Operation *op = instruction;
  auto onHost = llvm::count_if(op->getOperands(), isOnHost);
  if (onHost == 0)
    return success();
  bool works = isa<LaunchOp, ZeroOp>(op), copies = isa<CopyOp>(op) && !instruction.accumulates();
  if (copies || (onHost == op->getNumOperands() && (works || isa<CopyOp>(op))))
    return success();
  Value there = *llvm::find_if(op->getOperands(), isOnHost);
  return op->emitOpError() << "uses '" << dtc::exec::getName(there)
                           << "' of the host's memory; want "
                           << (works || isa<CopyOp>(op) ? "all its buffers in one memory"
                                                        : "buffers of the device's");
}

// Checks the instructions of a task or of a repeat in it.
LogicalResult verifyInstructions(ProgramOp program, Block &block) {
  for (Operation &inside : block) {
    if (auto repeat = dyn_cast<RepeatOp>(inside)) {
      if (failed(verifyInstructions(program, repeat.getBody().front())))
        return failure();
      continue;
    }
    auto instruction = dyn_cast<InstructionOpInterface>(inside);
    if (!instruction) // program_c3
      return inside.emitOpError() << "is no instruction; put it in front of the tasks";
    int64_t stream = instruction.getInstructionStream();
    auto streams = static_cast<int64_t>(program.getStreams());
    if (stream < 0 || stream >= streams) // program_c2
      return inside.emitOpError() << "runs on stream " << stream << "; the program has " << streams
                                  << (streams == 1 ? " stream" : " streams");
    if (failed(verifyMemory(instruction)))
      return failure();
  }
  return success();
}

// Returns the offset in the arena; nullopt before memory is planned.
std::optional<int64_t> offsetOf(Value buffer) {
  BufferRange range = getRange(buffer);
  std::optional<uint64_t> offset = range.root.getDefiningOp<BufferOp>().getOffset();
  return offset ? std::optional(static_cast<int64_t>(*offset) + range.offset) : std::nullopt;
}

// Checks that the axes exist, each occurs once, and each dim has at most one zigzag axis.
LogicalResult verifySplits(Operation *op, const Splits &splits, size_t numDims) {
  ArrayRef<int64_t> mesh = op->getParentOfType<ProgramOp>().getAxisSizes();
  if (splits.axes.size() != numDims)
    return op->emitOpError() << "has axes of " << splits.axes.size() << " dims for " << numDims
                             << " dims";
  llvm::SmallDenseSet<int64_t> used;
  size_t numZigzag = 0;
  for (auto [dim, axes] : llvm::enumerate(splits.axes)) {
    for (int64_t axis : axes) {
      if (axis < 0 || axis >= static_cast<int64_t>(mesh.size()))
        return op->emitOpError() << "splits dim " << dim << " over mesh axis " << axis
                                 << "; the mesh has " << mesh.size() << " axes";
      if (!used.insert(axis).second) // parameter_c4, state_c4
        return op->emitOpError() << "splits two dims over mesh axis " << axis;
    }
    auto ofDim = llvm::count_if(axes, [&](int64_t axis) { return splits.isZigzag(axis); });
    if (ofDim > 1) // parameter_c5, state_c5
      return op->emitOpError() << "splits dim " << dim << " zigzag over " << ofDim
                               << " mesh axes; want one at most";
    numZigzag += ofDim;
  }
  if (numZigzag != splits.zigzag.size()) // parameter_c5, state_c5
    return op->emitOpError() << "has zigzag axes [" << splits.zigzag
                             << "], some of which split no dim";
  return success();
}

template <typename Op> LogicalResult verifyTensor(Op op) {
  Splits splits(op.getAxes(), op.getZigzag());
  if (failed(verifySplits(op, splits, op.getGlobalShape().size())))
    return failure();
  ArrayRef<int64_t> mesh = op->template getParentOfType<ProgramOp>().getAxisSizes();
  SmallVector<int64_t> want;
  for (auto [dim, size] : llvm::enumerate(op.getGlobalShape()))
    want.push_back(splits.getLocalSize(dim, size, mesh));
  if (!llvm::equal(want, op.getLocalShape()))
    return op.emitOpError() << "'" << op.getName() << "' has local shape [" << op.getLocalShape()
                            << "]; global shape, axes and mesh give [" << want << "]";
  int64_t bytes = product(want) * getElementBytes(getDtype(op.getBuffer()));
  if (bytes != getBytes(op.getBuffer()))
    return op.emitOpError() << "'" << op.getName() << "' has a buffer of "
                            << getBytes(op.getBuffer()) << " bytes; its local shape takes " << bytes
                            << " bytes";
  if (product(op.getStoredShape()) != product(op.getGlobalShape()))
    return op.emitOpError() << "'" << op.getName() << "' is stored as [" << op.getStoredShape()
                            << "], which has another number of elements than ["
                            << op.getGlobalShape() << "]";
  return success();
}
} // namespace

void ProgramOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                      ArrayAttr axisNames, ArrayRef<int64_t> axisSizes) {
  state.addAttribute(getSymNameAttrName(state.name), builder.getStringAttr(name));
  state.addAttribute(getAxisNamesAttrName(state.name), axisNames);
  state.addAttribute(getAxisSizesAttrName(state.name), builder.getDenseI64ArrayAttr(axisSizes));
  state.addRegion()->emplaceBlock();
}

int64_t ProgramOp::getNumRanks() { return product(getAxisSizes()); }

SmallVector<int64_t> ProgramOp::getClass() {
  return getRanks() ? SmallVector<int64_t>(*getRanks())
                    : llvm::to_vector(llvm::seq<int64_t>(0, getNumRanks()));
}

LogicalResult ProgramOp::verify() {
  if (getAxisNames().size() != getAxisSizes().size()) // program_c1
    return emitOpError() << "names " << getAxisNames().size() << " mesh axes and gives sizes of "
                         << getAxisSizes().size();
  for (auto [name, size] : llvm::zip(getAxisNames(), getAxisSizes()))
    if (size < 1) // program_c1
      return emitOpError() << "has mesh axis " << name << " of size " << size << "; want 1 or more";
  if (getStreams() < 1 || getStreams() > 255) // program_c2
    return emitOpError() << "has " << getStreams() << " streams; want 1 to 255";
  if (getEvents() < 0)
    return emitOpError() << "has " << getEvents() << " events; want 0 or more";
  if (getMicroBatches() < 1) // program_c4
    return emitOpError() << "has " << getMicroBatches() << " micro-batches; want 1 or more";
  if (!getRanks())
    return success();
  ArrayRef<int64_t> ranks = *getRanks();
  int64_t last = -1;
  for (int64_t rank : ranks) {
    if (rank <= last || rank >= getNumRanks()) // program_c5
      return emitOpError() << "is for ranks [" << ranks << "]; want ascending ones of "
                           << getNumRanks();
    last = rank;
  }
  if (last < 0) // program_c5
    return emitOpError() << "is for no rank";
  return success();
}

LogicalResult ProgramOp::verifyRegions() {
  for (Operation &op : getBody().front()) {
    if (op.getDialect() != getOperation()->getDialect())
      return op.emitOpError() << "is not an op of an exec.program";
    if (isa<InstructionOpInterface>(op)) // program_c3
      return op.emitOpError() << "is an instruction outside of a task; put it into an exec.task";
    auto task = dyn_cast<TaskOp>(op);
    if (!task)
      continue;
    if (failed(verifyInstructions(*this, task.getBody().front())))
      return failure();
  }
  return success();
}

void TaskOp::build(OpBuilder &builder, OperationState &state, StringRef name, bool perMicroBatch) {
  state.addAttribute(getSymNameAttrName(state.name), builder.getStringAttr(name));
  if (perMicroBatch)
    state.addAttribute(getPerMicroBatchAttrName(state.name), builder.getUnitAttr());
  state.addRegion()->emplaceBlock();
}

bool TaskOp::isRepeated() {
  return getPerMicroBatch() && (*this)->getParentOfType<ProgramOp>().getMicroBatches() > 1;
}

// Parses `[` (`@` task micro-batch?),* `]`.
static ParseResult parseOrder(OpAsmParser &parser, ArrayAttr &tasks,
                              DenseI64ArrayAttr &microBatches) {
  SmallVector<Attribute> symbols;
  SmallVector<int64_t> ofMicroBatch;
  auto parseRun = [&]() -> ParseResult {
    StringAttr task;
    if (parser.parseSymbolName(task))
      return failure();
    symbols.push_back(FlatSymbolRefAttr::get(task));
    int64_t microBatch = -1;
    OptionalParseResult hasMicroBatch = parser.parseOptionalInteger(microBatch);
    if (hasMicroBatch.has_value() && failed(*hasMicroBatch))
      return failure();
    ofMicroBatch.push_back(microBatch);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseRun))
    return failure();
  Builder &builder = parser.getBuilder();
  tasks = builder.getArrayAttr(symbols);
  microBatches = builder.getDenseI64ArrayAttr(ofMicroBatch);
  return success();
}

static void printOrder(OpAsmPrinter &printer, EntryOp, ArrayAttr tasks,
                       DenseI64ArrayAttr microBatches) {
  printer << '[';
  llvm::interleaveComma(llvm::zip(tasks, microBatches.asArrayRef()), printer, [&](auto run) {
    auto [task, microBatch] = run;
    printer << task;
    if (microBatch >= 0)
      printer << ' ' << microBatch;
  });
  printer << ']';
}

LogicalResult EntryOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto program = (*this)->getParentOfType<ProgramOp>();
  if (getTasks().size() != getMicroBatches().size())
    return emitOpError() << "has " << getTasks().size() << " tasks and " << getMicroBatches().size()
                         << " micro-batches; want one of each a run";
  llvm::SmallDenseSet<std::pair<Attribute, int64_t>> seen;
  for (auto [symbol, microBatch] :
       llvm::zip(getTasks().getAsRange<FlatSymbolRefAttr>(), getMicroBatches())) {
    auto task = symbols.lookupNearestSymbolFrom<TaskOp>(program, symbol);
    if (!task) // entry_c1
      return emitOpError() << "runs " << symbol << ", which is no task of the program";
    bool inRange =
        task.getPerMicroBatch()
            ? microBatch >= 0 && microBatch < static_cast<int64_t>(program.getMicroBatches())
            : microBatch == -1;
    if (!inRange) { // entry_c1
      InFlightDiagnostic diagnostic = emitOpError() << "runs " << symbol;
      if (microBatch >= 0)
        diagnostic << " for micro-batch " << microBatch;
      return diagnostic << "; want " << (task.getPerMicroBatch() ? "one of the program's " : "none")
                        << (task.getPerMicroBatch() ? Twine(program.getMicroBatches()).str() : "");
    }
    if (!seen.insert({symbol, microBatch}).second) // entry_c2
      return emitOpError() << "runs " << symbol << " twice for one micro-batch";
  }
  return success();
}

void BufferOp::getAsmResultNames(function_ref<void(Value, StringRef)> setName) {
  setName(getResult(), getName());
}

int64_t BufferOp::getSlotStride() {
  constexpr int64_t alignment = 64;
  return (static_cast<int64_t>(getBytes()) + alignment - 1) / alignment * alignment;
}

int64_t BufferOp::getAllBytes() {
  auto others = static_cast<int64_t>(getSlots().value_or(1)) - 1;
  return others * getSlotStride() + static_cast<int64_t>(getBytes());
}

LogicalResult BufferOp::verify() {
  if (failed(verifyDtype(*this, getDtype(), getBytes()))) // buffer_c1
    return failure();
  if (getPersistent() + getCarried() + getSlots().has_value() > 1) // buffer_c4
    return emitOpError() << "'" << getName()
                         << "' is more than one of persistent, carried and of slots";
  if (getSlots().value_or(1) < 1) // buffer_c4
    return emitOpError() << "'" << getName() << "' has " << *getSlots() << " slots; want 1 or more";
  if (getHost() && llvm::is_contained({BufferKind::Parameter, BufferKind::Gradient,
                                       BufferKind::Input, BufferKind::Output},
                                      getKind())) // buffer_c5
    return emitOpError() << "'" << getName() << "' is of kind " << stringifyBufferKind(getKind())
                         << ", which is in the memory of the device";
  if (!getOffset())
    return success();
  int64_t offset = *getOffset();
  if (offset < 0 || offset % 64 != 0) // buffer_c2
    return emitOpError() << "'" << getName() << "' is at " << offset
                         << "; want a multiple of 64 bytes";
  auto program = (*this)->getParentOfType<ProgramOp>();
  if (!program.getArenaBytes())
    return success();
  uint64_t arena = getHost() ? program.getHostBytes() : *program.getArenaBytes();
  int64_t end = offset + getAllBytes();
  if (static_cast<uint64_t>(end) > arena) // buffer_c3
    return emitOpError() << "'" << getName() << "' ends at " << end << " bytes; the arena "
                         << (getHost() ? "of the host " : "") << "has " << arena << " bytes";
  return success();
}

void ViewOp::getAsmResultNames(function_ref<void(Value, StringRef)> setName) {
  setName(getResult(), getName());
}

LogicalResult ViewOp::verify() {
  if (failed(verifyDtype(*this, getDtype(), getBytes())))
    return failure();
  int64_t offset = getOffset(), bytes = getBytes(), base = dtc::exec::getBytes(getBase());
  int64_t stride = getMicroBatchStride();
  auto program = (*this)->getParentOfType<ProgramOp>();
  int64_t reach = stride * (program ? static_cast<int64_t>(program.getMicroBatches()) - 1 : 0);
  if (offset < 0 || stride < 0 || offset > base || bytes > base - offset ||
      reach > base - offset - bytes) // view_c1
    return emitOpError() << "'" << getName() << "' takes " << bytes << " bytes from " << offset
                         << " on; '" << dtc::exec::getName(getBase()) << "' has " << base
                         << " bytes";
  return success();
}

void PerLayerOp::getAsmResultNames(function_ref<void(Value, StringRef)> setName) {
  setName(getResult(), getName());
}

int64_t PerLayerOp::getStride() {
  if (getBuffers().size() == 1)
    return 0;
  return offsetOf(getBuffers()[1]).value_or(0) - offsetOf(getBuffers()[0]).value_or(0);
}

LogicalResult PerLayerOp::verify() {
  if (getBuffers().empty()) // per_layer_c1
    return emitOpError() << "'" << getName() << "' has no buffers";
  Value first = getBuffers().front();
  for (Value buffer : getBuffers())
    if (buffer.getDefiningOp<PerLayerOp>()) // per_layer_c1
      return emitOpError() << "'" << getName() << "' has a buffer that is per layer itself";
  auto kindOf = [](Value buffer) {
    BufferRange range = getRange(buffer);
    auto root = range.root.getDefiningOp<BufferOp>();
    return std::tuple(range.bytes, getDtype(buffer), range.microBatchStride, root.getKind(),
                      root.getSlots().value_or(0), root.getHost());
  };
  int64_t start = offsetOf(first).value_or(-1);
  for (auto [layer, buffer] : llvm::enumerate(getBuffers())) {
    if (kindOf(buffer) != kindOf(first)) // per_layer_c1
      return emitOpError() << "'" << getName() << "' has '" << dtc::exec::getName(buffer)
                           << "' in layer " << layer << ", which is not like '"
                           << dtc::exec::getName(first) << "' in layer 0";
    int64_t begin = offsetOf(buffer).value_or(-1);
    int64_t want = start + static_cast<int64_t>(layer) * getStride();
    if (begin != want) // per_layer_c2
      return emitOpError() << "'" << getName() << "' has '" << dtc::exec::getName(buffer) << "' at "
                           << begin << " in layer " << layer << "; want " << want;
  }
  for (Operation *user : getResult().getUsers())
    if (!isa<RepeatOp>(user->getParentOp())) // per_layer_c3
      return user->emitOpError() << "uses '" << getName()
                                 << "', of which each layer has another, outside of an exec.repeat";
  return success();
}

void RepeatOp::build(OpBuilder &builder, OperationState &state, int64_t count) {
  state.addAttribute(getCountAttrName(state.name), builder.getI64IntegerAttr(count));
  state.addRegion()->emplaceBlock();
}

LogicalResult RepeatOp::verify() {
  auto count = static_cast<int64_t>(getCount());
  if (count < 2 || getBody().front().empty()) // repeat_c1
    return emitOpError() << "runs " << getBody().front().getOperations().size() << " instructions "
                         << count << " times; want some, twice or more";
  return success();
}

LogicalResult RepeatOp::verifyRegions() {
  for (Operation &op : getBody().front())
    for (Value operand : op.getOperands())
      if (auto perLayer = operand.getDefiningOp<PerLayerOp>();
          perLayer && perLayer.getBuffers().size() != getCount()) // repeat_c2
        return op.emitOpError() << "uses '" << perLayer.getName() << "' of "
                                << perLayer.getBuffers().size() << " layers in a repeat of "
                                << getCount();
  return success();
}

LogicalResult KernelOp::verify() {
  for (Attribute pair : getInPlace().value_or(ArrayAttr::get(getContext(), {}))) {
    auto indices = dyn_cast<DenseI64ArrayAttr>(pair);
    if (!indices || indices.size() != 2 || indices[0] < 0 || indices[1] < 0)
      return emitOpError() << "has " << pair << " in 'in_place'; want array<i64: result, operand>";
  }
  return success();
}

LogicalResult ParameterOp::verify() { return verifyTensor(*this); }
LogicalResult StateOp::verify() { return verifyTensor(*this); }
LogicalResult GradientOp::verify() { return verifyTensor(*this); }

LogicalResult InputOp::verify() {
  if (getShape().size() < 2) // input_c2
    return emitOpError() << "has shape [" << getShape()
                         << "]; want dims for micro-batches, samples and those of a sample";
  if (failed(verifySplits(*this, Splits(getAxes(), getZigzag()), getShape().size())))
    return failure(); // input_c2
  int64_t bytes = product(getShape()) * getElementBytes(getDtype(getBuffer()));
  if (bytes != getBytes(getBuffer())) // input_c1
    return emitOpError() << "'" << getName() << "' of shape [" << getShape() << "] takes " << bytes
                         << " bytes; its buffer has " << getBytes(getBuffer()) << " bytes";
  return success();
}

LogicalResult ScalarOp::verify() {
  bool isSeed = getRole() == ScalarRole::Seed;
  Type found = getDtype(getBuffer());
  int64_t bytes = getBytes(getBuffer());
  if ((isSeed ? found.isInteger(64) && bytes == 8 : found.isF32() && bytes == 4)) // scalar_c1
    return success();
  return emitOpError() << stringifyScalarRole(getRole()) << " is in a buffer of " << bytes
                       << " bytes of " << found << "; want one " << (isSeed ? "i64" : "f32");
}

LogicalResult OutputOp::verify() {
  if (!getDtype(getBuffer()).isF32() || getBytes(getBuffer()) != 4) // output_c1
    return emitOpError() << stringifyOutputRole(getRole()) << " is in a buffer of "
                         << getBytes(getBuffer()) << " bytes of " << getDtype(getBuffer())
                         << "; want one f32";
  return success();
}

#define GET_OP_CLASSES
#include "dialects/exec/StructureOps.cpp.inc"

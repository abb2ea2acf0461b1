// Exec lowering of reads and writes of parameters, of the runtime's scalars, and of calls of
// generated kernels.
#include "passes/schedule/ExecEmitter.h"
#include "passes/schedule/ExecLoweringInterface.h"

#include "mlir/IR/MLIRContext.h"

using namespace mlir;
using namespace dtc;

namespace {
// Returns the buffer of a parameter or state, which must have the local type. Emits a diagnostic if
// there is none.
FailureOr<Value> tensorBuffer(Operation *op, StringRef name, Type type, ExecEmitter &emitter) {
  Value buffer = emitter.lookupTensor(name);
  if (!buffer)
    return op->emitOpError() << "names '" << name << "', which is neither a parameter nor a state";
  auto tensor = cast<RankedTensorType>(type);
  int64_t bytes = tensor.getNumElements() * exec::getElementBytes(tensor.getElementType());
  if (bytes != exec::getBytes(buffer))
    return op->emitOpError() << "has '" << name << "' as " << type << ", " << bytes
                             << " bytes; its placement leaves " << exec::getBytes(buffer)
                             << " bytes on a rank";
  return buffer;
}

struct LowerGet : ExecLoweringInterface::ExternalModel<LowerGet, graph::GetOp> {
  LogicalResult lowerToExec(Operation *op, ExecEmitter &emitter) const {
    auto get = cast<graph::GetOp>(op);
    FailureOr<Value> buffer = tensorBuffer(op, get.getSymbol(), get.getType(), emitter);
    if (failed(buffer))
      return failure();
    emitter.alias(get.getResult(), *buffer);
    return success();
  }
};

// Writes the new value at the end of the step: every read means the value at the step's start,
// wherever it stands.
struct LowerSet : ExecLoweringInterface::ExternalModel<LowerSet, graph::SetOp> {
  LogicalResult lowerToExec(Operation *op, ExecEmitter &emitter) const {
    auto set = cast<graph::SetOp>(op);
    FailureOr<Value> buffer = tensorBuffer(op, set.getSymbol(), set.getValue().getType(), emitter);
    if (failed(buffer))
      return failure();
    emitter.setAtEnd(emitter.lookup(set.getValue()), *buffer);
    return success();
  }
};

struct LowerInput : ExecLoweringInterface::ExternalModel<LowerInput, graph::InputOp> {
  LogicalResult lowerToExec(Operation *op, ExecEmitter &emitter) const {
    auto input = cast<graph::InputOp>(op);
    std::optional<exec::ScalarRole> role =
        exec::symbolizeScalarRole(graph::stringifyInputRole(input.getRole()));
    assert(role && "both dialects have the same roles");
    Type dtype = cast<RankedTensorType>(input.getType()).getElementType();
    emitter.alias(input.getResult(), emitter.lookupScalar(*role, dtype));
    return success();
  }
};

struct LowerCall : ExecLoweringInterface::ExternalModel<LowerCall, graph::CallOp> {
  LogicalResult lowerToExec(Operation *op, ExecEmitter &emitter) const {
    auto call = cast<graph::CallOp>(op);
    graph::FuncOp kernel = emitter.lookupFunction(call.getCalleeAttr());
    if (!kernel || !kernel.getKernel())
      return op->emitOpError() << "calls '" << call.getCallee()
                               << "', which is not a kernel; run dtc-inline-blocks first";
    auto range = kernel->getAttrOfType<IntegerAttr>("kernel_range");
    if (!range)
      return op->emitOpError() << "calls kernel '" << call.getCallee()
                               << "', which lacks 'kernel_range'; dtc-form-kernels sets it";
    FailureOr<SmallVector<Attribute>> scalars = kernelScalars(op, kernel, emitter);
    if (failed(scalars))
      return failure();
    if (auto streams = call.getStreams()) {
      scalars->push_back(emitter.firstSample());
      for (int64_t stream : *streams)
        scalars->push_back(emitter.constant(stream));
    }
    SmallVector<Value> inputs, outputs;
    SmallVector<int64_t> bytes;
    for (Value operand : call.getOperands())
      inputs.push_back(emitter.lookup(operand));
    for (Value result : call.getResults())
      outputs.push_back(emitter.define(result));
    for (ValueRange group : {ValueRange(inputs), ValueRange(outputs)})
      for (Value buffer : group)
        bytes.push_back(exec::getBytes(buffer));
    auto points = kernel->getAttrOfType<IntegerAttr>("kernel_points");
    emitter.declareKernel(call.getCalleeAttr(), bytes, scalars->size(),
                          points ? points.getInt() : 1, kernel->hasAttr("kernel_combines"),
                          kernel->getAttrOfType<ArrayAttr>("kernel_in_place"));
    exec::LaunchOp::create(
        emitter.instructions(), call.getCallee(), inputs, outputs, range.getInt(),
        scalars->empty() ? ArrayAttr() : ArrayAttr::get(op->getContext(), *scalars),
        op->getAttrOfType<DenseI64ArrayAttr>("kernel_shares"), /*stream=*/0);
    return success();
  }

private:
  static FailureOr<SmallVector<Attribute>> kernelScalars(Operation *op, graph::FuncOp kernel,
                                                         ExecEmitter &emitter) {
    SmallVector<Attribute> scalars;
    auto windows = kernel->getAttrOfType<ArrayAttr>("kernel_scalars");
    if (!windows)
      return scalars;
    for (auto window : windows.getAsRange<graph::WindowAttr>()) {
      auto starts = emitter.pieceStarts(op, window);
      if (failed(starts))
        return failure();
      scalars.append(starts->begin(), starts->end());
    }
    return scalars;
  }
};
} // namespace

void dtc::registerStructureLowering(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, graph::GraphDialect *) {
    graph::GetOp::attachInterface<LowerGet>(*context);
    graph::SetOp::attachInterface<LowerSet>(*context);
    graph::InputOp::attachInterface<LowerInput>(*context);
    graph::CallOp::attachInterface<LowerCall>(*context);
  });
}

void dtc::registerExecLowering(DialectRegistry &registry) {
  registerStructureLowering(registry);
  registerLibraryLowering(registry);
  registerShapeLowering(registry);
  registerCollectiveLowering(registry);
  registerTransferLowering(registry);
}

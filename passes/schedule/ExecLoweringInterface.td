// The interface for lowering an op of the step to instructions; attached to ops of other dialects
// as external models.
include "mlir/IR/OpBase.td"

def ExecLoweringInterface : OpInterface<"ExecLoweringInterface"> {
  let cppNamespace = "::dtc";
  let description = "Says how an op on static local tensors becomes instructions over buffers.";
  let methods = [InterfaceMethod<[{
      Emits the op's instructions and gives every result a buffer, by ExecEmitter::define or ExecEmitter::alias.
      Emits a diagnostic where it fails.
    }], "::llvm::LogicalResult", "lowerToExec", (ins "::dtc::ExecEmitter &":$emitter)>];
}

// The interface of ops that become a kernel but are not pointwise; attached to graph ops from
// outside of their dialect.
#ifndef DTC_CODEGEN_KERNEL_OP_INTERFACE_TD
#define DTC_CODEGEN_KERNEL_OP_INTERFACE_TD

include "mlir/IR/OpBase.td"

def KernelOpInterface : OpInterface<"KernelOpInterface"> {
  let cppNamespace = "::dtc";
  let description = [{
    An op that becomes a generated kernel of its own: rows, reductions and the like. Its work is cut into units that
    are independent of each other, so that the runtime may run ranges of them on several threads.
  }];
  let methods = [
    InterfaceMethod<"Returns the number of units.", "int64_t", "getKernelRange">,
    InterfaceMethod<"Returns the unit of work: by default rows of the first operand whose points are combined.",
      "::dtc::KernelUnit", "getKernelUnit", (ins), "",
      "return ::dtc::RowShape::of($_op->getOperand(0)).unit(/*combines=*/true);">,
    InterfaceMethod<"Returns pairs (result, operand) whose buffers may be the same memory.",
      "::llvm::SmallVector<std::pair<int64_t, int64_t>>", "getInPlacePairs", (ins), "", "return {};">,
    InterfaceMethod<"Emits the loops over the units that `kernel` names.", "void", "emitKernel",
      (ins "::dtc::KernelBuilder &":$kernel)>];
}
#endif

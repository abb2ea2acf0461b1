// What ops that are not pointwise say about the kernel they become; attached to graph ops from outside.
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
    InterfaceMethod<"Number of units.", "int64_t", "getKernelRange">,
    InterfaceMethod<"What a unit is; rows of the first operand, the points of which belong together, unless it says another.",
      "::dtc::KernelUnit", "getKernelUnit", (ins), "",
      "return ::dtc::RowShape::of($_op->getOperand(0)).unit(/*combines=*/true);">,
    InterfaceMethod<"Pairs (result, operand) whose buffers may be the same memory.",
      "::llvm::SmallVector<std::pair<int64_t, int64_t>>", "getInPlacePairs", (ins), "", "return {};">,
    InterfaceMethod<"Emits the loops over the units that `kernel` names.", "void", "emitKernel",
      (ins "::dtc::KernelBuilder &":$kernel)>];
}
#endif

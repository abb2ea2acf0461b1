// Passes of the codegen phase.
include "mlir/Pass/PassBase.td"

def SplitSums : Pass<"dtc-split-sums", "::mlir::ModuleOp"> {
  let summary = "Makes two steps of long sums, so that a GPU adds them up with all its multiprocessors";
  let description = [{
    A sum over rows, or of the parameter gradients of a norm, that few blocks would make becomes the sums of parts of its rows, and
    the sum of these. The squares of tensors of which only the sum is asked for, as for the norm of all gradients, are added up
    chunk by chunk, several tensors a launch, and then all chunks. Works on flat functions of static, local shapes, before
    `dtc-form-kernels`, and only for GPUs. Parts follow from shapes alone, so that every GPU adds up in the same order.
    ```mlir
    // Before:
    %0 = graph.reduce sum %x dims [0] : tensor<8192x768xbf16> -> tensor<768xf32>
    // After:
    %p = graph.row_part_sums %x : tensor<8192x768xbf16> -> tensor<86x768xf32>
    %0 = graph.sum_parts %p : (tensor<86x768xf32>) -> tensor<768xf32>
    ```
  }];
  let dependentDialects = ["::dtc::graph::GraphDialect"];
}

def FormKernels : Pass<"dtc-form-kernels", "::mlir::ModuleOp"> {
  let summary = "Outlines everything that no library computes into kernel functions";
  let description = [{
    Works on flat functions of static, local shapes. Pointwise ops of one iteration space that feed each other or read
    the same tensor join one kernel where no other op stands between them; norms, softmax, reductions and the like
    become a kernel each. Results that others use stay results of the kernel. Equal kernels share one function.
    The function says how many independent units of work it has (`kernel_range`), of which windows it needs to
    know where their pieces start (`kernel_scalars`), and which results may overwrite which operands (`kernel_in_place`: result,
    operand). Calls say along which mesh axes results are parts of sums that are not finished (`kernel_shares`).
    ```mlir
    // Before:
    %0 = graph.add %x, %bias : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    %1 = graph.gelu tanh %0 : tensor<4x8xf32>
    // After:
    %1 = graph.call @kernel_0(%x, %bias) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    graph.func private @kernel_0(...) attributes {kernel, kernel_range = 1 : i64, ...}
    ```
  }];
  let dependentDialects = ["::dtc::graph::GraphDialect"];
  let statistics = [
    Statistic<"numCalls", "calls", "Number of kernel calls">,
    Statistic<"numKernels", "kernels", "Number of different kernels">,
    Statistic<"numFused", "fused", "Number of ops that share a kernel with another">];
}

def LowerKernels : Pass<"dtc-lower-kernels", "::mlir::ModuleOp"> {
  let summary = "Lowers kernel functions to loops, vectors or the LLVM dialect";
  let description = [{
    Shows what becomes of kernel functions on their way to machine code: replaces the module's contents by its kernels
    at the stage `to`. `dtc` itself leaves the module as it is and keeps the machine code.
    ```mlir
    // Before:
    graph.func private @kernel_0(%x: tensor<4096xf32>) -> tensor<4096xf32> attributes {kernel, kernel_range = 4 : i64} {
      %0 = graph.exp %x : tensor<4096xf32>
      graph.return %0 : tensor<4096xf32>
    }
    // After, to = "buffers":
    func.func @kernel_0(%x: memref<4096xf32>, %y: memref<4096xf32>, %begin: index, %end: index) {
      linalg.generic ... { math.exp }
    }
    ```
  }];
  let options = [
    Option<"to", "to", "std::string", /*default=*/"\"llvm\"",
      "Where to stop: buffers, vectors or llvm; on a GPU also ptx, which is printed in place of a module">,
    Option<"target", "target", "std::string", /*default=*/"\"cpu\"",
      "What runs the kernels: cpu, sm_80, sm_90 or sm_100">];
}

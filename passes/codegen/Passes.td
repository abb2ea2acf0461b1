// Passes of the codegen phase.
include "mlir/Pass/PassBase.td"

def SplitSums : Pass<"dtc-split-sums", "::mlir::ModuleOp"> {
  let summary = "Makes two steps of long sums, so that a GPU adds them up with all its multiprocessors";
  let description = [{
    Rewrites a sum over rows, or the parameter gradients of a norm, into sums of parts of the rows and the sum of
    these, if few blocks would compute it otherwise. Squares of tensors that are only summed, as for the norm of all
    gradients, are added up chunk by chunk, several tensors per launch, and then over all chunks. The largest magnitude
    of a long tensor (`graph.amax`) is that of its parts' ones. Works on flat
    functions of static, local shapes, before `dtc-form-kernels`, and only for GPUs. The parts depend on shapes alone,
    so that every GPU adds up in the same order.
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
    The attributes of a kernel function give the number of its independent units of work (`kernel_range`), the windows
    whose starts it takes as arguments (`kernel_scalars`), and the results that may overwrite operands
    (`kernel_in_place`: result, operand). The attribute `kernel_shares` of a call gives the mesh axes along which its
    results are partial sums.
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
    Replaces the module's contents by its kernel functions, lowered to the stage `to` on the way to machine code, for
    tests and inspection. `dtc` itself leaves the module as it is and keeps the machine code.
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

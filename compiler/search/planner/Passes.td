// Passes that decide the placement of tensors.
include "mlir/Pass/PassBase.td"

def Place : Pass<"dtc-place", "::mlir::ModuleOp"> {
  let summary = "Decides the placement of every tensor in a step";
  let description = [{
    Does for the module's mesh what planning does, for tests and experiments. Solves one cost-function network, in
    seconds of the topology, for forward and backward together: every op gets its loop on each mesh axis
    (`graph.splits`), every argument and result its placement (`graph.placement`), and parameters that have no placement
    get one. Prices of memory are those under which Megatron's pattern comes out, or none with `search`.
    ```mlir
    // Before, on a 1 x 2 mesh of dp x tp:
    %y = graph.linear %x, %w : (tensor<4x8x16xf32>, tensor<16x32xf32>) -> tensor<4x8x32xf32>
    // After:
    %y = graph.linear %x, %w {graph.splits = array<i64: -1, 2>}
       : (tensor<4x8x16xf32>, tensor<16x32xf32>) -> tensor<4x8x32xf32>
    ```
  }];
  let options = [
    Option<"topology", "topology", "std::string", /*default=*/"\"dgx-h100\"",
           "Catalogue name or file that gives seconds">,
    Option<"search", "search", "bool", /*default=*/"false", "Weights may stay whole, and memory is free">];
}

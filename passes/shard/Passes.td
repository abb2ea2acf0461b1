// Passes of the shard phase.
include "mlir/Pass/PassBase.td"

def Partition : Pass<"dtc-partition", "::mlir::ModuleOp"> {
  let summary = "Rewrites the step of one device into the step of every rank";
  let description = [{
    Reads the mesh (`shard.grid @mesh`), the placements of parameters and the module attributes `graph.zero` and
    `graph.sequence_parallel`; splits every op along the loops of its rule where its operands are, and puts upstream
    `shard` collectives where a value is not where it is needed. Blocks are partitioned once per combination of
    argument placements.
    ```mlir
    // Before, with %w placed [replicate, shard(1)] on dp x tp:
    %y = graph.linear %x, %w : (tensor<4x8x16xf32>, tensor<16x32xf32>) -> tensor<4x8x32xf32>
    // After, on a 2 x 2 mesh:
    %y = graph.linear %x, %w : (tensor<2x8x16xf32>, tensor<16x16xf32>) -> tensor<2x8x16xf32>
    ```
  }];
  let dependentDialects = ["::mlir::shard::ShardDialect"];
}

def SetMesh : Pass<"dtc-set-mesh", "::mlir::ModuleOp"> {
  let summary = "Gives the module a mesh and its parameters the best placements for it";
  let description = [{
    For tests and experiments: what applying a plan does, from options. Parameters that have a placement keep it.
    ```mlir
    // Before: graph.parameter @w : tensor<16x32xf32> init zeros
    // After:  graph.parameter @w : tensor<16x32xf32> init zeros placement <[replicate, shard(1)]>
    ```
  }];
  let options = [
    Option<"dp", "dp", "int64_t", /*default=*/"1", "Ranks that split the batch">,
    Option<"tp", "tp", "int64_t", /*default=*/"1", "Ranks that split weights">,
    Option<"sequenceParallel", "sp", "bool", /*default=*/"false", "Scatter sums of activations over the sequence">,
    Option<"zero", "zero", "int64_t", /*default=*/"0", "ZeRO stage">];
  let dependentDialects = ["::mlir::shard::ShardDialect"];
}

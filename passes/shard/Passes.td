// Passes of the shard phase.
include "mlir/Pass/PassBase.td"

def Partition : Pass<"dtc-partition", "::mlir::ModuleOp"> {
  let summary = "Rewrites the step of one device into the step of every rank";
  let description = [{
    Obeys: every op is split along the loops that its `graph.splits` name, one entry per mesh axis (-1: not split, -2: sums
    stay unfinished); arguments and results of functions are where their `graph.placement` says; parameters and states
    carry their placement. Ops that finish sums over a loop that is split, such as norms over columns, are taken apart. Puts
    upstream `shard` collectives where a value is not where it is needed. Plans say all of these, or `dtc-place` decides.
    ```mlir
    // Before, on a 2 x 2 mesh of dp x tp:
    %y = graph.linear %x, %w {graph.splits = array<i64: 0, 2>} : (tensor<4x8x16xf32>, tensor<16x32xf32>) -> tensor<4x8x32xf32>
    // After, on a 2 x 2 mesh:
    %y = graph.linear %x, %w : (tensor<2x8x16xf32>, tensor<16x16xf32>) -> tensor<2x8x16xf32>
    ```
  }];
  let dependentDialects = ["::mlir::shard::ShardDialect"];
}

def SetMesh : Pass<"dtc-set-mesh", "::mlir::ModuleOp"> {
  let summary = "Gives the module a mesh";
  let description = [{
    For tests and experiments: what applying a plan does, from options; `dtc-place` then says where things are.
    ```mlir
    // After, with dp=2 tp=4:
    shard.grid @mesh(shape = 2x4) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
    // The same where attention has 2 kv heads:
    shard.grid @mesh(shape = 2x2x2) {graph.axis_names = ["dp", "tp.kv", "tp.group"], graph.axis_roles = ["data", "tensor", "tensor"]}
    ```
  }];
  let options = [
    Option<"dp", "dp", "int64_t", /*default=*/"1", "Ranks that split the batch">,
    Option<"tp", "tp", "int64_t", /*default=*/"1", "Ranks that split weights">,
    Option<"sequenceParallel", "sp", "bool", /*default=*/"false", "Scatter sums of activations over the sequence">,
    Option<"zero", "zero", "int64_t", /*default=*/"0", "ZeRO stage">];
  let dependentDialects = ["::mlir::shard::ShardDialect"];
}

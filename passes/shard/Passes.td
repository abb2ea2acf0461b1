// Passes of the shard phase.
include "mlir/Pass/PassBase.td"

def Partition : Pass<"dtc-partition", "::mlir::ModuleOp"> {
  let summary = "Rewrites the step of one device into the step of every rank";
  let description = [{
    Obeys: every op is split along the loops that its `graph.splits` name, one entry per mesh axis (-1: not split, -2: sums
    stay unfinished); arguments and results of functions are where their `graph.placement` says; parameters and states
    carry their placement. Ops that finish sums over a loop that is split, such as norms over columns, are taken apart. Puts
    upstream `shard` collectives where a value is not where it is needed. Plans say all of these, or `dtc-place` decides.
    Ops whose results are parts of sums say along which mesh axes, a bit each (`graph.unfinished`).
    ```mlir
    // Before, on a 2 x 2 mesh of dp x tp:
    %y = graph.linear %x, %w {graph.splits = array<i64: 0, 2>} : (tensor<4x8x16xf32>, tensor<16x32xf32>) -> tensor<4x8x32xf32>
    // After, on a 2 x 2 mesh:
    %y = graph.linear %x, %w : (tensor<2x8x16xf32>, tensor<16x16xf32>) -> tensor<2x8x16xf32>
    ```
  }];
  let dependentDialects = ["::mlir::shard::ShardDialect"];
}

def Recompute : Pass<"dtc-recompute", "::mlir::ModuleOp"> {
  let summary = "Keeps less of each layer for the backward pass, which computes the rest again";
  let description = [{
    Obeys `graph.recompute` of the calls and repeats of `@microbatch`. `full`: a layer keeps its inputs, and its backward
    function starts from them; `selective`: it keeps what costs a product or a collective to have again; what follows a `+`
    names dearer ops that run again, too (`selective+linear`: products with its own weights, and the collectives around
    them; `attention`; `experts`: products with theirs). `selectRecomputation` says which, to the cost model, too. Ops that run again are copies of the partitioned forward
    function's, collectives among them, each right before the first op of backward that reads what it makes; what backward
    does not read does not run again. They read what is kept through `graph.again`, so that they stay what they are once
    both functions are in one. Random ops are keyed by their stream and the execution of their block, so that copies draw
    what was drawn. Stands after partitioning, so that no choice of placement depends on it.
    ```mlir
    // Before: %y, %kept = graph.call @f(%x, %w) {graph.recompute = "full"} : ...
    //         %dx, %dw = graph.call @b(%kept, %x, %w, %dy) {graph.recompute = "full"} : ...
    // After:  %y = graph.call @f.full(%x, %w) {graph.recompute = "full"} : ...
    //         %dx, %dw = graph.call @b.full(%x, %w, %dy) {graph.recompute = "full"} : ...
    ```
  }];
}

def CutStages : Pass<"dtc-cut-stages", "::mlir::ModuleOp"> {
  let summary = "Cuts the step of a rank into the steps of pipeline stages";
  let description = [{
    Where the module says which stage holds which chunk of the model (`graph.stage_of_chunk`), makes a module of its own for
    every stage, `@stage_0` and so on, with the parameters and states that it reads, its part of `@microbatch` and `@update`,
    and their blocks; the module around has nothing left but its mesh. Every op of `@microbatch` has `graph.chunk` and
    `graph.phase` then. What one chunk makes and the next one of another stage reads is sent and received. A parameter that
    several stages read, such as tied embeddings, is in each of them: its gradients are summed over these stages in `@update`
    (`graph.stage_reduce`), and so are scalars that all stages need, as the squares for the norm of all gradients, in which a
    parameter counts once. Does nothing to a module without chunks.
    ```mlir
    // Before, with graph.stage_of_chunk = array<i64: 0, 1>:
    graph.func @microbatch(%x: tensor<4x8xf32> {graph.input = "x"}) -> (tensor<f32> {graph.accumulated = "loss"}) {
      %h = graph.exp %x {graph.chunk = 0 : i64} : tensor<4x8xf32>
      %loss = graph.reduce sum %h dims [0, 1] {graph.chunk = 1 : i64} : tensor<4x8xf32> -> tensor<f32>
      graph.return %loss : tensor<f32>
    }
    // After, in @stage_1, with labels {graph.chunk = 1 : i64, graph.phase = "forward"}:
    graph.func @microbatch() -> (tensor<f32> {graph.accumulated = "loss"}) {
      %h = graph.receive chunk 1 from 0 "activation.0" : tensor<4x8xf32>
      %loss = graph.reduce sum %h dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
      graph.return %loss : tensor<f32>
    }
    ```
  }];
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
    Option<"pp", "pp", "int64_t", /*default=*/"1", "Stages of a pipeline">,
    Option<"sequenceParallel", "sp", "bool", /*default=*/"false", "Scatter sums of activations over the sequence">,
    Option<"zero", "zero", "int64_t", /*default=*/"0", "ZeRO stage">,
    Option<"zeroGroup", "zero-group", "int64_t", /*default=*/"0", "Ranks of dp among which ZeRO shards; 0: all">];
  let dependentDialects = ["::mlir::shard::ShardDialect"];
}

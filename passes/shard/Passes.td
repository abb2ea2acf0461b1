// Passes of the shard phase.
include "mlir/Pass/PassBase.td"

def Partition : Pass<"dtc-partition", "::mlir::ModuleOp"> {
  let summary = "Rewrites the step of one device into the step of every rank";
  let description = [{
    Rewrites the step as its attributes say, which come from the plan or from `dtc-place`:
    - `graph.splits` of an op names the loops along which it is split, one entry per mesh axis (-1: not split, -2: sums
      stay unfinished).
    - `graph.placement` of arguments and results of functions, and the placement of parameters and states, say how
      tensors are distributed.

    Decomposes ops that finish sums over a loop that is split, such as norms over columns. Inserts upstream `shard`
    collectives if a value is placed differently from its use. Ops whose results are partial sums carry a bit mask of
    the mesh axes along which they are partial (`graph.unfinished`).
    ```mlir
    // Before, on a 2 x 2 mesh of dp x tp:
    %y = graph.linear %x, %w {graph.splits = array<i64: 0, 2>}
        : (tensor<4x8x16xf32>, tensor<16x32xf32>) -> tensor<4x8x32xf32>
    // After, on a 2 x 2 mesh:
    %y = graph.linear %x, %w : (tensor<2x8x16xf32>, tensor<16x16xf32>) -> tensor<2x8x16xf32>
    ```
  }];
  let dependentDialects = ["::mlir::shard::ShardDialect"];
}

def Recompute : Pass<"dtc-recompute", "::mlir::ModuleOp"> {
  let summary = "Keeps less of each layer for the backward pass, which computes the rest again";
  let description = [{
    Saves fewer activations of each layer for the backward pass, as `graph.recompute` of the calls and repeats of
    `@microbatch` says:
    - `full`: a layer saves its inputs, and its backward function starts from them.
    - `selective`: a layer saves only results whose recomputation takes a matrix product or a collective.
    - Names after a `+`, as in `selective+linear`, select costly ops that are recomputed too: `linear` (matrix products
      with the layer's own weights, and the collectives around them), `attention` and `experts` (matrix products with
      experts' weights).

    Rounds of rows of experts behind the first (`graph.round_rows`) are recomputed in any case, before that: a layer
    saves nothing between their packing and their unpacking, so that one of them is in memory at a time.

    `selectRecomputation` makes this choice, for the cost model too. Recomputed ops, including collectives, are copies
    of the ops of the partitioned forward function. Each copy stands right before the first op of backward that reads
    its result; values that backward does not read are not recomputed. The copies read saved values through
    `graph.again`, so that they stay separate once both functions are in one. Random ops are keyed by their stream and
    the execution of their block, so that copies draw the same numbers. Runs after partitioning, so that no placement
    depends on it.
    ```mlir
    // Before: %y, %kept = graph.call @f(%x, %w) {graph.recompute = "full"} : ...
    //         %dx, %dw = graph.call @b(%kept, %x, %w, %dy) {graph.recompute = "full"} : ...
    // After:  %y = graph.call @f.full(%x, %w) {graph.recompute = "full"} : ...
    //         %dx, %dw = graph.call @b.full(%x, %w, %dy) {graph.recompute = "full"} : ...
    ```
  }];
}

def ChunkLoss : Pass<"dtc-chunk-loss", "::mlir::ModuleOp"> {
  let summary = "Computes the loss in chunks of a micro-batch's tokens";
  let description = [{
    If the module has `graph.loss_chunks`, computes the logits, the loss and their gradients for so many equal chunks of
    the tokens of a micro-batch, one after another, so that the logits of one chunk alone exist at a time. This is
    about the ops of `@microbatch` that make or read a tensor with an element for each token and word, and those between
    them. Their copies for one chunk stand together, gradients right behind the loss, and run in the forward pass
    (`graph.loss_chunk`). Gradients of the output layer are sums over the chunks; gradients of its input are joined.
    Chunks are of samples where their number divides them, else of the sequence. Runs after partitioning, on the tokens
    of one rank.
    ```mlir
    // Before, with graph.loss_chunks = 2:
    %logits = graph.linear %h, %w : (tensor<2x8x16xf32>, tensor<16x64xf32>) -> tensor<2x8x64xf32>
    %rows, %lse = graph.cross_entropy %logits, %t : (tensor<2x8x64xf32>, tensor<2x8xi32>)
    // After:
    %h_0 = graph.slice %h dim 0 start 0 size 1 : tensor<2x8x16xf32> -> tensor<1x8x16xf32>
    %t_0 = graph.slice %t dim 0 start 0 size 1 : tensor<2x8xi32> -> tensor<1x8xi32>
    %logits_0 = graph.linear %h_0, %w {graph.loss_chunk = 0 : i64}
        : (tensor<1x8x16xf32>, tensor<16x64xf32>) -> tensor<1x8x64xf32>
    %rows_0, %lse_0 = graph.cross_entropy %logits_0, %t_0 {graph.loss_chunk = 0 : i64}
        : (tensor<1x8x64xf32>, tensor<1x8xi32>)
    // and so on for chunk 1; then
    %rows = graph.concat %rows_0, %rows_1 dim 0 : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<2x8xf32>
    ```
  }];
  let dependentDialects = ["::mlir::shard::ShardDialect"];
  let statistics = [Statistic<"numOps", "ops", "Number of ops that work on chunks">];
}

def CutStages : Pass<"dtc-cut-stages", "::mlir::ModuleOp"> {
  let summary = "Cuts the step of a rank into the steps of pipeline stages";
  let description = [{
    Makes a module for every pipeline stage, `@stage_0` and so on, if the module says which stage holds which chunk of
    the model (`graph.stage_of_chunk`); does nothing otherwise. The module of a stage has the parameters and states that
    it reads, its part of `@microbatch` and `@update`, and their blocks; the module around them keeps only its mesh.
    Every op of `@microbatch` then has `graph.chunk` and `graph.phase`. Values that one chunk makes and the next one
    reads on another stage are sent and received.

    A parameter that several stages read, such as tied embeddings, is in each of them: `@update` sums its gradients over
    these stages (`graph.stage_reduce`). It also sums the scalars that all stages need, such as the squares for the norm
    of all gradients, in which a parameter counts once.
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
    Sets the mesh from options, for tests and experiments; `dtc` sets it from a plan. `dtc-place` then chooses the
    placements.
    ```mlir
    // After, with dp=2 tp=4:
    shard.grid @mesh(shape = 2x4) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
    // The same where attention has 2 kv heads:
    shard.grid @mesh(shape = 2x2x2) {graph.axis_names = ["dp", "tp.kv", "tp.group"],
                                     graph.axis_roles = ["data", "tensor", "tensor"]}
    // With dp=2 cp=2 tp=2:
    shard.grid @mesh(shape = 2x2x2) {graph.axis_names = ["dp", "cp", "tp"],
                                     graph.axis_roles = ["data", "context", "tensor"]}
    ```
  }];
  let options = [
    Option<"dp", "dp", "int64_t", /*default=*/"1", "Ranks that split the batch">,
    Option<"tp", "tp", "int64_t", /*default=*/"1", "Ranks that split weights">,
    Option<"pp", "pp", "int64_t", /*default=*/"1", "Stages of a pipeline">,
    Option<"ep", "ep", "int64_t", /*default=*/"1", "Ranks of dp that have different experts">,
    Option<"cp", "cp", "int64_t", /*default=*/"1", "Ranks that split sequences">,
    Option<"sequenceParallel", "sp", "bool", /*default=*/"false", "Scatter sums of activations over the sequence">,
    Option<"zero", "zero", "int64_t", /*default=*/"0", "ZeRO stage">,
    Option<"zeroGroup", "zero-group", "int64_t", /*default=*/"0", "Ranks of dp among which ZeRO shards; 0: all">];
  let dependentDialects = ["::mlir::shard::ShardDialect"];
}

// Passes of the graph phase.
include "mlir/Pass/PassBase.td"

def InstantiateBlocks : Pass<"dtc-instantiate-blocks", "::mlir::ModuleOp"> {
  let summary = "Makes the parameters of a model of what its blocks declare";
  let description = [{
    Turns every `graph.param` that `@loss` reaches into a `graph.parameter` of the module with its full name. Blocks take
    theirs as further arguments, which calls and repeats pass. What a repeated block declares is one parameter with
    `repeats`. What blocks call themselves is put in its place first, once for each execution, so that only `@loss` has calls
    and repeats. Runs as soon as a model is read, so that all that follows sees parameters as data that flows into blocks.
    Fails where two parameters have one name, and where a block calls itself.
    ```mlir
    // Before: graph.func private @block(%x: !hidden) -> !hidden {
    //           %w = graph.param "ln.weight" ones : !width ...
    //         %y = graph.repeat 12 @block(%x) under "h.{}" : (!hidden) -> !hidden
    // After:  graph.parameter @"h.{}.ln.weight" : !width init ones repeats 12
    //         graph.func private @block(%x: !hidden, %w: !width) -> !hidden { ...
    //         %all = graph.get @"h.{}.ln.weight" : !graph.stack<12 x !width>
    //         %y = graph.repeat 12 @block(%x, %all) : (!hidden, !graph.stack<12 x !width>) -> !hidden
    ```
  }];
}

def BindBatch : Pass<"dtc-bind-batch", "::mlir::ModuleOp"> {
  let summary = "Gives the batch a size";
  let description = [{
    Replaces the dynamic batch dim of every tensor by `batch`, the samples of one micro-batch over all ranks, and turns
    means into sums with a constant scale, so that splitting the batch later does not change what is divided by. Fails where
    `@loss` would be another number if the batch were cut up in another way; one that is a sum over the samples is marked
    `graph.adds_up`.
    ```mlir
    // Before: %l = graph.reduce mean %x dims [0, 1] : tensor<?x8xf32> -> tensor<f32>
    // After:  %l = graph.reduce sum %x dims [0, 1] scale 0.03125 : tensor<4x8xf32> -> tensor<f32>
    ```
  }];
  let options = [Option<"batch", "batch", "int64_t", /*default=*/"1", "Samples of a micro-batch, over all ranks">];
}

def CompleteOps : Pass<"dtc-complete-ops", "::mlir::ModuleOp"> {
  let summary = "Writes out what a model leaves to the compiler";
  let description = [{
    Replaces the short forms of ops, in which people write models, by complete ones, which are all that other passes see: adds
    the results that the backward pass needs (a norm's mean and rstd, the lse of attention and cross entropy), the bias of a
    linear as a `graph.add`, attention's scale, the frequencies of a rotary table, and stream and key of what draws random
    numbers. Streams count from 1 in the order of the module, leaving out those that ops have.
    ```mlir
    // Before: %y = graph.dropout %x p 0.1 : tensor<?x8xf32>
    // After:  %seed = graph.input seed : tensor<i64>
    //         %step = graph.input step : tensor<f32>
    //         %y = graph.dropout %x p 0.1 id 1 key(%seed, %step) : tensor<?x8xf32>
    ```
  }];
}

def Differentiate : Pass<"dtc-differentiate", "::mlir::ModuleOp"> {
  let summary = "Turns the loss into a function that also returns every parameter's gradient";
  let description = [{
    Reverse-mode differentiation of `@loss`. Each block becomes a pair: `@block_forward` also returns the values that
    `@block_backward` needs. The result is `@microbatch`; loss and gradients are divided by the number of micro-batches,
    so that their sums over a step are the step's. They are not where the loss adds up (`graph.adds_up`), nor where it is a
    weighted mean: then the sum of the weights is returned, too, and the loss and the gradients are those of the sum. Inputs
    that hold indices learn what they are below (`graph.below`), and which one is ignored (`graph.ignored`).
    ```mlir
    // Before: graph.func @loss(%tokens: tensor<4x8xi32>, %targets: tensor<4x8xi32>) -> tensor<f32>
    // After:  graph.func @microbatch(%tokens: tensor<4x8xi32> {graph.below = 256 : i64, graph.input = "tokens"}, ...)
    //             -> (tensor<f32> {graph.accumulated = "loss"},
    //                                                       tensor<16x32xf32> {graph.gradient_of = @w})
    ```
  }];
  let options = [Option<"microBatches", "micro-batches", "int64_t", /*default=*/"1", "Micro-batches of a step">];
}

def AddOptimizer : Pass<"dtc-add-optimizer", "::mlir::ModuleOp"> {
  let summary = "Adds the function that updates the parameters from their gradients";
  let description = [{
    Adds optimizer state and `@update`: global gradient norm, clipping, the learning rate of the step, and one fused
    update per parameter. Weight decay applies to parameters marked `decay`. Where `@microbatch` returns the sum of the
    weights of a mean, loss, norm and gradients are divided by that of the step first.
    ```mlir
    // After: graph.func @update(%loss {graph.accumulated = "loss"}, %g {graph.gradient_of = @w})
    //            -> (tensor<f32> {graph.output = "loss"}, tensor<f32> {graph.output = "grad_norm"}, ...)
    ```
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", /*default=*/"\"adamw\"", "adamw or sgd">,
    Option<"beta1", "beta1", "double", /*default=*/"0.9", "Decay of the first moment; momentum of sgd">,
    Option<"beta2", "beta2", "double", /*default=*/"0.95", "Decay of the second moment">,
    Option<"epsilon", "epsilon", "double", /*default=*/"1e-8", "Added to the root of the second moment">,
    Option<"weightDecay", "weight-decay", "double", /*default=*/"0.1", "Decoupled weight decay">,
    Option<"clipNorm", "clip-norm", "double", /*default=*/"1.0", "Largest global gradient norm; 0: no clipping">,
    Option<"cosine", "cosine", "bool", /*default=*/"true", "Cosine schedule; else constant after warm-up">,
    Option<"warmupSteps", "warmup-steps", "int64_t", /*default=*/"0", "Steps of linear warm-up">,
    Option<"minRatio", "min-lr-ratio", "double", /*default=*/"0.1", "Last learning rate / base learning rate">];
}

// Passes of the graph phase.
include "mlir/Pass/PassBase.td"

def BindBatch : Pass<"dtc-bind-batch", "::mlir::ModuleOp"> {
  let summary = "Gives the batch a size";
  let description = [{
    Replaces the dynamic batch dim of every tensor by `batch`, the samples of one micro-batch over all ranks, and turns
    means into sums with a constant scale, so that splitting the batch later does not change what is divided by.
    ```mlir
    // Before: %l = graph.reduce mean %x dims [0, 1] : tensor<?x8xf32> -> tensor<f32>
    // After:  %l = graph.reduce sum %x dims [0, 1] scale 0.03125 : tensor<4x8xf32> -> tensor<f32>
    ```
  }];
  let options = [Option<"batch", "batch", "int64_t", /*default=*/"1", "Samples of a micro-batch, over all ranks">];
}

def Differentiate : Pass<"dtc-differentiate", "::mlir::ModuleOp"> {
  let summary = "Turns the loss into a function that also returns every parameter's gradient";
  let description = [{
    Reverse-mode differentiation of `@loss`. Each block becomes a pair: `@block_forward` also returns the values that
    `@block_backward` needs. The result is `@microbatch`; loss and gradients are divided by the number of micro-batches,
    so that their sums over a step are the step's.
    ```mlir
    // Before: graph.func @loss(%tokens: tensor<4x8xi32>, %targets: tensor<4x8xi32>) -> tensor<f32>
    // After:  graph.func @microbatch(%tokens, %targets) -> (tensor<f32> {graph.accumulated = "loss"},
    //                                                       tensor<16x32xf32> {graph.gradient_of = @w})
    ```
  }];
  let options = [Option<"microBatches", "micro-batches", "int64_t", /*default=*/"1", "Micro-batches of a step">];
}

def AddOptimizer : Pass<"dtc-add-optimizer", "::mlir::ModuleOp"> {
  let summary = "Adds the function that updates the parameters from their gradients";
  let description = [{
    Adds optimizer state and `@update`: global gradient norm, clipping, the learning rate of the step, and one fused
    update per parameter. Weight decay applies to parameters marked `decay`.
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

// Passes of the graph phase.
include "mlir/Pass/PassBase.td"

def InstantiateBlocks : Pass<"dtc-instantiate-blocks", "::mlir::ModuleOp"> {
  let summary = "Makes the parameters of a model of what its blocks declare";
  let description = [{
    Turns every `graph.param` that `@loss` reaches into a `graph.parameter` of the module with its full name. Blocks
    take their parameters as further arguments, which calls and repeats pass. A declaration in a repeated block becomes
    one parameter with `repeats`. Calls inside of blocks are inlined first, once for each execution, so that only
    `@loss` has calls and repeats. Runs as soon as a model is read, so that all later passes see parameters as data that
    flows into blocks. Fails if two parameters have one name, or if a block calls itself.
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

def DropUnread : Pass<"dtc-drop-unread", "::mlir::ModuleOp"> {
  let summary = "Drops what the loss does not depend on";
  let description = [{
    Erases ops, calls and repeats whose results are never read, blocks that are never called, and arguments that blocks
    do not read. Inputs and parameters stay: a parameter that no op reads is trained with a gradient of zero. Runs once
    a model is checked, so that an error in dropped code is still reported.
    ```mlir
    // Before: graph.parameter @"side.w" : !weight init ones
    //         %w = graph.get @"side.w" : !weight
    //         %unread = graph.call @side(%x, %w) : (!hidden, !weight) -> !hidden
    // After:  graph.parameter @"side.w" : !weight init ones
    ```
  }];
}

def BindBatch : Pass<"dtc-bind-batch", "::mlir::ModuleOp"> {
  let summary = "Gives the batch a size";
  let description = [{
    Replaces the dynamic batch dim of every tensor by `batch`, the samples of one micro-batch over all ranks, times the
    rows that a sample has in it (8 if `tensor<?x8xf32>` was reshaped to `tensor<?xf32>`). Turns means into sums with a
    constant scale, so that splitting the batch later does not change the divisor. Fails if the value of `@loss` depends
    on how the batch is cut into micro-batches. A loss that is a sum over the samples is marked `graph.adds_up`.

    If a weighted mean stands beside other terms, the sum of its weights is needed before backward: the pass adds
    `@prepare`, which reads the inputs of all micro-batches once per step and sets `step.weight_scale`, their rows over
    the sum.

    Batch norm by the statistics of the whole batch needs a step of one micro-batch. With `parts`, the samples of each
    of `ranks` in a micro-batch become channels of their own, and its state gets the mean over them.
    ```mlir
    // Before: %l = graph.reduce mean %x dims [0, 1] : tensor<?x8xf32> -> tensor<f32>
    // After:  %l = graph.reduce sum %x dims [0, 1] scale 0.03125 : tensor<4x8xf32> -> tensor<f32>
    ```
  }];
  let options = [Option<"batch", "batch", "int64_t", /*default=*/"1", "Samples of a micro-batch, over all ranks">,
    Option<"microBatches", "micro-batches", "int64_t", /*default=*/"1", "Micro-batches of a step">,
    Option<"ranks", "ranks", "int64_t", /*default=*/"1", "Ranks of data parallelism, which share a micro-batch">];
}

def SetPrecision : Pass<"dtc-set-precision", "::mlir::ModuleOp"> {
  let summary = "Sets the element types that a model is kept in";
  let description = [{
    Changes parameters and activations of `@loss` and its blocks to bf16 or f16. These values stay in f32:
    - statistics of norms and logarithms of softmax denominators;
    - the loss of each row and values computed from it;
    - sums over dims (`graph.reduce`), `graph.exp`, `graph.log`, and values computed from them;
    - tables of rotations, inputs, convolution and pooling.

    Matrix products and attention cast such operands to the narrow type again. Casts that a model has are left as they
    are. With f16 the pass declares the loss scale, which `dtc-differentiate` and `dtc-add-optimizer` use if it exists.
    With fp8 all is as in bf16, and the products of linear layers get operands that are rounded to 8 bits
    (`graph.quantise`, and `graph.quantise_gradient` behind the product). Output layers and routers do not.
    ```mlir
    // Before: graph.parameter @w : tensor<4x8xf32> init ones
    //         %y = graph.linear %x, %w : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
    //         %l = graph.reduce mean %y dims [0, 1] : tensor<2x8xf32> -> tensor<f32>
    // After:  graph.parameter @w : tensor<4x8xbf16> init ones
    //         %0 = graph.cast %x : tensor<2x4xf32> to tensor<2x4xbf16>
    //         %y = graph.linear %0, %w : (tensor<2x4xbf16>, tensor<4x8xbf16>) -> tensor<2x8xbf16>
    //         %l = graph.reduce mean %y dims [0, 1] : tensor<2x8xbf16> -> tensor<f32>
    ```
  }];
  let options = [Option<"precision", "precision", "std::string", /*default=*/"\"f32\"",
    "f32 (nothing to do), bf16, f16 or fp8">];
}

def WidenGradients : Pass<"dtc-widen-gradients", "::mlir::ModuleOp"> {
  let summary = "Gives the gradients of narrow parameters f32";
  let description = [{
    Makes the gradients that `@microbatch` returns f32, so that sums over micro-batches are in f32. Ops that add them up
    return f32, and so do ops that only add or move their results, also from layer to layer of a repeat.
    ```mlir
    // Before: %d = graph.linear_weight_grad %x, %dy : (tensor<2x4xbf16>, tensor<2x8xbf16>) -> tensor<4x8xbf16>
    // After:  %d = graph.linear_weight_grad %x, %dy : (tensor<2x4xbf16>, tensor<2x8xbf16>) -> tensor<4x8xf32>
    ```
  }];
}

def CompleteOps : Pass<"dtc-complete-ops", "::mlir::ModuleOp"> {
  let summary = "Writes out what a model leaves to the compiler";
  let description = [{
    Replaces the short forms of ops, in which people write models, by complete ones, the only ones that other passes
    see. Adds
    - the results that the backward pass needs (a norm's mean and rstd, the lse of attention and cross entropy);
    - the bias of a linear as a `graph.add`;
    - the scale of attention and the frequencies of a rotary table;
    - the stream and key of ops that draw random numbers. Streams count from 1 in the order of the module and skip
      streams that ops already have.
    ```mlir
    // Before: %y = graph.dropout %x p 0.1 : tensor<?x8xf32>
    // After:  %seed = graph.input seed : tensor<i64>
    //         %step = graph.input step : tensor<f32>
    //         %y = graph.dropout %x p 0.1 id 1 key(%seed, %step) : tensor<?x8xf32>
    ```
  }];
}

def SplitRepeats : Pass<"dtc-split-repeats", "::mlir::ModuleOp"> {
  let summary = "Takes repeats of `@loss` apart at layers where decisions change";
  let description = [{
    Splits repeats so that layers may be treated differently: placed on another pipeline stage, or with other saved
    activations. Layers are counted over all calls and repeats of `@loss`. Each piece of a repeat has its own
    parameters, whose names continue the count, so that the trained tensors, their initial values and random numbers
    stay the same.
    ```mlir
    // at=4
    // Before: graph.parameter @"h.{}.w" : !width init ones repeats 12
    //         %y = graph.repeat 12 @block(%x, %w) : (!hidden, !graph.stack<12 x !width>) -> !hidden
    // After:  graph.parameter @"h.{}.w" : !width init ones repeats 4
    //         graph.parameter @"h.{4}.w" : !width init ones repeats 8
    //         %h = graph.repeat 4 @block(%x, %w0) : (!hidden, !graph.stack<4 x !width>) -> !hidden
    //         %y = graph.repeat 8 @block(%h, %w1) instance 4 : (!hidden, !graph.stack<8 x !width>) -> !hidden
    ```
  }];
  let options = [ListOption<"at", "at", "int64_t", "First layers of parts">];
}

def Differentiate : Pass<"dtc-differentiate", "::mlir::ModuleOp"> {
  let summary = "Turns the loss into a function that also returns every parameter's gradient";
  let description = [{
    Reverse-mode differentiation of `@loss`. Each block becomes a pair: `@block_forward` also returns the values that
    `@block_backward` needs. The result is `@microbatch`. Its loss and gradients are divided
    - by the number of micro-batches, so that their sums over a step are the step's;
    - by nothing if the loss is a sum over samples (`graph.adds_up`);
    - by the rows of a step if the loss is a weighted mean. Then `@microbatch` also returns the sum of the weights, with
      the number of rows (`graph.rows`), and `@update` multiplies by rows / weights.

    If a weighted mean stands beside other terms, backward multiplies its gradient by `step.weight_scale`, and the other
    terms are a sum of their own (`beside`). A parameter that is `frozen`, or that the loss does not depend on, has no
    gradient among the results. Inputs that hold indices get their limit (`graph.below`) and the index that is ignored
    (`graph.ignored`). `graph.observe` of a state returns its value in the place of a gradient, and batch norms are
    written out as ops with one sum each.
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
    Adds optimizer state and `@update`: the global gradient norm, clipping, the learning rate of the step, and one fused
    update per parameter. Updates of lamb and lars use a ratio of two norms of each tensor, for a repeated parameter of
    each layer. Those of muon make the momentum of each hidden matrix orthogonal, which takes the whole matrix
    (`graph.whole_matrix`); embeddings, output layers and all that is no matrix are updated as by adamw. Weight decay,
    and the ratios, apply to parameters marked `decay`. A parameter for which `@microbatch` returns no gradient is
    updated with zeros; a `frozen` one is not updated, but takes its next value if the model observes it
    (`graph.observe`).

    If `@microbatch` returns the sum of the weights of a mean, loss, norm and gradients are divided by that of the step
    first; if other terms stand beside the mean, only its part of the loss is. If there is a loss scale, norm and
    gradients are divided by it.

    A step whose gradient norm is not finite changes no parameter and no state except the number of skipped steps, and
    halves the loss scale. The step number that corrects averages over steps counts applied steps only. For a parameter
    in bf16 or f16 the trained tensor is a copy in f32 (`master`), and the parameter is its rounded value.

    With `coupled-decay` sgd adds weight_decay * p to the clipped gradient, so that momentum averages it too, as in
    torch.optim.SGD. With `offload` all states of parameters are marked `graph.host`, and each parameter has a copy in
    f32 there, so that the update on the host needs nothing from the device except gradients (`dtc-offload-update`).

    With `compress` the gradients of large matrices are replaced first, before the norm, by what `ranks` ranks exchange
    of their addends (`graph.addends`), and states keep what was not sent (docs/slow-links.md).
    ```mlir
    // After: graph.func @update(%loss {graph.accumulated = "loss"}, %g {graph.gradient_of = @w})
    //            -> (tensor<f32> {graph.output = "loss"}, tensor<f32> {graph.output = "grad_norm"}, ...)
    ```
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", /*default=*/"\"adamw\"", "adamw, sgd, lamb, lars or muon">,
    Option<"state", "state", "std::string", /*default=*/"\"f32\"",
      "f32, bf16 or int8: the form of the optimizer's state">,
    Option<"beta1", "beta1", "double", /*default=*/"0.9", "Decay of the first moment; momentum of sgd and lars">,
    Option<"beta2", "beta2", "double", /*default=*/"0.95", "Decay of the second moment">,
    Option<"epsilon", "epsilon", "double", /*default=*/"1e-8", "Added to the root of the second moment">,
    Option<"weightDecay", "weight-decay", "double", /*default=*/"0.1", "Decoupled weight decay">,
    Option<"gradDtype", "grad-dtype", "std::string", /*default=*/"\"f32\"",
      "f32 or bf16: in which gradients are reduced over ranks">,
    Option<"clipNorm", "clip-norm", "double", /*default=*/"1.0", "Largest global gradient norm; 0: no clipping">,
    Option<"cosine", "cosine", "bool", /*default=*/"true", "Cosine schedule; else constant after warm-up">,
    Option<"warmupSteps", "warmup-steps", "int64_t", /*default=*/"0", "Steps of linear warm-up">,
    Option<"minRatio", "min-lr-ratio", "double", /*default=*/"0.1", "Last learning rate / base learning rate">,
    Option<"trustCoefficient", "trust-coefficient", "double", /*default=*/"0.001", "Trust coefficient of lars">,
    Option<"muonMomentum", "muon-momentum", "double", /*default=*/"0.95", "Momentum of muon's matrices">,
    Option<"muonRate", "muon-rate", "std::string", /*default=*/"\"match-rms-adamw\"",
      "match-rms-adamw or original: the factor of the learning rate of muon's matrices">,
    Option<"offload", "offload", "bool", /*default=*/"false", "State of parameters is in the host's memory">,
    Option<"coupledDecay", "coupled-decay", "bool", /*default=*/"false", "sgd: weight decay is added to the gradient">,
    Option<"compress", "compress", "std::string", /*default=*/"\"none\"",
      "none or powersgd:RANK: how ranks of data parallelism sum gradients">,
    Option<"ranks", "ranks", "int64_t", /*default=*/"1", "Ranks of data parallelism; read with `compress`">];
}

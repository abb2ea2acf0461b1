// State that a step changes without a gradient, and batch norm, which keeps some.
include "dialects/graph/GraphOpBase.td"
include "dialects/graph/StateKinds.td"

def Graph_DetachOp : Graph_Op<"detach", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "The same tensor, through which no gradient flows";
  let description = [{
    A model reads its own state by it, such as the old value in the formula of the new one, and stops a gradient where
    PyTorch's `detach` does. `dtc-differentiate` replaces it by its operand.

    Example:
    ```mlir
    %old = graph.detach %running_mean : tensor<64xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Graph_ObserveOp : Graph_Op<"observe", [Pure, Graph_Rule, Graph_Gradient, AllTypesMatch<["x", "result"]>,
    AllTypesMatch<["state", "value"]>]> {
  let summary = "Gives a state its next value";
  let description = [{
    Returns `x`. At the end of the step `state`, a frozen parameter, takes the `mean` or the `sum` of `value` over
    micro-batches. A mean or sum over the samples of a micro-batch is over those on all ranks, as everywhere in
    graph IR. With `max` it takes a maximum over the samples of the step: a `graph.reduce max` over the batch, or
    the `graph.maximum` of such a one and of what no sample changes. Such a step has one micro-batch. With `last` it
    takes the value of the last micro-batch, which may be any function of what no sample changes, and of sums, means
    and maxima over samples, which ranks finish before others read them. Where it has some of those, it is of the
    whole batch, and such a step has one micro-batch; else the step may have several. Every op that reads `state` in
    the step sees the old value. A step that is skipped, since its gradients are not finite, leaves
    the state as it is, and so does evaluation.

    `value` takes the way of a gradient of `state`: `dtc-differentiate` returns it in the gradient's place, and
    `@update` stores it as it is. So blocks, repeats, stages of a pipeline and ZeRO handle it as they handle gradients,
    and recomputation counts nothing twice. It is no part of the gradient norm, and nothing clips it. The op itself is
    gone after `dtc-differentiate`. A state is observed once in a step.

    With `rate` the state moves towards even values instead: it becomes state + rate * sign(mean - v), where v are the
    elements of the mean or sum and `mean` is theirs. So a bias of experts moves by their load (DeepSeek-V3,
    arXiv:2412.19437).

    Constraints:
    - (C1) `state` and `value` are in f32.
    - (C2) with `rate` the value is a mean or a sum.
    - (C3) `rate` is greater than 0.

    Example:
    ```mlir
    %z = graph.observe mean %y, %running_mean, %new : tensor<?x64x8x8xf32>, tensor<64xf32>
    %a = graph.observe max %y, %peak, %largest : tensor<?x64x8x8xf32>, tensor<64xf32>
    %b = graph.observe last %a, %count, %next : tensor<?x64x8x8xf32>, tensor<f32>
    %t = graph.observe sum %tokens, %correction, %uses rate 0.001 : tensor<?x128x16xf32>, tensor<8xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$x, Graph_FloatTensor:$state, Graph_FloatTensor:$value,
      Graph_ObserveKind:$kind, OptionalAttr<F64Attr>:$rate);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{$kind $x `,` $state `,` $value (`rate` $rate^)? attr-dict `:` type($x) `,`
    type($state)}];
  let hasVerifier = 1;
}

def Graph_FinishOp : Graph_Op<"finish", [Pure, Graph_Rule, Graph_Gradient, AllTypesMatch<["x", "result"]>]> {
  let summary = "A sum that ranks finish here, once";
  let description = [{
    Returns `x`, but not as a partial sum. What reads the result of a sum over ranks by several linear ops would finish
    it in each of them; `dtc-partition` replaces this op by the one collective that it takes.

    Example:
    ```mlir
    %mean = graph.finish %sum : tensor<64xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Graph_BatchNormOp : Graph_Op<"batch_norm", [Pure, Graph_ShortForm]> {
  let summary = "Normalises channels to mean 0 and variance 1 over the batch, then scales and shifts";
  let description = [{
    y = (x - mean) / sqrt(variance + epsilon) * weight + bias, where mean and the biased variance of a channel, dim 1,
    are over all other dims of `x`: torch.nn.BatchNorm1d, 2d and 3d in training. Statistics are of the whole batch, on
    whichever ranks its samples are, so that a step has one micro-batch; `parts` has them of the samples that a rank has
    in a micro-batch, as torch.nn.parallel.DistributedDataParallel does, so that the plan decides what is computed.
    Source: Ioffe and Szegedy 2015, arXiv:1502.03167.

    `state` are the running mean, the running variance and the number of steps, frozen parameters in f32. A step makes
    running = (1 - momentum) running + momentum * statistic, with the unbiased variance (n / (n - 1) times the biased
    one); without `momentum`, the mean over all steps. Evaluation (`dtrun --eval-data`) normalises by them, not by the
    statistics of its own samples.

    A short form, which `dtc-complete-ops` writes out as `graph.batch_normalise` and a `graph.observe` for each state.

    Constraints:
    - (C1) `x` has at least 2 dims.
    - (C2) weight and bias have one element per channel, and the element type of `x`.
    - (C3) `state` has none or three tensors: two of one element per channel, and one without dims, in f32.
    - (C4) `momentum` is from 0 to 1, (C5) and only with `state`.
    - (C6) `epsilon` is above 0 and below 1.

    Example:
    ```mlir
    %y = graph.batch_norm %x, %w, %b state %mean, %var, %steps momentum 0.1 : (tensor<?x64x8x8xf32>, tensor<64xf32>,
      tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<f32>) -> tensor<?x64x8x8xf32>
    %z = graph.batch_norm %x, %w, %b epsilon 0.001 : (tensor<?x64x8x8xf32>, tensor<64xf32>, tensor<64xf32>)
      -> tensor<?x64x8x8xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$weight, Graph_FloatTensor:$bias,
      Variadic<Graph_FloatTensor>:$state, OptionalAttr<F64Attr>:$momentum,
      DefaultValuedAttr<F64Attr, "1.0e-5">:$epsilon, UnitAttr:$parts);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = [{$x `,` $weight `,` $bias (`state` $state^)? (`momentum` $momentum^)? (`epsilon` $epsilon^)?
    (`parts` $parts^)? attr-dict `:` functional-type(operands, results)}];
  let hasVerifier = 1;
}

def Graph_BatchNormaliseOp : Graph_Op<"batch_normalise", [Pure, Graph_Rule, Graph_Gradient]> {
  let summary = "Batch norm with its statistics as results";
  let description = [{
    `graph.batch_norm`, complete: `mean`, `variance` (biased) and `unbiased` are the statistics of the channels. `held`
    are the running mean and variance, and the number of the step: where that is 0, in evaluation, they normalise. The
    gradient is that of training. With g = dy * weight, n elements in a channel and the normalised x^:
    dx = (g - mean(g) - x^ mean(g x^)) / sqrt(variance + epsilon), so that backward has two sums over the batch as well.

    On the mesh, channels split; over other dims the statistics are sums that ranks finish together, an all-reduce of 2
    numbers per channel in forward and of 2 in backward. `dtc-differentiate` replaces the op by ops with one sum each.

    Constraints:
    - (C1) `x` has at least 2 dims, (C2) and the result its type.
    - (C3) weight and bias have one element per channel, and the element type of `x`.
    - (C4) `mean`, `variance` and `unbiased` have one element per channel, in f32.
    - (C5) `held` has none or three tensors: two of one element per channel, and one without dims, in f32.
    - (C6) `epsilon` is above 0 and below 1.

    Example:
    ```mlir
    %y, %mean, %variance, %unbiased = graph.batch_normalise %x, %w, %b : (tensor<?x64x8x8xf32>, tensor<64xf32>,
      tensor<64xf32>) -> (tensor<?x64x8x8xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$weight, Graph_FloatTensor:$bias,
      Variadic<Graph_FloatTensor>:$held, DefaultValuedAttr<F64Attr, "1.0e-5">:$epsilon, UnitAttr:$parts);
  let results = (outs Graph_FloatTensor:$result, Graph_FloatTensor:$mean, Graph_FloatTensor:$variance,
      Graph_FloatTensor:$unbiased);
  let assemblyFormat = [{$x `,` $weight `,` $bias (`held` $held^)? (`epsilon` $epsilon^)? (`parts` $parts^)? attr-dict
    `:` functional-type(operands, results)}];
  let extraClassDeclaration = [{
    // Replaces the op by ops with one sum each; the batch is bound. Fails after a diagnostic if channels have a single
    // element, and so no variance.
    ::llvm::LogicalResult writeSums();
  }];
  let hasVerifier = 1;
}

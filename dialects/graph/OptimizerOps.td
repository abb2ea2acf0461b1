// The optimizer: fused, sharded and costed like everything else.
include "dialects/graph/GraphOpBase.td"

def Graph_AdamWOp : Graph_Op<"adamw", [Pure, Graph_Rule, Graph_Pointwise,
    AllTypesMatch<["param", "grad", "exp_avg", "exp_avg_sq", "new_param", "new_exp_avg", "new_exp_avg_sq"]>]> {
  let summary = "AdamW update with decoupled weight decay";
  let description = [{
    g = grad * grad_scale; m' = b1 m + (1-b1) g; v' = b2 v + (1-b2) g^2;
    p' = p - lr (m'/(1-b1^step) / (sqrt(v'/(1-b2^step)) + epsilon) + weight_decay p). `step` counts from 1. If `apply`
    is 0, as for a step whose gradients are not finite, p, m and v stay unchanged, whatever the gradient holds. Point by
    point, so any split of the parameter is possible; zeros stay zero.
    Source: Loshchilov and Hutter 2019, arXiv:1711.05101, as torch.optim.AdamW.

    Constraints:
    - (C1) `beta1` and `beta2` are from 0 to below 1.
    - (C2) `epsilon` is above 0 and below 1.
    - (C3) `weight_decay` is 0 or more.

    Example:
    ```mlir
    %p, %m, %v = graph.adamw %w, %g, %m0, %v0 lr %lr step %step grad_scale %clip apply %apply
      {beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, weight_decay = 0.1} : tensor<16x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$param, Graph_FloatTensor:$grad, Graph_FloatTensor:$exp_avg,
      Graph_FloatTensor:$exp_avg_sq,
    Graph_Scalar:$lr, Graph_Scalar:$step, Graph_Scalar:$grad_scale, Graph_Scalar:$apply,
    F64Attr:$beta1, F64Attr:$beta2, F64Attr:$epsilon, F64Attr:$weight_decay);
  let results = (outs Graph_FloatTensor:$new_param, Graph_FloatTensor:$new_exp_avg, Graph_FloatTensor:$new_exp_avg_sq);
  let assemblyFormat = "$param `,` $grad `,` $exp_avg `,` $exp_avg_sq `lr` $lr `step` $step `grad_scale` $grad_scale "
      "`apply` $apply attr-dict `:` type($param)";
  let hasVerifier = 1;
}

def Graph_SgdOp : Graph_Op<"sgd", [Pure, Graph_Rule, Graph_Pointwise,
    AllTypesMatch<["param", "grad", "buffer", "new_param", "new_buffer"]>]> {
  let summary = "SGD update with momentum and decoupled weight decay";
  let description = [{
    g = grad * grad_scale; b' = momentum b + g; p' = p - lr (b' + weight_decay p). As torch.optim.SGD but with decoupled
    decay. If `apply` is 0, as in `graph.adamw`, p and b stay unchanged.

    Constraints:
    - (C1) `momentum` is from 0 to below 1.
    - (C2) `weight_decay` is 0 or more.

    Example:
    ```mlir
    %p, %b = graph.sgd %w, %g, %b0 lr %lr grad_scale %clip apply %apply {momentum = 0.9, weight_decay = 0.0}
        : tensor<16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$param, Graph_FloatTensor:$grad, Graph_FloatTensor:$buffer,
    Graph_Scalar:$lr, Graph_Scalar:$grad_scale, Graph_Scalar:$apply, F64Attr:$momentum, F64Attr:$weight_decay);
  let results = (outs Graph_FloatTensor:$new_param, Graph_FloatTensor:$new_buffer);
  let assemblyFormat = "$param `,` $grad `,` $buffer `lr` $lr `grad_scale` $grad_scale `apply` $apply attr-dict `:` "
      "type($param)";
  let hasVerifier = 1;
}

def Graph_SumSquaresOp : Graph_Op<"sum_squares", [Pure, Graph_Rule]> {
  let summary = "Sums the squares of all elements";
  let description = [{
    Used on gradients, for their norm. On the mesh any split leaves a partial sum.

    Example:
    ```mlir
    %s = graph.sum_squares %grad : tensor<16x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x);
  let results = (outs Graph_Scalar:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Graph_ClipScaleOp : Graph_Op<"clip_scale", [Pure, Graph_Rule, Graph_Pointwise]> {
  let summary = "The factor that clips gradients to a global norm";
  let description = [{
    min(1, max_norm / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_.

    Constraints:
    - (C1) `max_norm` is above 0 and finite.

    Example:
    ```mlir
    %clip = graph.clip_scale %norm max 1.0
    ```
  }];
  let arguments = (ins Graph_Scalar:$norm, F64Attr:$max_norm);
  let results = (outs Graph_Scalar:$result);
  let assemblyFormat = "$norm `max` $max_norm attr-dict";
  let hasVerifier = 1;
}

def Graph_IsFiniteOp : Graph_Op<"is_finite", [Pure, Graph_Rule, Graph_Pointwise]> {
  let summary = "1 where x is a finite number, 0 where it is infinite or not a number";
  let description = [{
    Applied to the norm of all gradients, it decides if the step is applied: every rank knows the same norm, so all
    decide the same.

    Example:
    ```mlir
    %apply = graph.is_finite %norm
    ```
  }];
  let arguments = (ins Graph_Scalar:$x);
  let results = (outs Graph_Scalar:$result);
  let assemblyFormat = "$x attr-dict";
}

def Graph_NextLossScaleOp : Graph_Op<"next_loss_scale", [Pure, Graph_Rule, Graph_Pointwise]> {
  let summary = "The loss scale of the next step";
  let description = [{
    Gradients in f16 lose values below 2^-24, so the loss is scaled up before they are computed, as far as they do not
    overflow. With `apply` 1, `good`, the number of applied steps since the scale last changed, is incremented; when it
    reaches `growth_interval` the scale doubles, up to `largest`, and `good` restarts. With `apply` 0 the scale halves,
    down to 1, and `good` restarts. A scale that starts as a power of two stays one, so that scaling rounds nothing
    within the range of f16. Source: Micikevicius et al. 2018, arXiv:1710.03740, section 3.2; as torch.amp.GradScaler,
    which has no bounds.

    Constraints:
    - (C1) `growth_interval` is 1 or more.
    - (C2) `largest` is 1 or more and finite.

    Example:
    ```mlir
    %next, %next_good = graph.next_loss_scale %scale, %good apply %apply growth_interval 2000 largest 16777216.0
    ```
  }];
  let arguments = (ins Graph_Scalar:$scale, Graph_Scalar:$good, Graph_Scalar:$apply, I64Attr:$growth_interval,
      F64Attr:$largest);
  let results = (outs Graph_Scalar:$next_scale, Graph_Scalar:$next_good);
  let assemblyFormat = "$scale `,` $good `apply` $apply `growth_interval` $growth_interval `largest` $largest "
      "attr-dict";
  let hasVerifier = 1;
}

def Graph_InverseOrZeroOp : Graph_Op<"inverse_or_zero", [Pure, Graph_Rule, Graph_Pointwise]> {
  let summary = "1 / x, and 0 where x is 0";
  let description = [{
    The factor that turns sums over a step into means: 0 if nothing counted.

    Example:
    ```mlir
    %scale = graph.inverse_or_zero %weight
    ```
  }];
  let arguments = (ins Graph_Scalar:$x);
  let results = (outs Graph_Scalar:$result);
  let assemblyFormat = "$x attr-dict";
}

def Graph_LearningRateOp : Graph_Op<"learning_rate", [Pure, Graph_Rule, Graph_Pointwise]> {
  let summary = "The learning rate of this step";
  let description = [{
    Warm-up: base * step / warmup_steps while step <= warmup_steps. Then `constant`: base; `cosine`: from base to
    min_ratio * base at total_steps, and no lower after it. Source: Loshchilov and Hutter 2017, arXiv:1608.03983.

    Constraints:
    - (C1) `warmup_steps` is 0 or more.
    - (C2) `min_ratio` is from 0 to 1.

    Example:
    ```mlir
    %lr = graph.learning_rate cosine(%step, %base, %total) warmup 10 min_ratio 0.1
    ```
  }];
  let arguments = (ins Graph_Scalar:$step, Graph_Scalar:$base, Graph_Scalar:$total_steps, Graph_ScheduleKindAttr:$kind,
      I64Attr:$warmup_steps, F64Attr:$min_ratio);
  let results = (outs Graph_Scalar:$result);
  let assemblyFormat = "`` $kind `(` $step `,` $base `,` $total_steps `)` `warmup` $warmup_steps `min_ratio` "
      "$min_ratio attr-dict";
  let hasVerifier = 1;
}

// The optimizer: fused, sharded and costed like everything else.
include "dialects/graph/GraphOpBase.td"

// g = grad * grad_scale; m' = b1 m + (1-b1) g; v' = b2 v + (1-b2) g^2; p' = p - lr (m'/(1-b1^step) / (sqrt(v'/(1-b2^step)) + eps) + wd p).
// Source: Loshchilov and Hutter 2019, arXiv:1711.05101, as torch.optim.AdamW.
def Graph_AdamWOp : Graph_Op<"adamw", [Pure, Graph_Rule, Graph_Pointwise, AllTypesMatch<["param", "grad", "exp_avg", "exp_avg_sq", "new_param", "new_exp_avg", "new_exp_avg_sq"]>]> {
  let summary = "AdamW update with decoupled weight decay";
  let arguments = (ins Graph_FloatTensor:$param, Graph_FloatTensor:$grad, Graph_FloatTensor:$exp_avg, Graph_FloatTensor:$exp_avg_sq,
    Graph_Scalar:$lr, Graph_Scalar:$step, Graph_Scalar:$grad_scale,
    F64Attr:$beta1, F64Attr:$beta2, F64Attr:$epsilon, F64Attr:$weight_decay);
  let results = (outs Graph_FloatTensor:$new_param, Graph_FloatTensor:$new_exp_avg, Graph_FloatTensor:$new_exp_avg_sq);
  let assemblyFormat = "$param `,` $grad `,` $exp_avg `,` $exp_avg_sq `lr` $lr `step` $step `grad_scale` $grad_scale attr-dict `:` type($param)";
  let hasVerifier = 1;
}
// g = grad * grad_scale; b' = momentum b + g; p' = p - lr (b' + wd p). As torch.optim.SGD but with decoupled decay.
def Graph_SgdOp : Graph_Op<"sgd", [Pure, Graph_Rule, Graph_Pointwise, AllTypesMatch<["param", "grad", "buffer", "new_param", "new_buffer"]>]> {
  let summary = "SGD update with momentum and decoupled weight decay";
  let arguments = (ins Graph_FloatTensor:$param, Graph_FloatTensor:$grad, Graph_FloatTensor:$buffer,
    Graph_Scalar:$lr, Graph_Scalar:$grad_scale, F64Attr:$momentum, F64Attr:$weight_decay);
  let results = (outs Graph_FloatTensor:$new_param, Graph_FloatTensor:$new_buffer);
  let assemblyFormat = "$param `,` $grad `,` $buffer `lr` $lr `grad_scale` $grad_scale attr-dict `:` type($param)";
  let hasVerifier = 1;
}
// Sum of the squares of all elements.
def Graph_SumSquaresOp : Graph_Op<"sum_squares", [Pure, Graph_Rule]> {
  let summary = "Sums the squares of all elements";
  let arguments = (ins Graph_FloatTensor:$x);
  let results = (outs Graph_Scalar:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}
// min(1, max_norm / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_.
def Graph_ClipScaleOp : Graph_Op<"clip_scale", [Pure, Graph_Rule, Graph_Pointwise]> {
  let summary = "The factor that clips gradients to a global norm";
  let arguments = (ins Graph_Scalar:$norm, F64Attr:$max_norm);
  let results = (outs Graph_Scalar:$result);
  let assemblyFormat = "$norm `max` $max_norm attr-dict";
  let hasVerifier = 1;
}
// constant: base after warm-up. cosine: from base to min_ratio * base at total_steps. Warm-up: base * step / warmup_steps while step <= warmup_steps.
def Graph_LearningRateOp : Graph_Op<"learning_rate", [Pure, Graph_Rule, Graph_Pointwise]> {
  let summary = "The learning rate of this step";
  let arguments = (ins Graph_Scalar:$step, Graph_Scalar:$base, Graph_Scalar:$total_steps, Graph_ScheduleKindAttr:$kind, I64Attr:$warmup_steps, F64Attr:$min_ratio);
  let results = (outs Graph_Scalar:$result);
  let assemblyFormat = "$kind `(` $step `,` $base `,` $total_steps `)` `warmup` $warmup_steps `min_ratio` $min_ratio attr-dict";
  let hasVerifier = 1;
}

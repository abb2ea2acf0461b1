// Optimizers that update a tensor as a whole: with a learning rate from the norms of the tensor and of its update, or
// with the nearest orthogonal matrix.
include "dialects/graph/GraphOpBase.td"

def Graph_LambDirectionOp : Graph_Op<"lamb_direction", [Pure, Graph_Rule, Graph_Pointwise,
    AllTypesMatch<["param", "grad", "exp_avg", "exp_avg_sq", "direction", "new_exp_avg", "new_exp_avg_sq"]>]> {
  let summary = "The direction in which LAMB moves a parameter, before the trust ratio";
  let description = [{
    g = grad * grad_scale; m' = b1 m + (1-b1) g; v' = b2 v + (1-b2) g^2;
    d = m'/(1-b1^step) / (sqrt(v'/(1-b2^step)) + epsilon) + weight_decay p. `step` counts from 1. If `apply` is 0, as in
    `graph.adamw`, m and v stay unchanged. Point by point; zeros stay zero.
    Source: You et al. 2020, arXiv:1904.00962, algorithm 2.

    Constraints:
    - (C1) `beta1` and `beta2` are from 0 to below 1.
    - (C2) `epsilon` is above 0 and below 1.
    - (C3) `weight_decay` is 0 or more.

    Example:
    ```mlir
    %d, %m, %v = graph.lamb_direction %w, %g, %m0, %v0 step %step grad_scale %clip apply %apply
      {beta1 = 0.9, beta2 = 0.999, epsilon = 1.0e-6, weight_decay = 0.01} : tensor<16x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$param, Graph_FloatTensor:$grad, Graph_FloatTensor:$exp_avg,
      Graph_FloatTensor:$exp_avg_sq,
    Graph_Scalar:$step, Graph_Scalar:$grad_scale, Graph_Scalar:$apply,
    F64Attr:$beta1, F64Attr:$beta2, F64Attr:$epsilon, F64Attr:$weight_decay);
  let results = (outs Graph_FloatTensor:$direction, Graph_FloatTensor:$new_exp_avg, Graph_FloatTensor:$new_exp_avg_sq);
  let assemblyFormat = "$param `,` $grad `,` $exp_avg `,` $exp_avg_sq `step` $step `grad_scale` $grad_scale `apply` "
      "$apply attr-dict `:` type($param)";
  let hasVerifier = 1;
}

def Graph_TrustRatioOp : Graph_Op<"trust_ratio", [Pure, Graph_Rule, Graph_Pointwise]> {
  let summary = "The factor of a tensor's update, from the norms of tensor and update";
  let description = [{
    coefficient * |p| / (|d| + decay |p|), from the squares of both norms; 1 if one of them is 0. With coefficient 1 and
    decay 0 it is the ratio of LAMB (You et al. 2020, arXiv:1904.00962, algorithm 2), with the weight decay that of LARS
    (You et al. 2017, arXiv:1708.03888, equation 6).

    Constraints:
    - (C1) `coefficient` is above 0 and finite.
    - (C2) `decay` is 0 or more.

    Example:
    ```mlir
    %ratio = graph.trust_ratio %parameter, %direction coefficient 1.0 decay 0.0
    ```
  }];
  let arguments = (ins Graph_Scalar:$param_squares, Graph_Scalar:$direction_squares, F64Attr:$coefficient,
      F64Attr:$decay);
  let results = (outs Graph_Scalar:$result);
  let assemblyFormat = "$param_squares `,` $direction_squares `coefficient` $coefficient `decay` $decay attr-dict";
  let hasVerifier = 1;
}

def Graph_DescendOp : Graph_Op<"descend", [Pure, Graph_Rule, Graph_Pointwise,
    AllTypesMatch<["param", "direction", "new_param"]>]> {
  let summary = "Moves a parameter against a direction";
  let description = [{
    p' = p - lr ratio d; p if `apply` is 0, as in `graph.adamw`.

    Example:
    ```mlir
    %p = graph.descend %w, %d lr %lr ratio %ratio apply %apply : tensor<16x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$param, Graph_FloatTensor:$direction, Graph_Scalar:$lr, Graph_Scalar:$ratio,
      Graph_Scalar:$apply);
  let results = (outs Graph_FloatTensor:$new_param);
  let assemblyFormat = "$param `,` $direction `lr` $lr `ratio` $ratio `apply` $apply attr-dict `:` type($param)";
}

def Graph_LarsOp : Graph_Op<"lars", [Pure, Graph_Rule, Graph_Pointwise,
    AllTypesMatch<["param", "grad", "buffer", "new_param", "new_buffer"]>]> {
  let summary = "LARS update, given the tensor's trust ratio";
  let description = [{
    g = grad * grad_scale + weight_decay p; b' = momentum b + lr ratio g; p' = p - b'. The learning rate is inside of
    the momentum, as in the paper. If `apply` is 0, as in `graph.adamw`, p and b stay unchanged. Point by point; zeros
    stay zero. Source: You et al. 2017, arXiv:1708.03888, algorithm 1.

    Constraints:
    - (C1) `momentum` is from 0 to below 1.
    - (C2) `weight_decay` is 0 or more.

    Example:
    ```mlir
    %p, %b = graph.lars %w, %g, %b0 lr %lr grad_scale %clip ratio %ratio apply %apply
        {momentum = 0.9, weight_decay = 0.0} : tensor<16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$param, Graph_FloatTensor:$grad, Graph_FloatTensor:$buffer,
    Graph_Scalar:$lr, Graph_Scalar:$grad_scale, Graph_Scalar:$ratio, Graph_Scalar:$apply, F64Attr:$momentum,
    F64Attr:$weight_decay);
  let results = (outs Graph_FloatTensor:$new_param, Graph_FloatTensor:$new_buffer);
  let assemblyFormat = "$param `,` $grad `,` $buffer `lr` $lr `grad_scale` $grad_scale `ratio` $ratio `apply` $apply "
      "attr-dict `:` type($param)";
  let hasVerifier = 1;
}

def Graph_WholeMatrixOp : Graph_Op<"whole_matrix", [Pure, Graph_Rule, AllTypesMatch<["x", "result"]>]> {
  let summary = "Matrices of which no rank has only a part";
  let description = [{
    Returns `x`. Its first `batch` dims count matrices, which split over the mesh; all other dims are rows and columns
    of a matrix, which do not: where ranks have parts of them, `dtc-partition` gathers them here. Makes no instruction
    otherwise.

    Constraints:
    - (C1) `batch` is 0 or more, and leaves at least two dims.

    Example:
    ```mlir
    %whole = graph.whole_matrix %part batch 1 : tensor<8x16x32xbf16>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, DefaultValuedAttr<I64Attr, "0">:$batch);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x (`batch` $batch^)? attr-dict `:` type($x)";
  let hasVerifier = 1;
}

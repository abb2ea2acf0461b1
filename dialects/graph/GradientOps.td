// Backward ops: what the gradients of the layers are made of.
include "dialects/graph/GraphOpBase.td"

// dw = sum over the leading dims of x[..., in...]^T dy[..., out...]; [in..., out...], or [out..., in...] with `transposed`.
// `contract` = number of in dims of x; leading dims are the others of x.
def Graph_LinearWeightGradOp : Graph_Op<"linear_weight_grad", [Pure, Graph_Rule]> {
  let summary = "Gradient of linear with respect to its weight";
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$dy, DefaultValuedAttr<I64Attr, "1">:$contract, UnitAttr:$transposed);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `,` $dy (`contract` $contract^)? (`transposed` $transposed^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
// grad[ids[...], :] += dy[..., :]; result is the table's shape (split over rows: ids outside are skipped).
def Graph_EmbeddingGradOp : Graph_Op<"embedding_grad", [Pure, Graph_Rule]> {
  let summary = "Gradient of embedding with respect to its table";
  let arguments = (ins Graph_IntTensor:$ids, Graph_FloatTensor:$dy, OptionalAttr<ArrayAttr>:$windows);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$ids `,` $dy attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_LayerNormGradOp : Graph_Op<"layer_norm_grad", [Pure, Graph_Rule]> {
  let summary = "Gradient of layer_norm with respect to x";
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$weight, Graph_FloatTensor:$mean, Graph_FloatTensor:$rstd, Graph_FloatTensor:$dy);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `,` $weight `,` $mean `,` $rstd `,` $dy attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
// dweight = sum over rows of dy * (x - mean) * rstd; dbias = sum over rows of dy.
def Graph_LayerNormParamGradOp : Graph_Op<"layer_norm_param_grad", [Pure, Graph_Rule]> {
  let summary = "Gradients of layer_norm with respect to weight and bias";
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$mean, Graph_FloatTensor:$rstd, Graph_FloatTensor:$dy);
  let results = (outs Graph_FloatTensor:$dweight, Graph_FloatTensor:$dbias);
  let assemblyFormat = "$x `,` $mean `,` $rstd `,` $dy attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_RmsNormGradOp : Graph_Op<"rms_norm_grad", [Pure, Graph_Rule]> {
  let summary = "Gradient of rms_norm with respect to x";
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$weight, Graph_FloatTensor:$rstd, Graph_FloatTensor:$dy);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `,` $weight `,` $rstd `,` $dy attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_RmsNormParamGradOp : Graph_Op<"rms_norm_param_grad", [Pure, Graph_Rule]> {
  let summary = "Gradient of rms_norm with respect to weight";
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$rstd, Graph_FloatTensor:$dy);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `,` $rstd `,` $dy attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
// lse and dlse: only what attention returned; a gradient into lse is not supported.
def Graph_AttentionGradOp : Graph_Op<"attention_grad", [Pure, AttrSizedOperandSegments, Graph_Rule, Graph_Random]> {
  let summary = "Gradients of attention with respect to q, k and v";
  let arguments = (ins Graph_FloatTensor:$q, Graph_FloatTensor:$k, Graph_FloatTensor:$v, Graph_FloatTensor:$out, Graph_FloatTensor:$lse,
    Graph_FloatTensor:$dout, Optional<Graph_Seed>:$seed, Optional<Graph_Scalar>:$step,
    UnitAttr:$causal, F64Attr:$scale, DefaultValuedAttr<F64Attr, "0.0">:$dropout, DefaultValuedAttr<I64Attr, "0">:$id,
    DefaultValuedAttr<I64Attr, "0">:$first_sample, OptionalAttr<ArrayAttr>:$windows);
  let results = (outs Graph_FloatTensor:$dq, Graph_FloatTensor:$dk, Graph_FloatTensor:$dv);
  let assemblyFormat = [{$q `,` $k `,` $v `,` $out `,` $lse `,` $dout (`causal` $causal^)? `scale` $scale (`dropout` $dropout^ `id` $id `key` `(` $seed `,` $step `)`)?
    attr-dict `:` functional-type(operands, results)}];
  let hasVerifier = 1;
}
// dlogits = (exp(logits - lse) - onehot(targets)) * dloss; words are global indices, padded words get 0.
def Graph_CrossEntropyGradOp : Graph_Op<"cross_entropy_grad", [Pure, Graph_Rule]> {
  let summary = "Gradient of cross_entropy with respect to the logits";
  let arguments = (ins Graph_FloatTensor:$logits, Graph_IntTensor:$targets, Graph_FloatTensor:$lse, Graph_FloatTensor:$dloss, OptionalAttr<ArrayAttr>:$windows);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$logits `,` $targets `,` $lse `,` $dloss attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
// dx = (dy - sum(dy * y)) * y over the last dim.
def Graph_SoftmaxGradOp : Graph_Op<"softmax_grad", [Pure, Graph_Rule, SameOperandsAndResultType]> {
  let summary = "Gradient of softmax";
  let arguments = (ins Graph_FloatTensor:$y, Graph_FloatTensor:$dy);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$y `,` $dy attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Graph_GeluGradOp : Graph_Op<"gelu_grad", [Pure, Graph_Rule, Graph_Pointwise, SameOperandsAndResultType]> {
  let summary = "Gradient of gelu";
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$dy, Graph_GeluKindAttr:$kind);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$kind $x `,` $dy attr-dict `:` type($x)";
}
def Graph_SiluGradOp : Graph_Op<"silu_grad", [Pure, Graph_Rule, Graph_Pointwise, SameOperandsAndResultType]> {
  let summary = "Gradient of silu";
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$dy);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `,` $dy attr-dict `:` type($x)";
}
// dx = dy where x == y (the maximum along dims), else 0; ties all receive dy.
def Graph_SelectEqualOp : Graph_Op<"select_equal", [Pure, Graph_Rule, Graph_Pointwise]> {
  let summary = "Passes dy where x equals y, else 0 (operands broadcast); the gradient of maximum, minimum and reduce max";
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$y, Graph_FloatTensor:$dy);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `,` $y `,` $dy attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

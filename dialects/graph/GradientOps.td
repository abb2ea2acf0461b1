// Backward ops of the layers.
include "dialects/graph/GraphOpBase.td"

def Graph_LinearWeightGradOp : Graph_Op<"linear_weight_grad", [Pure, Graph_Rule]> {
  let summary = "Gradient of linear with respect to its weight";
  let description = [{
    dw = sum over the leading dims of x[..., in...]^T dy[..., out...]: [in..., out...], or [out..., in...] with
    `transposed`. `contract` is the number of in dims of x; the leading dims are the others. On the mesh split leading
    dims (data and sequence parallelism) leave a partial sum.

    Constraints:
    - (C1) `contract` is 1 up to the number of dims of `x`.
    - (C2) `dy` has the leading dims of `x` and at least one out dim.
    - (C3) the result has the shape of the weight.
    - (C4) `x` and `dy` have the same element type, (C5) the result has it too, or f32.

    Example:
    ```mlir
    %dw = graph.linear_weight_grad %x, %dy : (tensor<?x8x16xf32>, tensor<?x8x3x2x8xf32>) -> tensor<16x3x2x8xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$dy, DefaultValuedAttr<I64Attr, "1">:$contract,
      UnitAttr:$transposed);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `,` $dy (`contract` $contract^)? (`transposed` $transposed^)? attr-dict `:` "
      "functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_EmbeddingGradOp : Graph_Op<"embedding_grad", [Pure, Graph_Rule]> {
  let summary = "Gradient of embedding with respect to its table";
  let description = [{
    grad[ids[...], :] += dy[..., :] from zero, in order of the ids; the result has the table's shape. On the mesh ids
    are global: those outside of this rank's rows (`windows`) are skipped, and split ids leave a partial sum. The row
    `padding` of the whole table stays zero: ids that equal it are skipped too.

    Constraints:
    - (C1) the result is [rows, columns].
    - (C2) `dy` is [ids..., columns].
    - (C3) the result has the element type of `dy`, or f32.
    - (C4) `windows` are about the rows.
    - (C5) `padding` is a row of the whole table.

    Example:
    ```mlir
    %dt = graph.embedding_grad %tokens, %dy : (tensor<?x8xi32>, tensor<?x8x16xf32>) -> tensor<256x16xf32>
    %dp = graph.embedding_grad %tokens, %dy padding 0 : (tensor<?x8xi32>, tensor<?x8x16xf32>) -> tensor<256x16xf32>
    ```
  }];
  let arguments = (ins Graph_IntTensor:$ids, Graph_FloatTensor:$dy, OptionalAttr<I64Attr>:$padding,
    OptionalAttr<ArrayAttr>:$windows);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$ids `,` $dy (`padding` $padding^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

class Graph_NormGradOp<string mnemonic, string what, string text, list<Trait> traits = []>
    : Graph_Op<mnemonic, [Pure, Graph_Rule] # traits> {
  let summary = what;
  let description = text # [{

    Constraints:
    - (C1) `x` has at least 1 dim.
    - (C2) `dy`, and the gradient of x, have the type of `x`.
    - (C3) the statistics have the shape of `x` without its last dim, in f32.
    - (C4) weights and their gradients have the last dim of `x`.
  }];
  let hasVerifier = 1;
}

def Graph_LayerNormGradOp : Graph_NormGradOp<"layer_norm_grad", "Gradient of layer_norm with respect to x", [{
    dx = rstd (g - mean(g) - n mean(g n)) with g = dy * weight and n = (x - mean) rstd, means over the last dim.
    Rows split over the mesh; if the last dim is split, the op finishes the means itself.

    Example:
    ```mlir
    %dx = graph.layer_norm_grad %x, %w, %mean, %rstd, %dy
      : (tensor<?x16xf32>, tensor<16xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?x16xf32>) -> tensor<?x16xf32>
    ```}], [Graph_Decompose]> {
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$weight, Graph_FloatTensor:$mean,
      Graph_FloatTensor:$rstd, Graph_FloatTensor:$dy);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `,` $weight `,` $mean `,` $rstd `,` $dy attr-dict `:` functional-type(operands, results)";
}

def Graph_LayerNormParamGradOp : Graph_NormGradOp<"layer_norm_param_grad",
    "Gradients of layer_norm with respect to weight and bias", [{
    dweight = sum over rows of dy * (x - mean) * rstd; dbias = sum over rows of dy. On the mesh split rows leave partial
    sums; the last dim splits too, as the statistics are given.

    Example:
    ```mlir
    %dw, %db = graph.layer_norm_param_grad %x, %mean, %rstd, %dy
      : (tensor<?x16xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?x16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
    ```}]> {
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$mean, Graph_FloatTensor:$rstd, Graph_FloatTensor:$dy);
  let results = (outs Graph_FloatTensor:$dweight, Graph_FloatTensor:$dbias);
  let assemblyFormat = "$x `,` $mean `,` $rstd `,` $dy attr-dict `:` functional-type(operands, results)";
}

def Graph_RmsNormGradOp : Graph_NormGradOp<"rms_norm_grad", "Gradient of rms_norm with respect to x", [{
    dx = rstd (g - n mean(g n)) with g = dy * weight and n = x rstd, the mean over the last dim. Rows split over the
    mesh; if the last dim is split, the op finishes the mean itself.

    Example:
    ```mlir
    %dx = graph.rms_norm_grad %x, %w, %rstd, %dy
      : (tensor<?x16xf32>, tensor<16xf32>, tensor<?xf32>, tensor<?x16xf32>) -> tensor<?x16xf32>
    ```}], [Graph_Decompose]> {
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$weight, Graph_FloatTensor:$rstd, Graph_FloatTensor:$dy);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `,` $weight `,` $rstd `,` $dy attr-dict `:` functional-type(operands, results)";
}

def Graph_RmsNormParamGradOp : Graph_NormGradOp<"rms_norm_param_grad", "Gradient of rms_norm with respect to weight", [{
    dweight = sum over rows of dy * x * rstd. On the mesh split rows leave a partial sum; the last dim splits too.

    Example:
    ```mlir
    %dw = graph.rms_norm_param_grad %x, %rstd, %dy
      : (tensor<?x16xf32>, tensor<?xf32>, tensor<?x16xf32>) -> tensor<16xf32>
    ```}]> {
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$rstd, Graph_FloatTensor:$dy);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `,` $rstd `,` $dy attr-dict `:` functional-type(operands, results)";
}

def Graph_AttentionGradOp : Graph_Op<"attention_grad", [Pure, AttrSizedOperandSegments, Graph_Rule, Graph_Random]> {
  let summary = "Gradients of attention with respect to q, k, v and bias";
  let description = [{
    Recomputes the scores from q, k and `lse`; `out` and `lse` are the results of attention, and the key is the same.
    Sinks need no operand here, since `lse` has them; their own gradient is made of `lse`, `out` and `dout` by other
    ops. `dlse` is the gradient of lse, if it has one. `dbias`, which is there if it is wanted, is summed over the dims
    that share their bias. Splits as attention does; flops are 4 per batch, head, query, key and head_dim of k and of v
    (four matrix products; recomputed ones are not counted, as in Megatron-LM). Source: Dao 2023, arXiv:2307.08691,
    algorithm 2.

    Constraints: (C1) to (C11), (C13), (C14) and (C16) to (C21) of `graph.attention`, and
    - (C1) `dq` has the type of `q`, `dk` that of `k`, `dv` that of `v`; `out` and `dout` that of attention's result.
    - (C2) `dlse` has the type of `lse`.
    - (C3) `dbias` has the type of `bias`.

    Example:
    ```mlir
    %dq, %dk, %dv = graph.attention_grad %q, %k, %v, %out, %lse, %dout causal scale 0.25
      : (tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>, tensor<?x2x8xf32>,
         tensor<?x8x2x16xf32>) -> (tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>)
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$q, Graph_FloatTensor:$k, Graph_FloatTensor:$v, Graph_FloatTensor:$out,
      Graph_FloatTensor:$lse,
    Graph_FloatTensor:$dout, Optional<Graph_FloatTensor>:$dlse, Optional<Graph_IntTensor>:$lengths,
    Optional<Graph_FloatTensor>:$bias, Optional<Graph_FloatTensor>:$slopes, Optional<Graph_IntTensor>:$documents,
    Optional<Graph_IntTensor>:$starts, Optional<Graph_Seed>:$seed, Optional<Graph_Scalar>:$step, UnitAttr:$causal,
    OptionalAttr<I64Attr>:$sliding, OptionalAttr<I64Attr>:$prefix, OptionalAttr<F64Attr>:$soft_cap, F64Attr:$scale,
    DefaultValuedAttr<F64Attr, "0.0">:$dropout, DefaultValuedAttr<I64Attr, "0">:$id,
    OptionalAttr<ArrayAttr>:$windows);
  let results = (outs Graph_FloatTensor:$dq, Graph_FloatTensor:$dk, Graph_FloatTensor:$dv,
    Optional<Graph_FloatTensor>:$dbias);
  let assemblyFormat = [{$q `,` $k `,` $v `,` $out `,` $lse `,` $dout (`dlse` $dlse^)? (`lengths` $lengths^)?
      (`bias` $bias^)? (`slopes` $slopes^)? (`documents` $documents^)? (`starts` $starts^)? (`causal` $causal^)?
      (`sliding` $sliding^)? (`prefix` $prefix^)? (`soft_cap` $soft_cap^)? `scale` $scale
      (`dropout` $dropout^ `id` $id `key` `(` $seed `,` $step `)`)?
    attr-dict `:` functional-type(operands, results)}];
  let extraClassDeclaration = [{
    // As of AttentionOp.
    ::llvm::StringRef getOperandName(unsigned operand);
  }];
  let hasVerifier = 1;
}

def Graph_CrossEntropyGradOp : Graph_Op<"cross_entropy_grad", [Pure, Graph_Rule]> {
  let summary = "Gradient of cross_entropy with respect to the logits";
  let description = [{
    dlogits = (exp(logits - lse) - onehot(targets)) * dloss. On the mesh rows and vocabulary entries split; targets are
    global entries. Padded entries (`windows`) get 0, and so do rows whose target is the index after `ignoring`.

    Constraints:
    - (C1) `logits` has at least 1 dim.
    - (C2) `targets`, `lse` and `dloss` have the other dims, (C3) the last two in f32.
    - (C4) the result has the type of `logits`.
    - (C5) `windows` are about the vocabulary entries.
    - (C6) the ignored index is a value of the targets' type.

    Example:
    ```mlir
    %d = graph.cross_entropy_grad %logits, %targets, %lse, %dloss
      : (tensor<?x8x256xf32>, tensor<?x8xi32>, tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8x256xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$logits, Graph_IntTensor:$targets, Graph_FloatTensor:$lse,
      Graph_FloatTensor:$dloss,
    OptionalAttr<I64Attr>:$ignoring, OptionalAttr<ArrayAttr>:$windows);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$logits `,` $targets `,` $lse `,` $dloss "
      "(`ignoring` $ignoring^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_SoftmaxGradOp : Graph_Op<"softmax_grad", [Pure, Graph_Rule, Graph_Decompose, SameOperandsAndResultType]> {
  let summary = "Gradient of softmax";
  let description = [{
    dx = (dy - sum(dy * y)) * y over the last dim, where y is the result of softmax. Rows split over the mesh; if the
    last dim is split, the op finishes the sum itself.

    Constraints:
    - (C1) `y` has at least 1 dim.

    Example:
    ```mlir
    %dx = graph.softmax_grad %y, %dy : tensor<?x8x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$y, Graph_FloatTensor:$dy);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$y `,` $dy attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Graph_GeluGradOp : Graph_Op<"gelu_grad", [Pure, Graph_Rule, Graph_Pointwise, SameOperandsAndResultType]> {
  let summary = "Gradient of gelu";
  let description = [{
    dx = gelu'(x) * dy, point by point, for the same kind.

    Example:
    ```mlir
    %dx = graph.gelu_grad tanh %x, %dy : tensor<?x8x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$dy, Graph_GeluKindAttr:$kind);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "`` $kind $x `,` $dy attr-dict `:` type($x)";
}

def Graph_SiluGradOp : Graph_Op<"silu_grad", [Pure, Graph_Rule, Graph_Pointwise, SameOperandsAndResultType]> {
  let summary = "Gradient of silu";
  let description = [{
    dx = s (1 + x (1 - s)) * dy with s = 1 / (1 + exp(-x)), point by point.

    Example:
    ```mlir
    %dx = graph.silu_grad %x, %dy : tensor<?x8x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$dy);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `,` $dy attr-dict `:` type($x)";
}

def Graph_SelectEqualOp : Graph_Op<"select_equal", [Pure, Graph_Rule, Graph_Pointwise]> {
  let summary = "Passes dy where x equals y, else 0";
  let description = [{
    The gradient of maximum, minimum and reduce max, with y their result; if several are equal, all receive dy. Operands
    broadcast.

    Constraints: (C1) to (C3) of `graph.add`.

    Example:
    ```mlir
    %dx = graph.select_equal %x, %y, %dy : (tensor<16xf32>, tensor<?x16xf32>, tensor<?x16xf32>) -> tensor<?x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$y, Graph_FloatTensor:$dy);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `,` $y `,` $dy attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

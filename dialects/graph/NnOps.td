// The layers of a model, forward.
include "dialects/graph/GraphOpBase.td"

// y[..., out...] = sum over in... of x[..., in...] * w. `contract` = number of in dims. w is [in..., out...], or
// [out..., in...] with `transposed` (torch.nn.Linear; without it Hugging Face's Conv1D). Closed under input gradient:
// dx = linear(dy, w) with the flag flipped and contract = number of out dims.
// %y = graph.linear %x, %w contract 1 transposed : (tensor<?x8x16xf32>, tensor<32x16xf32>) -> tensor<?x8x32xf32>
def Graph_LinearOp : Graph_Op<"linear", [Pure, Graph_Rule, Graph_Gradient]> {
  let summary = "Multiplies trailing dims by a weight";
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$weight, DefaultValuedAttr<I64Attr, "1">:$contract, UnitAttr:$transposed);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `,` $weight (`contract` $contract^)? (`transposed` $transposed^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
// Batched: a [batch..., m, k] (or [batch..., k, m] with transpose_a), b likewise; same batch dims.
def Graph_MatmulOp : Graph_Op<"matmul", [Pure, Graph_Rule, Graph_Gradient]> {
  let summary = "Multiplies matrices, batch by batch";
  let arguments = (ins Graph_FloatTensor:$a, Graph_FloatTensor:$b, UnitAttr:$transpose_a, UnitAttr:$transpose_b);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$a (`transposed` $transpose_a^)? `,` $b (`transposed` $transpose_b^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
// out[..., c] = table[ids[...], c]. Split over rows: ids outside this rank's rows give 0, so the result is partial(sum).
def Graph_EmbeddingOp : Graph_Op<"embedding", [Pure, Graph_Rule, Graph_Gradient]> {
  let summary = "Looks up rows of a table";
  let arguments = (ins Graph_FloatTensor:$table, Graph_IntTensor:$ids, OptionalAttr<ArrayAttr>:$windows);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$table `,` $ids attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
// Over the last dim. mean, rstd: the shape without it, kept for backward.
def Graph_LayerNormOp : Graph_Op<"layer_norm", [Pure, Graph_Rule, Graph_Gradient]> {
  let summary = "Normalises rows to mean 0 and variance 1, then scales and shifts";
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$weight, Graph_FloatTensor:$bias, DefaultValuedAttr<F64Attr, "1.0e-5">:$epsilon);
  let results = (outs Graph_FloatTensor:$result, Graph_FloatTensor:$mean, Graph_FloatTensor:$rstd);
  let assemblyFormat = "$x `,` $weight `,` $bias (`epsilon` $epsilon^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_RmsNormOp : Graph_Op<"rms_norm", [Pure, Graph_Rule, Graph_Gradient]> {
  let summary = "Divides rows by their root mean square, then scales";
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$weight, DefaultValuedAttr<F64Attr, "1.0e-5">:$epsilon);
  let results = (outs Graph_FloatTensor:$result, Graph_FloatTensor:$rstd);
  let assemblyFormat = "$x `,` $weight (`epsilon` $epsilon^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
// cos, sin [sequence, head_dim / 2] of position * inverse_frequencies[i].
def Graph_RotaryTableOp : Graph_Op<"rotary_table", [Pure, Graph_Rule, Graph_IndexedPointwise]> {
  let summary = "Makes the cosines and sines of rotary position embedding";
  let arguments = (ins DenseF64ArrayAttr:$inverse_frequencies, OptionalAttr<ArrayAttr>:$windows);
  let results = (outs Graph_FloatTensor:$cos, Graph_FloatTensor:$sin);
  let assemblyFormat = "$inverse_frequencies attr-dict `:` type($cos) `,` type($sin)";
  let hasVerifier = 1;
}
// x [batch, sequence, heads, head_dim]; pairs are (i, i + head_dim/2), as Hugging Face. `inverse` rotates back: the gradient.
def Graph_RotaryOp : Graph_Op<"rotary", [Pure, Graph_Rule, Graph_Gradient]> {
  let summary = "Rotates pairs of head dims by an angle that grows with position";
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$cos, Graph_FloatTensor:$sin, UnitAttr:$inverse);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `,` $cos `,` $sin (`inverse` $inverse^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
// q [batch, queries, heads, head_dim]; k, v [batch, keys, kv_heads, head_dim]; lse f32 [batch, heads, queries].
// Rule: batch and kv-head loops split; q's head dim is (kv head, group), so heads follow kv heads.
// dropout > 0 needs seed and step.
def Graph_AttentionOp : Graph_Op<"attention", [Pure, AttrSizedOperandSegments, Graph_Rule, Graph_Gradient, Graph_Random]> {
  let summary = "Softmax attention, causal or full, with grouped queries";
  let arguments = (ins Graph_FloatTensor:$q, Graph_FloatTensor:$k, Graph_FloatTensor:$v,
    Optional<Graph_Seed>:$seed, Optional<Graph_Scalar>:$step,
    UnitAttr:$causal, F64Attr:$scale, DefaultValuedAttr<F64Attr, "0.0">:$dropout, DefaultValuedAttr<I64Attr, "0">:$id,
    DefaultValuedAttr<I64Attr, "0">:$first_sample, OptionalAttr<ArrayAttr>:$windows);
  let results = (outs Graph_FloatTensor:$result, Graph_FloatTensor:$lse);
  let assemblyFormat = [{$q `,` $k `,` $v (`causal` $causal^)? `scale` $scale (`dropout` $dropout^ `id` $id `key` `(` $seed `,` $step `)`)?
    attr-dict `:` functional-type(operands, results)}];
  let hasVerifier = 1;
}
// loss[...] = lse[...] - logits[..., targets[...]], lse = log(sum(exp(logits))) over the last dim.
def Graph_CrossEntropyOp : Graph_Op<"cross_entropy", [Pure, Graph_Rule, Graph_Gradient]> {
  let summary = "Loss of each token";
  let arguments = (ins Graph_FloatTensor:$logits, Graph_IntTensor:$targets);
  let results = (outs Graph_FloatTensor:$loss, Graph_FloatTensor:$lse);
  let assemblyFormat = "$logits `,` $targets attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
// The parts of cross_entropy that split over words: sum over the last dim of exp(x - max), and x[..., targets[...]]
// (0 where the target is not among this rank's words). Padded words count as -infinity.
def Graph_SumExpOp : Graph_Op<"sum_exp", [Pure, Graph_Rule]> {
  let summary = "Sums exp(x - max) over the last dim";
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$max, OptionalAttr<ArrayAttr>:$windows);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `,` $max attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_PickOp : Graph_Op<"pick", [Pure, Graph_Rule]> {
  let summary = "Picks one element of the last dim";
  let arguments = (ins Graph_FloatTensor:$x, Graph_IntTensor:$targets, OptionalAttr<ArrayAttr>:$windows);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `,` $targets attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_SoftmaxOp : Graph_Op<"softmax", [Pure, Graph_Rule, Graph_Gradient, SameOperandsAndResultType]> {
  let summary = "Softmax over the last dim";
  let arguments = (ins Graph_FloatTensor:$x);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($result)";
  let hasVerifier = 1;
}
// Zeroes each element with probability p, scales the rest by 1/(1-p). Global element index keys the random number.
def Graph_DropoutOp : Graph_Op<"dropout", [Pure, Graph_Rule, Graph_Gradient, Graph_IndexedPointwise, Graph_Random, AllTypesMatch<["x", "result"]>]> {
  let summary = "Zeroes elements at random";
  let arguments = (ins Graph_FloatTensor:$x, Graph_Seed:$seed, Graph_Scalar:$step, F64Attr:$p, I64Attr:$id,
    DefaultValuedAttr<I64Attr, "0">:$first_sample, OptionalAttr<DenseI64ArrayAttr>:$global_shape, OptionalAttr<ArrayAttr>:$windows);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `p` $p `id` $id `key` `(` $seed `,` $step `)` attr-dict `:` type($x)";
  let hasVerifier = 1;
}

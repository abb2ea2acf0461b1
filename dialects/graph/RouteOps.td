// Mixtures of experts without drops: the router, rows ordered by expert, matrix products over groups
// of rows, and their backward ops. The graph.moe_ ops (MoeOps.td) are those with a capacity.
include "dialects/graph/GraphOpBase.td"

class Graph_RouteOp<string mnemonic, list<Trait> traits = []> : Graph_Op<mnemonic, [Pure, Graph_Rule] # traits> {
  let hasVerifier = 1;
}

def Graph_RouteTokensOp : Graph_RouteOp<"route", [Graph_Gradient]> {
  let summary = "Chooses experts for each token, as transformers' routers do";
  let description = [{
    s = `score` of the logits, in f32: the softmax over the experts, the sigmoid, or the root of the softplus
    (`sqrtsoftplus`). A token goes to the `top` experts with the highest s + bias, the first of equals; where the score
    is a softmax and there is no bias, logits are compared, which have the same order. `weights` are s of the chosen
    experts in the order of the choice, without the bias. With `normalised` they are divided by their sum plus
    `epsilon`; of a softmax, this is the softmax over the chosen logits. They are multiplied by `scale` last.

    With `groups` the experts are that many runs of neighbours, of which the `kept` best may be chosen from, the first
    of equals. A group is as good as the sum of its `members` best experts: 1 in DeepSeek-V2, 2 in DeepSeek-V3.

    The choice is piecewise constant, so neither it nor the bias has a gradient. NaN counts as larger than all numbers,
    so that indices are experts for any logits. On the mesh batch and sequence split, experts do not.
    Sources: Shazeer et al. 2017, arXiv:1701.06538; DeepSeek-V3, arXiv:2412.19437.

    Constraints:
    - (C1) `logits` is [batch, sequence, experts], the experts static.
    - (C2) `bias` is f32 [experts].
    - (C3) `score` is softmax, sigmoid or sqrtsoftplus.
    - (C4) `groups` divides the experts and is at most 64, and `kept` is from 1 to `groups`.
    - (C5) `members` is 1 or 2, and at most the experts of a group.
    - (C6) `top` is from 1 to the number of experts in `kept` groups, and at most 64.
    - (C7) `epsilon` is 0 or more, and 0 for a softmax.
    - (C8) `scale` is a number.
    - (C9) `weights` is [batch, sequence, top] in the element type of `logits`, (C10) `experts` is i32 of that shape.

    Example:
    ```mlir
    %weights, %experts = graph.route %logits top 2 normalised : (tensor<?x128x8xf32>)
        -> (tensor<?x128x2xf32>, tensor<?x128x2xi32>)
    %w, %e = graph.route %logits bias %b top 2 score "sigmoid" normalised epsilon 1.0e-20 scale 2.5 groups 4 kept 2
        members 2 : (tensor<?x128x8xf32>, tensor<8xf32>) -> (tensor<?x128x2xf32>, tensor<?x128x2xi32>)
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$logits, Optional<Graph_FloatTensor>:$bias, I64Attr:$top,
      DefaultValuedStrAttr<StrAttr, "softmax">:$score, UnitAttr:$normalised,
      DefaultValuedAttr<F64Attr, "0.0">:$epsilon, DefaultValuedAttr<F64Attr, "1.0">:$scale,
      DefaultValuedAttr<I64Attr, "1">:$groups, DefaultValuedAttr<I64Attr, "1">:$kept,
      DefaultValuedAttr<I64Attr, "1">:$members);
  let results = (outs Graph_FloatTensor:$weights, Graph_IntTensor:$experts);
  let assemblyFormat = [{$logits (`bias` $bias^)? `top` $top (`score` $score^)? (`normalised` $normalised^)?
    (`epsilon` $epsilon^)? (`scale` $scale^)? (`groups` $groups^)? (`kept` $kept^)? (`members` $members^)?
    attr-dict `:` functional-type(operands, results)}];
}

def Graph_RouteGradOp : Graph_RouteOp<"route_grad"> {
  let summary = "Gradient of route with respect to the logits";
  let description = [{
    With g the gradients of the weights times `scale`, w the weights before `scale`, and s the scores: dlogits of a
    normalised softmax are w (g - sum(g w)) at the chosen experts and 0 elsewhere; of a softmax p that is not normalised
    p (g - sum(g p)), where g is 0 for experts that are not chosen; of another score, s' (g - sum(g w)) / (sum(s) +
    epsilon) with `normalised` and s' g without, at the chosen experts. Batch and sequence split over the mesh.

    Constraints:
    - (C1) `logits` is [batch, sequence, experts].
    - (C2) `experts` is i32 [batch, sequence, top].
    - (C3) `dweights` has the shape of `experts`.
    - (C4) `score` is softmax, sigmoid or sqrtsoftplus.
    - (C5) the result has the type of `logits`.

    Example:
    ```mlir
    %dlogits = graph.route_grad %logits, %experts, %dw normalised
      : (tensor<?x128x8xf32>, tensor<?x128x2xi32>, tensor<?x128x2xf32>) -> tensor<?x128x8xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$logits, Graph_IntTensor:$experts, Graph_FloatTensor:$dweights,
      DefaultValuedStrAttr<StrAttr, "softmax">:$score, UnitAttr:$normalised,
      DefaultValuedAttr<F64Attr, "0.0">:$epsilon, DefaultValuedAttr<F64Attr, "1.0">:$scale);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = [{$logits `,` $experts `,` $dweights (`score` $score^)? (`normalised` $normalised^)?
    (`epsilon` $epsilon^)? (`scale` $scale^)? attr-dict `:` functional-type(operands, results)}];
}

def Graph_PlaceRowsOp : Graph_RouteOp<"place_rows"> {
  let summary = "Orders choices by expert";
  let description = [{
    `rowOf[b, t, k]` is the row of the choice (b, t, k) if all choices of this rank's samples are ordered by their
    expert, and by (b, t, k) among those of one expert. `counts[b, e]` are the choices of expert e in sample b. So rows
    of an expert follow each other, from the sum of the counts of the experts before it. A rank orders the choices of
    its own samples: these rows are a matter of the rank, and only the ops of this family read them.

    If the experts are on several `ranks`, each with as many neighbours, rows lie in blocks [ranks, batch, sequence *
    top], one for each rank and sample: `rowOf[b, t, k]` is the row of the choice in all blocks, of which (r, b) has
    the choices of sample b for the experts of rank r at its begin, by expert and by (t, k).

    On the mesh the batch splits.

    Constraints:
    - (C1) `experts` is i32 [batch, sequence, top], with all but the batch static.
    - (C2) `rowOf` has the type of `experts`.
    - (C3) `counts` is i32 [batch, number of experts], the second dim static.
    - (C4) `ranks` divides the number of experts.

    Example:
    ```mlir
    %rowOf, %counts = graph.place_rows %experts : (tensor<?x128x2xi32>) -> (tensor<?x128x2xi32>, tensor<?x8xi32>)
    %p, %c = graph.place_rows %experts ranks 2 : (tensor<?x128x2xi32>) -> (tensor<?x128x2xi32>, tensor<?x8xi32>)
    ```
  }];
  let arguments = (ins Graph_IntTensor:$experts, DefaultValuedAttr<I64Attr, "1">:$ranks);
  let results = (outs Graph_IntTensor:$rowOf, Graph_IntTensor:$counts);
  let assemblyFormat = "$experts (`ranks` $ranks^)? attr-dict `:` functional-type(operands, results)";
}

def Graph_PackRowsOp : Graph_RouteOp<"pack_rows", [Graph_Gradient]> {
  let summary = "Copies each token to the rows of its choices";
  let description = [{
    Row rowOf[b, t, k] of the rank is tokens[b, t, :] (times weights[b, t, k] if present), for every choice. There are
    as many rows as choices, and up to experts - 1 more for each sample where experts do not divide its choices; those
    are the last, and zero. The shape has the mean of rows for each expert and sample: [experts, batch, ceil(sequence *
    top / experts), columns], while an expert's rows are as many as it was chosen for. Nothing is dropped.

    With `blocks`, for `rowOf` in blocks, the result is [ranks, batch, room, columns], in which a block has room for all
    choices of its sample, sequence * top, or for those of a round (`graph.round_rows`). Rows that no choice has are not
    written, and nothing may read them (`graph.sort_rows`). A choice whose `rowOf` is negative has no row.

    On the mesh batch and columns split. Experts do not yet: `windows` are refused. The gradient is `graph.unpack_rows`.

    Constraints:
    - (C1) `tokens` is [batch, sequence, columns], (C2) `rowOf` is i32 [batch, sequence, top].
    - (C3) `weights` has the shape of `rowOf`.
    - (C4) the result is [experts, batch, ceil(sequence * top / experts), columns] in the element type of `tokens`, or
      [ranks, batch, room, columns] with `blocks`, the room at most sequence * top.
    - (C5) there are no `windows`.

    Example:
    ```mlir
    %rows = graph.pack_rows %x at %rowOf : (tensor<?x128x16xf32>, tensor<?x128x2xi32>) -> tensor<8x?x32x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$tokens, Graph_IntTensor:$rowOf, Optional<Graph_FloatTensor>:$weights,
      OptionalAttr<ArrayAttr>:$windows, UnitAttr:$blocks);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = [{$tokens `at` $rowOf (`weighted` $weights^)? (`blocks` $blocks^)? attr-dict `:`
    functional-type(operands, results)}];
}

def Graph_UnpackRowsOp : Graph_RouteOp<"unpack_rows", [Graph_Gradient]> {
  let summary = "Adds up the rows of each token's choices";
  let description = [{
    y[b, t, :] = sum over k of row rowOf[b, t, k] (times weights[b, t, k] if present), in f32 and in the order of k:
    the transpose of `graph.pack_rows`, with its shapes. With `blocks` a choice whose `rowOf` is negative adds nothing.
    On the mesh batch, sequence and columns split. Partial sums of rows give partial sums of tokens.

    Constraints: (C1) to (C5) of `graph.pack_rows`, with `rows` for the result and the result for `tokens`; there may be
    more rows, of tokens that other ranks have.

    Example:
    ```mlir
    %y = graph.unpack_rows %rows at %rowOf weighted %weights
      : (tensor<8x?x32x16xf32>, tensor<?x128x2xi32>, tensor<?x128x2xf32>) -> tensor<?x128x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$rows, Graph_IntTensor:$rowOf, Optional<Graph_FloatTensor>:$weights,
      OptionalAttr<ArrayAttr>:$windows, UnitAttr:$blocks);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = [{$rows `at` $rowOf (`weighted` $weights^)? (`blocks` $blocks^)? attr-dict `:`
    functional-type(operands, results)}];
}

def Graph_UnpackWeightGradOp : Graph_RouteOp<"unpack_weight_grad"> {
  let summary = "Gradient of pack_rows and unpack_rows with respect to the weights";
  let description = [{
    dweights[b, t, k] = sum over columns of row rowOf[b, t, k] times tokens[b, t, :], or 0 where `rowOf` is negative.
    Batch and sequence split over the mesh; split columns, and partial sums of rows, leave a partial sum.

    Constraints: those of `graph.unpack_rows`, with the result for `weights`.

    Example:
    ```mlir
    %dw = graph.unpack_weight_grad %rows at %rowOf, %dy
      : (tensor<8x?x32x16xf32>, tensor<?x128x2xi32>, tensor<?x128x16xf32>) -> tensor<?x128x2xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$rows, Graph_IntTensor:$rowOf, Graph_FloatTensor:$tokens,
      OptionalAttr<ArrayAttr>:$windows);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = [{$rows `at` $rowOf `,` $tokens attr-dict `:` functional-type(operands, results)}];
}

def Graph_GroupedLinearOp : Graph_RouteOp<"grouped_linear", [Graph_Gradient]> {
  let summary = "Multiplies the rows of each expert by the expert's weight";
  let description = [{
    y[r, out...] = sum over in of x[r, in...] * w[e, in..., out...] for the rows r of expert e, which `counts` of
    `graph.place_rows` give; the weight is [experts, in..., out...], or [experts, out..., in...] with `transposed`. Rows
    behind the last choice are zero. The weight of an expert without rows is not read.

    On the mesh batch and out dims split; a split in dim leaves a partial sum.

    Constraints:
    - (C1) `x` is [experts, batch, rows, in...], the experts static, with 1 in dim at least.
    - (C2) the result is [experts, batch, rows, out...], with 1 out dim at least.
    - (C3) the weight is [experts, in..., out...], or [experts, out..., in...] with `transposed`.
    - (C4) `counts` is i32 [batch, experts].
    - (C5) `x` and the weight have the same element type, (C6) the result has it too, or f32.

    Example:
    ```mlir
    %y = graph.grouped_linear %rows, %w1 transposed by %counts
      : (tensor<8x?x32x16xf32>, tensor<8x48x16xf32>, tensor<?x8xi32>) -> tensor<8x?x32x48xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$weight, Graph_IntTensor:$counts, UnitAttr:$transposed);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `,` $weight (`transposed` $transposed^)? `by` $counts attr-dict `:` "
      "functional-type(operands, results)";
}

def Graph_GroupedLinearWeightGradOp : Graph_RouteOp<"grouped_linear_weight_grad"> {
  let summary = "Gradient of grouped_linear with respect to its weight";
  let description = [{
    dw[e] = sum over the rows r of expert e of x[r, in...]^T dy[r, out...]: [experts, in..., out...], or [experts,
    out..., in...] with `transposed`; zero for an expert without rows. On the mesh in and out
    split; a split batch leaves a partial sum.

    Constraints:
    - (C1) `x` is [experts, batch, rows, in...], the experts static, with 1 in dim at least.
    - (C2) `dy` is [experts, batch, rows, out...], with 1 out dim at least.
    - (C3) `counts` is i32 [batch, experts].
    - (C4) the result has the shape of the weight.
    - (C5) `x` and `dy` have the same element type, (C6) the result has it too, or f32.

    Example:
    ```mlir
    %dw = graph.grouped_linear_weight_grad %rows, %dy transposed by %counts
      : (tensor<8x?x32x16xf32>, tensor<8x?x32x48xf32>, tensor<?x8xi32>) -> tensor<8x48x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$dy, Graph_IntTensor:$counts, UnitAttr:$transposed);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `,` $dy (`transposed` $transposed^)? `by` $counts attr-dict `:` "
      "functional-type(operands, results)";
}

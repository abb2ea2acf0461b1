// Mixtures of experts: router, dispatch, matrix products of experts, combine, and their backward
// ops. They can be planned, but not compiled yet (PlanOnlyOpInterface).
include "dialects/graph/GraphOpBase.td"

class Graph_MoeOp<string mnemonic, list<Trait> traits = []> : Graph_Op<mnemonic,
    [Pure, Graph_Rule, Graph_PlanOnly] # traits> {
  let hasVerifier = 1;
}

def Graph_MoeRouterOp : Graph_MoeOp<"moe_router", [Graph_Gradient]> {
  let summary = "Chooses experts for each token";
  let description = [{
    p = softmax(logits) over the experts. A token goes to the `top` experts with the highest p (the first of equals);
    `weights` are their p, divided by their sum with `normalised`. `slots[b, t, k]` counts the choices of the same
    expert before (t, k) among the `group` tokens around t: tokens 0 to group - 1 of a sequence are its first group, and
    so on. Dispatch drops slots of its capacity or more. Groups do not depend on the mesh, and neither do the dropped
    tokens.

    `load[b, e]` is the number of choices of expert e in the sequence and `importance[b, e]` the sum of its p over the
    sequence, for `graph.moe_balance_loss`. No gradient flows through `load`.

    On the mesh batch and groups split, experts do not. `load` and `importance` are partial sums if groups are split.
    Sources: Shazeer et al. 2017, arXiv:1701.06538; groups and capacity as in GShard, arXiv:2006.16668; Mixtral,
    arXiv:2401.04088.

    Constraints:
    - (C1) `logits` is [batch, sequence, experts].
    - (C2) sequence and experts are static.
    - (C3) `top` is from 1 to the number of experts.
    - (C4) `group` divides the sequence.
    - (C5) `weights` is [batch, sequence, top] in the element type of `logits`.
    - (C6) `experts` and `slots` are i32 of the same shape.
    - (C7) `load` and `importance` are f32 [batch, experts].

    Example:
    ```mlir
    %weights, %experts, %slots, %load, %importance = graph.moe_router %logits top 2 normalised group 64
      : (tensor<?x128x8xf32>)
        -> (tensor<?x128x2xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x8xf32>, tensor<?x8xf32>)
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$logits, I64Attr:$top, UnitAttr:$normalised, I64Attr:$group);
  let results = (outs Graph_FloatTensor:$weights, Graph_IntTensor:$experts, Graph_IntTensor:$slots,
    Graph_FloatTensor:$load, Graph_FloatTensor:$importance);
  let assemblyFormat = "$logits `top` $top (`normalised` $normalised^)? `group` $group attr-dict `:` "
      "functional-type(operands, results)";
}

def Graph_MoeRouterGradOp : Graph_MoeOp<"moe_router_grad", [AttrSizedOperandSegments]> {
  let summary = "Gradient of moe_router with respect to the logits";
  let description = [{
    dlogits = p (dp - sum(dp p)) over the experts, p = softmax(logits), where dp adds up `dweights` at the chosen
    experts and, at every expert, `dimportance` of the sequence. Batch and sequence split over the mesh.

    Constraints:
    - (C1) `logits` is [batch, sequence, experts].
    - (C2) `experts` is i32 [batch, sequence, top].
    - (C3) `dweights` or `dimportance` is present.
    - (C4) `dweights` has the shape of `experts` and the element type of `logits`.
    - (C5) `dimportance` is f32 [batch, experts].
    - (C6) the result has the type of `logits`.

    Example:
    ```mlir
    %dlogits = graph.moe_router_grad %logits, %experts normalised weights(%dw) importance(%di)
      : (tensor<?x128x8xf32>, tensor<?x128x2xi32>, tensor<?x128x2xf32>, tensor<?x8xf32>) -> tensor<?x128x8xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$logits, Graph_IntTensor:$experts, Optional<Graph_FloatTensor>:$dweights,
    Optional<Graph_FloatTensor>:$dimportance, UnitAttr:$normalised);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = [{$logits `,` $experts (`normalised` $normalised^)? (`weights` `(` $dweights^ `)`)?
    (`importance` `(` $dimportance^ `)`)? attr-dict `:` functional-type(operands, results)}];
}

def Graph_MoeBalanceLossOp : Graph_MoeOp<"moe_balance_loss", [Graph_Gradient]> {
  let summary = "Penalty for experts that are used unevenly";
  let description = [{
    loss[b] = coefficient * experts / tokens^2 * sum over e of load[b, e] * importance[b, e], from the results of a
    router; `tokens` is the length of the whole sequence. The loss is coefficient * top if all experts are used equally.
    A gradient flows through `importance` only. It is per sequence, so that neither batch size nor plan changes it.
    Source: Fedus, Zoph and Shazeer 2021, arXiv:2101.03961, equation 4, with all `top` choices counted.

    Constraints:
    - (C1) `load` is f32 [batch, experts], (C2) `importance` has its type.
    - (C3) `tokens` is 1 or more.
    - (C4) `coefficient` is 0 or more.
    - (C5) the result is f32 [batch].

    Example:
    ```mlir
    %loss = graph.moe_balance_loss %load, %importance tokens 128 coefficient 0.02 : (tensor<?x8xf32>, tensor<?x8xf32>)
        -> tensor<?xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$load, Graph_FloatTensor:$importance, I64Attr:$tokens, F64Attr:$coefficient);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$load `,` $importance `tokens` $tokens `coefficient` $coefficient attr-dict `:` "
      "functional-type(operands, results)";
}

def Graph_MoeDispatchOp : Graph_MoeOp<"moe_dispatch", [Graph_Gradient]> {
  let summary = "Gathers tokens by expert";
  let description = [{
    rows[experts[b, t, k], b, g * C + slots[b, t, k], :] = x[b, t, :] (times weights[b, t, k] if present) for every
    choice k of token t in group g = t / group; rows without a token are zero. Each expert has C = ceil(group * top *
    capacity / experts) rows for every group; slots from C on are dropped.

    On the mesh batch, groups and columns split with x, experts split the result. `experts` are global, and `windows`
    give those of this rank. A sequence that is one group splits too and leaves a partial sum. Tokens that are split
    over the axis of the experts move by an all-to-all. The gradient is a combine. Source: arXiv:2006.16668.

    Constraints:
    - (C1) `tokens` is [batch, sequence, columns], the sequence static.
    - (C2) `experts` is i32 [batch, sequence, top], (C3) `slots` has its type.
    - (C4) `weights` has the shape of `experts` and the element type of `tokens`.
    - (C5) `group` divides the sequence.
    - (C6) `capacity` is above 0.
    - (C7) the result is [experts, batch, groups * C, columns] in the element type of `tokens`.
    - (C8) `windows` are about the experts.

    Example:
    ```mlir
    %rows = graph.moe_dispatch %x to %experts at %slots group 64 capacity 1.0
      : (tensor<?x128x16xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>) -> tensor<8x?x32x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$tokens, Graph_IntTensor:$experts, Graph_IntTensor:$slots,
      Optional<Graph_FloatTensor>:$weights,
    I64Attr:$group, F64Attr:$capacity, OptionalAttr<ArrayAttr>:$windows);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = [{$tokens `to` $experts `at` $slots (`weighted` $weights^)? `group` $group `capacity` $capacity
    attr-dict `:` functional-type(operands, results)}];
}

def Graph_MoeCombineOp : Graph_MoeOp<"moe_combine", [Graph_Gradient]> {
  let summary = "Adds up the results of the experts for each token";
  let description = [{
    y[b, t, :] = sum over k of rows[experts[b, t, k], b, g * C + slots[b, t, k], :], each times weights[b, t, k] if
    present; dropped choices add nothing. Groups, C and dims are as in `graph.moe_dispatch`, whose transpose this is.

    On the mesh batch, groups and columns split; split experts leave a partial sum, and `windows` give those of this
    rank.

    Constraints: (C1) to (C8) of `graph.moe_dispatch`, with `rows` for the result and the result for `tokens`.

    Example:
    ```mlir
    %y = graph.moe_combine %rows from %experts at %slots weighted %weights group 64 capacity 1.0
      : (tensor<8x?x32x16xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x128x2xf32>) -> tensor<?x128x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$rows, Graph_IntTensor:$experts, Graph_IntTensor:$slots,
      Optional<Graph_FloatTensor>:$weights,
    I64Attr:$group, F64Attr:$capacity, OptionalAttr<ArrayAttr>:$windows);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = [{$rows `from` $experts `at` $slots (`weighted` $weights^)? `group` $group `capacity` $capacity
    attr-dict `:` functional-type(operands, results)}];
}

def Graph_MoeWeightGradOp : Graph_MoeOp<"moe_weight_grad"> {
  let summary = "Gradient of moe_dispatch and moe_combine with respect to the weights";
  let description = [{
    dweights[b, t, k] = sum over columns of rows[experts[b, t, k], b, g * C + slots[b, t, k], :] * tokens[b, t, :], 0
    for choices that were dropped. Batch and groups split over the mesh; split experts and columns leave a partial sum.

    Constraints: (C1) to (C8) of `graph.moe_dispatch`, with `rows` for the result and the result for `weights`.

    Example:
    ```mlir
    %dw = graph.moe_weight_grad %rows from %experts at %slots, %dy group 64 capacity 1.0
      : (tensor<8x?x32x16xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x128x16xf32>) -> tensor<?x128x2xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$rows, Graph_IntTensor:$experts, Graph_IntTensor:$slots,
      Graph_FloatTensor:$tokens,
    I64Attr:$group, F64Attr:$capacity, OptionalAttr<ArrayAttr>:$windows);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = [{$rows `from` $experts `at` $slots `,` $tokens `group` $group `capacity` $capacity
    attr-dict `:` functional-type(operands, results)}];
}

def Graph_ExpertLinearOp : Graph_MoeOp<"expert_linear", [Graph_Gradient]> {
  let summary = "Multiplies the rows of each expert by the expert's weight";
  let description = [{
    y[e, ..., out] = sum over in of x[e, ..., in] * w[e, in, out]; the weight is [experts, in, out], or [experts, out,
    in] with `transposed`. `fill` is the share of rows that hold a token if experts are used equally: model flops count
    these only, as the other rows are unused capacity.

    On the mesh experts, rows and out dims split; a split in dim leaves a partial sum.

    Constraints:
    - (C1) `x` has at least 2 dims, (C2) the weight has 3.
    - (C3) experts and in dim of the weight are those of `x`.
    - (C4) the result has the dims of `x`, with the out dim for the last.
    - (C5) `x` and the weight have the same element type, (C6) the result has it too, or f32.
    - (C7) `fill` is above 0 and at most 1.

    Example:
    ```mlir
    %y = graph.expert_linear %rows, %w1 transposed : (tensor<8x?x32x16xf32>, tensor<8x48x16xf32>)
        -> tensor<8x?x32x48xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$weight, UnitAttr:$transposed,
      DefaultValuedAttr<F64Attr, "1.0">:$fill);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `,` $weight (`transposed` $transposed^)? "
      "(`fill` $fill^)? attr-dict `:` functional-type(operands, results)";
}

def Graph_ExpertLinearWeightGradOp : Graph_MoeOp<"expert_linear_weight_grad"> {
  let summary = "Gradient of expert_linear with respect to its weight";
  let description = [{
    dw[e] = sum over the rows of x[e, ..., in]^T dy[e, ..., out]: [experts, in, out], or [experts, out, in] with
    `transposed`. On the mesh experts, in and out split; split rows leave a partial sum.

    Constraints:
    - (C1) `x` has at least 2 dims.
    - (C2) `dy` has the dims of `x` but for the last.
    - (C3) the result has the shape of the weight.
    - (C4) `x` and `dy` have the same element type, (C5) the result has it too, or f32.
    - (C6) `fill` is above 0 and at most 1.

    Example:
    ```mlir
    %dw = graph.expert_linear_weight_grad %rows, %dy transposed
      : (tensor<8x?x32x16xf32>, tensor<8x?x32x48xf32>) -> tensor<8x48x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$dy, UnitAttr:$transposed,
      DefaultValuedAttr<F64Attr, "1.0">:$fill);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `,` $dy (`transposed` $transposed^)? "
      "(`fill` $fill^)? attr-dict `:` functional-type(operands, results)";
}

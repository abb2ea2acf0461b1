// The forward ops of a model's layers.
include "dialects/graph/GraphOpBase.td"

def Graph_LinearOp : Graph_Op<"linear", [Pure, Graph_Rule, Graph_Gradient, Graph_ShortForm]> {
  let summary = "Multiplies trailing dims by a weight";
  let description = [{
    y[..., out...] = sum over in... of x[..., in...] * w. `contract` is the number of in dims, the last ones of x. The
    weight is [in..., out...], or [out..., in...] with `transposed` (torch.nn.Linear; without it Hugging Face's Conv1D).
    Weights keep several dims, so that heads can be split. The gradient of x is again a linear, with the flag flipped
    and `contract` the number of out dims.

    On the mesh: leading and out dims split into parts of the result; a split in dim leaves a partial sum.

    Short form: a third operand, the bias [out...], which `dtc-complete-ops` adds by a `graph.add`.

    Constraints:
    - (C1) `contract` is 1 up to the number of dims of `x`.
    - (C2) the weight has at least one dim more than `contract`.
    - (C3) the in dims of the weight are those of `x`.
    - (C4) the result has the leading dims of `x`, then the out dims of the weight.
    - (C5) `x` and the weight have the same element type.
    - (C6) the result has it too, or f32.
    - (C7) a bias has the out dims of the weight, and the element type of the result.

    Example:
    ```mlir
    %qkv = graph.linear %x, %w : (tensor<?x8x16xf32>, tensor<16x3x2x8xf32>) -> tensor<?x8x3x2x8xf32>
    %y = graph.linear %a, %o contract 2 transposed : (tensor<?x8x2x8xf32>, tensor<16x2x8xf32>) -> tensor<?x8x16xf32>
    %h = graph.linear %y, %fc, %bias : (tensor<?x8x16xf32>, tensor<16x64xf32>, tensor<64xf32>) -> tensor<?x8x64xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$weight, Optional<Graph_FloatTensor>:$bias,
    DefaultValuedAttr<I64Attr, "1">:$contract, UnitAttr:$transposed);
  let results = (outs Graph_FloatTensor:$result);
  let builders = [
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$x, "::mlir::Value":$weight, CArg<"int64_t", "1">:$contract,
    CArg<"bool", "false">:$transposed),
      [{ build($_builder, $_state, result, x, weight, ::mlir::Value(), contract, transposed); }]>];
  let assemblyFormat = [{$x `,` $weight (`,` $bias^)? (`contract` $contract^)? (`transposed` $transposed^)?
    attr-dict `:` functional-type(operands, results)}];
  let hasVerifier = 1;
}

def Graph_MatmulOp : Graph_Op<"matmul", [Pure, Graph_Rule, Graph_Gradient]> {
  let summary = "Multiplies matrices, batch by batch";
  let description = [{
    c = a b over the last two dims. `a` is [batch..., m, k], or [batch..., k, m] where `transposed` follows it; `b` is
    [batch..., k, n] or [batch..., n, k]. The batch dims are the same.

    Constraints:
    - (C1) `a` has 2 dims or more, `b` as many.
    - (C2) the batch dims are equal.
    - (C3) k is the same in both.
    - (C4) the result is [batch..., m, n].
    - (C5) `a` and `b` have the same element type, (C6) the result has it too, or f32.

    Example:
    ```mlir
    %c = graph.matmul %a, %b transposed : (tensor<?x4x8xf32>, tensor<?x6x8xf32>) -> tensor<?x4x6xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$a, Graph_FloatTensor:$b, UnitAttr:$transpose_a, UnitAttr:$transpose_b);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$a (`transposed` $transpose_a^)? `,` $b "
      "(`transposed` $transpose_b^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_EmbeddingOp : Graph_Op<"embedding", [Pure, Graph_Rule, Graph_Gradient, Graph_Index]> {
  let summary = "Looks up rows of a table";
  let description = [{
    out[..., c] = table[ids[...], c]. On the mesh a table split over rows gives partial sums: ids are global, and those
    outside of this rank's rows (`windows`) give 0. Looking up the row `padding` gives that row no gradient, as
    `padding_idx` of torch.nn.Embedding; other uses of the table, such as a tied output layer, still do.

    Constraints:
    - (C1) the table is [rows, columns].
    - (C2) the result is [ids..., columns].
    - (C3) the result has the table's element type.
    - (C4) `windows` are about the rows.
    - (C5) `padding` is a row of the whole table.

    Example:
    ```mlir
    %x = graph.embedding %wte, %tokens : (tensor<256x16xf32>, tensor<?x8xi32>) -> tensor<?x8x16xf32>
    %p = graph.embedding %wte, %tokens padding 0 : (tensor<256x16xf32>, tensor<?x8xi32>) -> tensor<?x8x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$table, Graph_IntTensor:$ids, OptionalAttr<I64Attr>:$padding,
    OptionalAttr<ArrayAttr>:$windows);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$table `,` $ids (`padding` $padding^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_LayerNormOp : Graph_Op<"layer_norm", [Pure, Graph_Rule, Graph_Gradient, Graph_ShortForm, Graph_Decompose]> {
  let summary = "Normalises rows to mean 0 and variance 1, then scales and shifts";
  let description = [{
    y = (x - mean) * rstd * weight + bias over the last dim, rstd = 1 / sqrt(variance + epsilon) with the biased
    variance. `mean` and `rstd` have the shape without the last dim and are saved for the backward pass. Rows split over
    the mesh; if the last dim is split, the op finishes the sums over it itself. Source: Ba, Kiros and Hinton 2016,
    arXiv:1607.06450.

    Short form: without `mean` and `rstd`, which `dtc-complete-ops` adds.

    Constraints:
    - (C1) `x` has at least 1 dim.
    - (C2) the result has the shape of `x`.
    - (C3) result, weight and bias have the element type of `x`.
    - (C4) weight and bias have the last dim of `x`.
    - (C5) `mean` and `rstd` have the other dims, (C6) in f32.
    - (C7) `epsilon` is above 0 and below 1.
    - (C8) `mean` and `rstd` are both present, or neither is.

    Example:
    ```mlir
    %y, %mean, %rstd = graph.layer_norm %x, %w, %b : (tensor<?x8x16xf32>, tensor<16xf32>, tensor<16xf32>)
      -> (tensor<?x8x16xf32>, tensor<?x8xf32>, tensor<?x8xf32>)
    %short = graph.layer_norm %x, %w, %b : (tensor<?x8x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<?x8x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$weight, Graph_FloatTensor:$bias,
      DefaultValuedAttr<F64Attr, "1.0e-5">:$epsilon);
  let results = (outs Graph_FloatTensor:$result, Variadic<Graph_FloatTensor>:$statistics);
  let assemblyFormat = "$x `,` $weight `,` $bias (`epsilon` $epsilon^)? attr-dict `:` functional-type(operands, "
      "results)";
  let extraClassDeclaration = [{
    // Returns null in the short form.
    ::mlir::Value getMean() { return getStatistics().empty() ? ::mlir::Value() : getStatistics().front(); }
    ::mlir::Value getRstd() { return getStatistics().empty() ? ::mlir::Value() : getStatistics().back(); }
  }];
  let hasVerifier = 1;
}

def Graph_RmsNormOp : Graph_Op<"rms_norm", [Pure, Graph_Rule, Graph_Gradient, Graph_ShortForm, Graph_Decompose]> {
  let summary = "Divides rows by their root mean square, then scales";
  let description = [{
    y = x * rstd * weight over the last dim, rstd = 1 / sqrt(mean(x^2) + epsilon). `rstd` has the shape without the last
    dim and is saved for the backward pass. Rows split over the mesh; if the last dim is split, the op finishes the sums
    over it itself. Source: Zhang and Sennrich 2019, arXiv:1910.07467.

    Short form: without `rstd`, which `dtc-complete-ops` adds.

    Constraints: (C1) to (C7) of `graph.layer_norm`, without bias and mean.

    Example:
    ```mlir
    %y, %rstd = graph.rms_norm %x, %w epsilon 1.0e-6 : (tensor<?x8x16xf32>, tensor<16xf32>)
      -> (tensor<?x8x16xf32>, tensor<?x8xf32>)
    %short = graph.rms_norm %x, %w epsilon 1.0e-6 : (tensor<?x8x16xf32>, tensor<16xf32>) -> tensor<?x8x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$weight, DefaultValuedAttr<F64Attr, "1.0e-5">:$epsilon);
  let results = (outs Graph_FloatTensor:$result, Optional<Graph_FloatTensor>:$rstd);
  let assemblyFormat = "$x `,` $weight (`epsilon` $epsilon^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_RotaryTableOp : Graph_Op<"rotary_table", [Pure, Graph_Rule, Graph_IndexedPointwise, Graph_ShortForm]> {
  let summary = "Makes the cosines and sines of rotary position embedding";
  let description = [{
    cos[t, i] = cos(t * inverse_frequencies[i]), and sin in the same way; t counts positions from 0. On the mesh
    positions may split, and `windows` give those of this rank. Source: Su et al. 2021, arXiv:2104.09864.

    Short form: `base` b stands for the frequencies f[i] = b^(-i/n), with i below the n of the type. `factor` divides
    them. With `low`, `high` and `positions` p it only divides those of long waves, as Llama 3.1 does (transformers'
    rope type "llama3"): waves longer than p / low in full, those shorter than p / high not at all, and those in between
    by interpolation. `dtc-complete-ops` writes them out.

    Constraints:
    - (C1) `cos` has 2 dims.
    - (C2) its last dim is the number of frequencies, at least 1.
    - (C3) `sin` has the same type.
    - (C4) the number of positions is static.
    - (C5) `windows` are about the positions.
    - (C6) either frequencies or a base are given; `factor` only with a base; `low`, `high` and `positions` together,
      and only with a factor.
    - (C7) base, factor, `low` and `positions` are greater than 0, and `high` is greater than `low`.

    Example:
    ```mlir
    %cos, %sin = graph.rotary_table [1.0, 0.01] : tensor<8x2xf32>, tensor<8x2xf32>
    %c, %s = graph.rotary_table base 500000.0 factor 8.0 low 1.0 high 4.0 positions 8192
        : tensor<8x2xf32>, tensor<8x2xf32>
    ```
  }];
  let arguments = (ins OptionalAttr<DenseF64ArrayAttr>:$inverse_frequencies, OptionalAttr<F64Attr>:$base,
      OptionalAttr<F64Attr>:$factor,
    OptionalAttr<F64Attr>:$low, OptionalAttr<F64Attr>:$high, OptionalAttr<I64Attr>:$positions,
    OptionalAttr<ArrayAttr>:$windows);
  let results = (outs Graph_FloatTensor:$cos, Graph_FloatTensor:$sin);
  let assemblyFormat = [{custom<Frequencies>($inverse_frequencies, $base) (`factor` $factor^)? (`low` $low^)?
      (`high` $high^)?
    (`positions` $positions^)? attr-dict `:` type($cos) `,` type($sin)}];
  let hasVerifier = 1;
}

def Graph_RotaryOp : Graph_Op<"rotary", [Pure, Graph_Rule, Graph_Gradient]> {
  let summary = "Rotates pairs of head dims by an angle that grows with position";
  let description = [{
    x is [batch, sequence, heads, head_dim]; element i pairs with i + head_dim/2, as in Hugging Face: y[i] = x[i] cos -
    x[i + h] sin, y[i + h] = x[i + h] cos + x[i] sin with h = head_dim/2. `inverse` rotates back, which is the gradient.
    Batch, sequence and heads split over the mesh.

    Constraints:
    - (C1) `x` has 4 dims.
    - (C2) head_dim is even and static.
    - (C3) `cos` and `sin` are [sequence, head_dim/2], or [batch, sequence, head_dim/2] where samples have positions of
      their own.
    - (C4) the result has the shape of `x`.
    - (C5) the result has the element type of `x`; `cos` and `sin` both have it, or f32.

    Example:
    ```mlir
    %y = graph.rotary %q, %cos, %sin : (tensor<?x8x2x4xf32>, tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<?x8x2x4xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$cos, Graph_FloatTensor:$sin, UnitAttr:$inverse);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `,` $cos `,` $sin (`inverse` $inverse^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_AttentionOp : Graph_Op<"attention", [Pure, AttrSizedOperandSegments, Graph_Rule, Graph_Gradient,
    Graph_Random, Graph_ShortForm]> {
  let summary = "Softmax attention with described masks and grouped queries";
  let description = [{
    out = softmax(scale * q k^T + bias + mask) v per batch and head. q is [batch, queries, heads, head_dim], k is
    [batch, keys, kv_heads, head_dim], v and the result have a head_dim of their own; `lse` is f32 [batch, heads,
    queries], the logarithm of the softmax's denominator, saved for the backward pass. Query head h reads kv head h /
    (heads / kv_heads).

    Query i is at the position of key i + keys - queries. `starts` [2] have the positions of the first query and of the
    first key instead, which a program computes: 0 to 2^29, and others count as the nearest of these. Masks and slopes
    then compare positions, so that queries may be far behind all keys, or in front of them; lengths and bias count
    queries and keys of the op, as without.

    Masks, each of which hides keys: `causal`, those after the query's position; `sliding` n, those before the last n,
    the query's own key included, and unless `causal` those after the next n, its own included, as well (ModernBERT,
    arXiv:2412.13663); `prefix` n, which excepts the first n keys from `causal`: all queries see them (a prefix language
    model, arXiv:1910.10683); `lengths` [batch], the keys of a sample from its length on, its padding; `documents`
    [batch, keys], those of other documents than the query's: a number for each key, which never falls along a sample
    (arXiv:2404.10830). A query that sees no key gives zeros. The score matrix is never stored, and blocks of it that no
    query sees are skipped.

    Scores: `soft_cap` c makes c tanh(s / c) of scaled scores s (Gemma 2, arXiv:2408.00118). Then `bias` is added, whose
    dims may be 1 (T5's relative positions, or any other mask: -1e30 and less hides a key), and `slopes`, one of each
    head, take off slope times distance of the positions (ALiBi, arXiv:2108.12409). Slopes have no gradient. `sinks` are
    a learned score of each head, which is a term of the softmax's denominator, and so of `lse`, and has no value
    (GPT-OSS, arXiv:2508.10925). It is neither scaled nor capped, and every query sees it; `lse` of a query that sees no
    key is its sink.

    `dropout` above 0 zeroes weights by Philox numbers keyed by seed, step, stream `id` and the global batch, head,
    query and key, so they do not depend on the plan; step 0, which is evaluation, has no dropout.

    Short form: without `lse`, `scale` (1 / sqrt(head_dim)), stream and key, which `dtc-complete-ops` adds.

    On the mesh batch and kv heads split, and query heads follow their kv head, as sinks, lengths, bias, slopes and
    documents do; keys, head_dim and starts are whole. Context parallelism may split queries, too: `dtc-partition` makes
    two attentions of one that is causal, and refuses others whose scores depend on positions. Flops are 2 per batch,
    head, query, key and head_dim of k and of v, causal or not, as Megatron-LM counts them; `sliding` reduces them by
    the share of hidden keys. What lengths, documents and starts hide is not known before the program runs, so they
    reduce nothing.

    Constraints:
    - (C1) `q` and `k` have 4 dims.
    - (C2) batch and head_dim of `k` are those of `q`.
    - (C3) only the batch is dynamic.
    - (C4) heads are a multiple of kv_heads.
    - (C5) `v` has the dims of `k` but for head_dim.
    - (C6) `lse` is f32 [batch, heads, queries].
    - (C7) q, k, v and the result have the same element type.
    - (C8) `dropout` is from 0 to below 1.
    - (C9) stream and key are given together, or neither is.
    - (C10) causal attention has at least as many keys as queries, or `starts`.
    - (C11) `windows` are about batch, kv heads and their groups, and only with dropout.
    - (C12) the result has the dims of `q` with the head_dim of `v`.
    - (C13) `sliding` is 1 or more.
    - (C14) `soft_cap` is greater than 0.
    - (C15) `sinks` is [heads] in f32.
    - (C16) `lengths` is [batch].
    - (C17) `bias` is f32 [batch, heads, queries, keys], with 1 for dims that share it.
    - (C18) `slopes` is [heads] in f32.
    - (C19) `prefix` is 1 to keys, or 1 and more with `starts`, and only for causal attention that is not sliding.
    - (C20) `documents` is [batch, keys], with as many keys as queries at least and without a `prefix`.
    - (C21) `starts` is [2], and without `documents` and `dropout`, which index keys by where the op has them.

    Example:
    ```mlir
    %o, %lse = graph.attention %q, %k, %v causal scale 0.25 dropout 0.1 id 7 key(%seed, %step)
      : (tensor<?x8x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>, tensor<i64>, tensor<f32>)
      -> (tensor<?x8x4x16xf32>, tensor<?x4x8xf32>)
    %short = graph.attention %q, %k, %v causal dropout 0.1
      : (tensor<?x8x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>) -> tensor<?x8x4x16xf32>
    %sunk = graph.attention %q, %k, %v sinks %sinks causal
      : (tensor<?x8x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>, tensor<4xf32>) -> tensor<?x8x4x16xf32>
    %near = graph.attention %q, %k, %v causal sliding 4 soft_cap 50.0
      : (tensor<?x8x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>) -> tensor<?x8x4x16xf32>
    %around = graph.attention %q, %k, %v sliding 4
      : (tensor<?x8x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>) -> tensor<?x8x4x16xf32>
    %padded = graph.attention %q, %k, %v lengths %lengths bias %bias
      : (tensor<?x8x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>, tensor<?xi32>, tensor<1x4x8x8xf32>)
      -> tensor<?x8x4x16xf32>
    %wide = graph.attention %q, %k, %w slopes %slopes causal prefix 3
      : (tensor<?x8x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x24xf32>, tensor<4xf32>) -> tensor<?x8x4x24xf32>
    %packed = graph.attention %q, %k, %v documents %documents causal
      : (tensor<?x8x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8xi32>) -> tensor<?x8x4x16xf32>
    %late = graph.attention %q, %k, %v starts %starts causal sliding 4
      : (tensor<?x8x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>, tensor<2xi32>) -> tensor<?x8x4x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$q, Graph_FloatTensor:$k, Graph_FloatTensor:$v,
    Optional<Graph_FloatTensor>:$sinks, Optional<Graph_IntTensor>:$lengths, Optional<Graph_FloatTensor>:$bias,
    Optional<Graph_FloatTensor>:$slopes, Optional<Graph_IntTensor>:$documents, Optional<Graph_IntTensor>:$starts,
    Optional<Graph_Seed>:$seed, Optional<Graph_Scalar>:$step, UnitAttr:$causal, OptionalAttr<I64Attr>:$sliding,
    OptionalAttr<I64Attr>:$prefix, OptionalAttr<F64Attr>:$soft_cap, OptionalAttr<F64Attr>:$scale,
    DefaultValuedAttr<F64Attr, "0.0">:$dropout,
    OptionalAttr<I64Attr>:$id, OptionalAttr<ArrayAttr>:$windows);
  let results = (outs Graph_FloatTensor:$result, Optional<Graph_FloatTensor>:$lse);
  let assemblyFormat = [{$q `,` $k `,` $v (`sinks` $sinks^)? (`lengths` $lengths^)? (`bias` $bias^)?
      (`slopes` $slopes^)? (`documents` $documents^)? (`starts` $starts^)? (`causal` $causal^)?
      (`sliding` $sliding^)? (`prefix` $prefix^)? (`soft_cap` $soft_cap^)? (`scale` $scale^)?
      (`dropout` $dropout^)? (`id` $id^ `key` `(` $seed `,` $step `)`)?
    attr-dict `:` functional-type(operands, results)}];
  // Builds attention with causal and sliding masks alone.
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Type":$lse, "::mlir::Value":$q, "::mlir::Value":$k,
      "::mlir::Value":$v, "::mlir::Value":$sinks, "::mlir::Value":$seed, "::mlir::Value":$step,
      "::mlir::UnitAttr":$causal, "::mlir::IntegerAttr":$sliding, "::mlir::FloatAttr":$softCap,
      "::mlir::FloatAttr":$scale, "::mlir::FloatAttr":$dropout, "::mlir::IntegerAttr":$id,
      "::mlir::ArrayAttr":$windows), [{
    ::mlir::Value none;
    build($_builder, $_state, result, lse, q, k, v, sinks, none, none, none, none, none, seed, step, causal, sliding,
          ::mlir::IntegerAttr(), softCap, scale, dropout, id, windows);
  }]>];
  let extraClassDeclaration = [{
    // Returns the name that an operand has in the op's definition. A pass that can't handle every operand names those
    // that it can, so that it refuses an operand that is new.
    ::llvm::StringRef getOperandName(unsigned operand);
  }];
  let hasVerifier = 1;
}

def Graph_CrossEntropyOp : Graph_Op<"cross_entropy", [Pure, Graph_Rule, Graph_Gradient, Graph_ShortForm,
    Graph_IndexButOne, Graph_Decompose]> {
  let summary = "Loss of each token";
  let description = [{
    loss[...] = lse[...] - logits[..., targets[...]], lse = log(sum(exp(logits))) over the last dim. Rows split over the
    mesh; if the vocabulary is split, `dtc-partition` decomposes the op (reduce max, `sum_exp`, `pick`). A gradient
    flows through `loss` only. Rows whose target is the index after `ignoring` have loss 0 and no gradient, as in
    torch.nn.CrossEntropyLoss(ignore_index); `graph.counted` and `graph.weighted_mean` leave them out of the mean.

    Short form: without `lse`, which `dtc-complete-ops` adds. With `mean` the result is the mean over all rows
    (`graph.reduce`), or over those whose target is not ignored (`graph.weighted_mean`).

    Constraints:
    - (C1) `logits` has at least 1 dim.
    - (C2) `targets` has the other dims of `logits`.
    - (C3) `loss` and `lse` have them too, (C4) in f32.
    - (C5) the ignored index is a value of the targets' type.
    - (C6) with `mean` the only result is tensor<f32>.

    Example:
    ```mlir
    %loss, %lse = graph.cross_entropy %logits, %targets ignoring -100 : (tensor<?x8x256xf32>, tensor<?x8xi32>)
      -> (tensor<?x8xf32>, tensor<?x8xf32>)
    %short = graph.cross_entropy %logits, %targets : (tensor<?x8x256xf32>, tensor<?x8xi32>) -> tensor<?x8xf32>
    %mean = graph.cross_entropy %logits, %targets mean : (tensor<?x8x256xf32>, tensor<?x8xi32>) -> tensor<f32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$logits, Graph_IntTensor:$targets, OptionalAttr<I64Attr>:$ignoring,
      UnitAttr:$mean);
  let results = (outs Graph_FloatTensor:$loss, Optional<Graph_FloatTensor>:$lse);
  let assemblyFormat = "$logits `,` $targets (`ignoring` $ignoring^)? "
      "(`mean` $mean^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_CountedOp : Graph_Op<"counted", [Pure, Graph_Rule, Graph_Pointwise, SameOperandsAndResultShape]> {
  let summary = "1 for targets that count, else 0";
  let description = [{
    1 if the target differs from the index after `ignoring`, else 0. Any dim splits over the mesh.

    Constraints:
    - (C1) the result has f32.
    - (C2) the ignored index is a value of the targets' type.

    Example:
    ```mlir
    %counted = graph.counted %targets ignoring -100 : tensor<?x8xi32> to tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Graph_IntTensor:$targets, I64Attr:$ignoring);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$targets `ignoring` $ignoring attr-dict `:` type($targets) `to` type($result)";
  let hasVerifier = 1;
}

def Graph_WeightedMeanOp : Graph_Op<"weighted_mean", [Pure, Graph_Rule, AllTypesMatch<["x", "weights"]>]> {
  let summary = "The weighted mean of all elements";
  let description = [{
    sum(x * weights) / sum(weights) over all elements, 0 if the weights add up to 0. Weights are 0 or more, and their
    sum is that of the whole step, over all its micro-batches and ranks; the result is not a mean of means. So only
    `@loss` may have it, as its result or as a term of it. `dtc-differentiate` turns it into both sums; `@update`
    divides one by the other. It scales the gradients too, unless other terms stand beside the mean: backward does then.

    Constraints:
    - (C1) `x` has f32.

    Example:
    ```mlir
    %mean = graph.weighted_mean %rows, %counted : tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$weights);
  let results = (outs Graph_Scalar:$result);
  let assemblyFormat = "$x `,` $weights attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def Graph_SumExpOp : Graph_Op<"sum_exp", [Pure, Graph_Rule]> {
  let summary = "Sums exp(x - max) over the last dim";
  let description = [{
    The sum of cross_entropy over a split vocabulary: the result is a partial sum, and padded entries (`windows`) count
    as -infinity.

    Constraints:
    - (C1) `x` has at least 1 dim.
    - (C2) `max` has the other dims of `x`.
    - (C3) the result has them too, (C4) in f32.
    - (C5) `windows` are about the last dim.

    Example:
    ```mlir
    %sum = graph.sum_exp %logits, %max : (tensor<4x8x256xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$max, OptionalAttr<ArrayAttr>:$windows);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `,` $max attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_PickOp : Graph_Op<"pick", [Pure, Graph_Rule, Graph_Index]> {
  let summary = "Picks one element of the last dim";
  let description = [{
    result[...] = x[..., targets[...]]. Targets are global; one that is not among this rank's vocabulary entries
    (`windows`) gives 0, so the result is a partial sum if the vocabulary is split.

    Constraints:
    - (C1) `x` has at least 1 dim.
    - (C2) `targets` has the other dims of `x`.
    - (C3) the result has them too, (C4) with the element type of `x`, or f32.
    - (C5) `windows` are about the last dim.

    Example:
    ```mlir
    %hit = graph.pick %logits, %targets : (tensor<4x8x256xf32>, tensor<4x8xi32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_IntTensor:$targets, OptionalAttr<ArrayAttr>:$windows);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `,` $targets attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_SoftmaxOp : Graph_Op<"softmax", [Pure, Graph_Rule, Graph_Gradient, Graph_Decompose,
    SameOperandsAndResultType]> {
  let summary = "Softmax over the last dim";
  let description = [{
    y = exp(x - max(x)) / sum(exp(x - max(x))). Rows split over the mesh; if the last dim is split, the op finishes
    maximum and sum itself.

    Constraints:
    - (C1) `x` has at least 1 dim.

    Example:
    ```mlir
    %y = graph.softmax %x : tensor<?x8x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Graph_DropoutOp : Graph_Op<"dropout", [Pure, AttrSizedOperandSegments, Graph_Rule, Graph_Gradient,
    Graph_IndexedPointwise, Graph_RandomByShape, Graph_ShortForm, AllTypesMatch<["x", "result"]>]> {
  let summary = "Zeroes elements at random";
  let description = [{
    Zeroes each element with probability `p` and scales the others by 1/(1-p). The choice for element e depends on seed,
    step, the stream `id` and e alone, its row-major index in `global_shape` (default: the shape of `x`) with the batch
    counted through all micro-batches of the step. It uses Philox4x32-10 with the seed as key and counter {lo(e), hi(e),
    id, step}, and keeps the element if the first word is at least p * 2^32. Steps count from 1; in step 0, which is
    evaluation, all elements are kept unscaled. On the mesh every dim may split, and `windows` give this rank's part.
    The gradient is the same op on dy. Source: Srivastava et al. 2014; Salmon et al. 2011 for Philox.

    Short form: without stream and key, which `dtc-complete-ops` adds.

    Constraints:
    - (C1) `p` is from 0 to below 1.
    - (C2) `global_shape` has as many dims as `x`, (C3) of 1 or more.
    - (C4) `windows` are about dims of `x`.
    - (C5) only the batch is dynamic.
    - (C6) stream and key are given together, or neither is.

    Example:
    ```mlir
    %y = graph.dropout %x p 0.1 id 3 key(%seed, %step) : tensor<?x8x16xf32>
    %short = graph.dropout %x p 0.1 : tensor<?x8x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Optional<Graph_Seed>:$seed, Optional<Graph_Scalar>:$step, F64Attr:$p,
      OptionalAttr<I64Attr>:$id,
    OptionalAttr<DenseI64ArrayAttr>:$global_shape, OptionalAttr<ArrayAttr>:$windows);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `p` $p (`id` $id^ `key` `(` $seed `,` $step `)`)? attr-dict `:` type($x)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

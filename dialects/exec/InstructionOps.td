// The instructions of a program.
include "dialects/exec/ExecOpBase.td"

def Exec_LaunchOp : Exec_Instruction<"launch", (ins Variadic<Exec_Buffer>:$inputs),
    (ins Variadic<Exec_Buffer>:$outputs), (ins),
    ["getInPlacePairs"], [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs a generated function on work units [0, range)";
  let description = [{
    Constraints:
    - (C1) the kernel is declared in the program.
    - (C2) as many buffers and scalars as the kernel takes.
    - (C3) every buffer has at least the bytes that the kernel requires.
    - (C4) `shares` has for every output a bit mask of the mesh axes along which it is each rank's share of a value that
      all ranks hold: so a sum over ranks can include a whole value. Without `shares` no output is a share.

    Example:
    ```mlir
    exec.kernel @kernel_0 buffers [64, 64] scalars 1
    %x = exec.buffer "x" temporary f32 64 bytes
    %y = exec.buffer "y" temporary f32 64 bytes
    exec.launch @kernel_0(%x) to (%y) range 16 scalars [#exec.rank_scalar<0 + 8 * axis 0>]
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Exec_Buffer>:$inputs, Variadic<Exec_Buffer>:$outputs,
      I64Attr:$range,
    OptionalAttr<Exec_RankScalars>:$scalars, OptionalAttr<DenseI64ArrayAttr>:$shares,
    DefaultValuedAttr<I64Attr, "0">:$stream, UnitAttr:$last);
  let assemblyFormat = [{$kernel `(` $inputs `)` `to` `(` $outputs `)` `range` $range (`scalars` $scalars^)?
      (`shares` $shares^)? (`stream` $stream^)?
    (`last` $last^)? attr-dict}];
  let hasVerifier = 0;
}

def Exec_GemmOp : Exec_Instruction<"gemm",
    (ins Exec_Buffer:$a, Exec_Buffer:$b, Optional<Exec_Buffer>:$addend, Optional<Exec_Buffer>:$bias,
    Optional<Exec_Buffer>:$gelu_of),
    (ins Exec_Buffer:$c, Optional<Exec_Buffer>:$gelu_input),
    (ins UnitAttr:$trans_a, UnitAttr:$trans_b, DenseI64ArrayAttr:$sizes, DenseI64ArrayAttr:$strides,
      DefaultValuedAttr<F32Attr, "1.0f">:$alpha, DefaultValuedAttr<F32Attr, "0.0f">:$beta,
      DefaultValuedAttr<I64Attr, "1">:$batch,
      DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$batch_strides, UnitAttr:$gelu), ["accumulates", "accumulateInto"],
    [AttrSizedOperandSegments]> {
  let summary = "Multiplies row-major matrices: c = alpha * op(a) * op(b) + beta * c";
  let description = [{
    Sums are in f32, and rounded once if c is narrower. `sizes` is [m, n, k]; `strides` are the row strides [lda, ldb,
    ldc] in elements. With `batch` n the matrix product is repeated n times, `batch_strides` [a, b, c] elements apart.
    With `starts_sum` beta counts as 0 in the first run of the task in a step.

    Epilogues are applied to the sums before rounding, by GPUs alone (`dtc-fuse-epilogues`). `plus` adds a matrix with
    the layout of c, `bias` adds a row of n elements to each row. With `gelu` c is GELU of the result, by tanh, and
    `keeps` stores its argument, m rows of n elements. `gelu_grad` multiplies by the derivative of GELU at the stored
    argument.

    Constraints:
    - (C1) three sizes, all positive, three strides, each at least a row.
    - (C2) every buffer holds the elements that the matrix product accesses.
    - (C3) it does not read what it writes, nor write twice to the same bytes.
    - (C4) only an accumulating instruction starts a sum.
    - (C5) a and b have the same type of f32, bf16 and f16, c has the same or f32; all other buffers have the type of c.
    - (C6) an instruction with an epilogue is one matrix product and does not add to c; `keeps` requires `gelu`,
      `gelu_grad` excludes other epilogues.

    Example:
    ```mlir
    %x = exec.buffer "x" temporary f32 1024 bytes
    %w = exec.buffer "w" parameter f32 512 bytes persistent
    %y = exec.buffer "y" temporary f32 2048 bytes
    %b = exec.buffer "b" parameter f32 64 bytes persistent
    %g = exec.buffer "g" temporary f32 2048 bytes
    exec.gemm %x, %w transposed to %y sizes [32, 16, 8] strides [8, 8, 16]
    exec.gemm %x, %w transposed bias %b gelu to %g keeps %y sizes [32, 16, 8] strides [8, 8, 16]
    ```
  }];
  let startsSums = 1;
  let assemblyFormat = [{$a (`transposed` $trans_a^)? `,` $b (`transposed` $trans_b^)? (`plus` $addend^)?
      (`bias` $bias^)? (`gelu` $gelu^)?
    (`gelu_grad` $gelu_of^)? `to` $c (`keeps` $gelu_input^)? `sizes` $sizes `strides` $strides
    (`alpha` $alpha^)? (`beta` $beta^)? (`starts_sum` $starts_sum^)? (`batch` $batch^ `batch_strides` $batch_strides)?
    (`stream` $stream^)? (`last` $last^)? attr-dict}];
  let builders = [OpBuilder<(ins "::mlir::Value":$a, "bool":$transA, "::mlir::Value":$b, "bool":$transB,
      "::mlir::Value":$c,
    "::llvm::ArrayRef<int64_t>":$sizes, CArg<"int64_t", "1">:$batch)>];
  let extraClassDeclaration = bufferDeclarations # [{
    // True if it does more than multiply and add to c.
    bool hasEpilogue() { return getAddend() || getBias() || getGelu() || getGeluOf(); }
  }];
}

defvar attentionFields = (ins I64Attr:$batch, I64Attr:$queries, I64Attr:$keys, I64Attr:$heads, I64Attr:$kv_heads,
    I64Attr:$head_dim, DefaultValuedAttr<I64Attr, "0">:$value_dim, DefaultValuedAttr<I64Attr, "0">:$q_row,
    DefaultValuedAttr<I64Attr, "0">:$k_row,
    DefaultValuedAttr<I64Attr, "0">:$v_row, UnitAttr:$causal,
    DefaultValuedAttr<I64Attr, "0">:$window, DefaultValuedAttr<I64Attr, "0">:$prefix,
    OptionalAttr<DenseI64ArrayAttr>:$bias_sizes, DefaultValuedAttr<F64Attr, "0.0">:$soft_cap, F64Attr:$scale,
    DefaultValuedAttr<F64Attr, "0.0">:$dropout,
    OptionalAttr<Exec_RankScalarAttr>:$dropout_id, OptionalAttr<Exec_RankScalarAttr>:$first_batch,
    OptionalAttr<Exec_RankScalarAttr>:$first_head, DefaultValuedAttr<I64Attr, "0">:$total_heads);

def Exec_AttentionOp : Exec_Instruction<"attention",
    (ins Exec_Buffer:$q, Exec_Buffer:$k, Exec_Buffer:$v, Optional<Exec_Buffer>:$seed, Optional<Exec_Buffer>:$step,
      Optional<Exec_Buffer>:$lengths, Optional<Exec_Buffer>:$bias, Optional<Exec_Buffer>:$slopes,
      Optional<Exec_Buffer>:$documents, Optional<Exec_Buffer>:$sinks, Optional<Exec_Buffer>:$starts),
    (ins Exec_Buffer:$out, Exec_Buffer:$lse), attentionFields, [], [AttrSizedOperandSegments]> {
  let summary = "Blocked attention, forward";
  let description = [{
    q: [batch, queries, heads, head_dim]; k: [batch, keys, kv_heads, head_dim]; v: [batch, keys, kv_heads, value_dim];
    out: [batch, queries, heads, value_dim]; lse: f32 [batch, heads, queries]. value_dim is head_dim where it is not
    given. lengths: i32 [batch]; bias: f32 of `bias_sizes`, each 1 or that of [batch, heads, queries, keys]; slopes: f32
    [heads]; documents: i32 [batch, keys]; sinks: f32 [heads]; starts: i32 [2]. `rows` has the elements from one token
    to the next in q, k and v, so that these may be parts of one tensor; without it tokens are contiguous. These scores,
    `window`, `prefix` and `soft_cap` are those of graph.attention. first_batch and first_head are the global indices of
    this rank's first sample and head, for the random numbers of dropout.

    Constraints:
    - (C1) every buffer has the bytes of its shape, with rows counted from the first element to the last; q, k, v and
      out have one type of f32, bf16 and f16.
    - (C2) heads is a multiple of kv_heads.
    - (C3) seed and step are present exactly if dropout > 0.
    - (C4) rows have at least the elements of a token's heads.
    - (C5) a window and a soft cap are positive.
    - (C6) a prefix is 1 to keys, or 1 and more with starts, and only for causal attention without a window.
    - (C7) bias_sizes are given together with bias, and are four.
    - (C8) with documents there are as many keys as queries at least, and no prefix.
    - (C9) with starts there are no documents and no dropout.

    Example:
    ```mlir
    %q = exec.buffer "q" temporary f32 4096 bytes
    %k = exec.buffer "k" temporary f32 2048 bytes
    %o = exec.buffer "o" temporary f32 4096 bytes
    %lse = exec.buffer "lse" temporary f32 256 bytes
    exec.attention %q, %k, %k to %o, %lse batch 2 queries 8 keys 8 heads 4 kv_heads 2 head_dim 16 causal scale 0.25
    ```
  }];
  let assemblyFormat = [{$q `,` $k `,` $v (`lengths` $lengths^)? (`bias` $bias^ $bias_sizes)? (`slopes` $slopes^)?
      (`documents` $documents^)? (`sinks` $sinks^)? (`starts` $starts^)? `to` $out `,` $lse
    `batch` $batch `queries` $queries `keys` $keys `heads` $heads `kv_heads` $kv_heads
    `head_dim` $head_dim (`value_dim` $value_dim^)? (`rows` $q_row^ `,` $k_row `,` $v_row)? (`causal` $causal^)?
    (`window` $window^)? (`prefix` $prefix^)?
    (`soft_cap` $soft_cap^)? `scale` $scale
    (`dropout` $dropout^ `id` $dropout_id `key` `(` $seed `,` $step `)` `first` `(` $first_batch `,` $first_head `)`
    `of` $total_heads)?
    (`stream` $stream^)? (`last` $last^)? attr-dict}];
}

def Exec_AttentionGradOp : Exec_Instruction<"attention_grad",
    (ins Exec_Buffer:$q, Exec_Buffer:$k, Exec_Buffer:$v, Exec_Buffer:$out, Exec_Buffer:$lse, Exec_Buffer:$dout,
      Optional<Exec_Buffer>:$dlse, Optional<Exec_Buffer>:$seed, Optional<Exec_Buffer>:$step,
      Optional<Exec_Buffer>:$lengths, Optional<Exec_Buffer>:$bias, Optional<Exec_Buffer>:$slopes,
      Optional<Exec_Buffer>:$documents, Optional<Exec_Buffer>:$starts),
    (ins Exec_Buffer:$dq, Exec_Buffer:$dk, Exec_Buffer:$dv, Exec_Buffer:$scratch, Optional<Exec_Buffer>:$dbias),
    !con(attentionFields, (ins DefaultValuedAttr<I64Attr, "0">:$dq_row, DefaultValuedAttr<I64Attr, "0">:$dk_row,
      DefaultValuedAttr<I64Attr, "0">:$dv_row)), [],
    [AttrSizedOperandSegments]> {
  let summary = "Blocked attention, backward";
  let description = [{
    Operands are those of exec.attention but sinks, which lse has; out and lse are read. scratch is f32 [batch, heads,
    queries]. `grad_rows` has the elements from one token to the next in dq, dk and dv, which may be parts of one tensor
    too. dlse is the gradient of lse, if it has one; dbias, that of bias, is written if it is given.

    Constraints: those of exec.attention, and
    - (C1) dbias is given only with bias.

    Example:
    ```mlir
    %q = exec.buffer "q" temporary f32 4096 bytes
    %k = exec.buffer "k" temporary f32 2048 bytes
    %o = exec.buffer "o" temporary f32 4096 bytes
    %lse = exec.buffer "lse" temporary f32 256 bytes
    %dq = exec.buffer "dq" temporary f32 4096 bytes
    %dk = exec.buffer "dk" temporary f32 2048 bytes
    %dv = exec.buffer "dv" temporary f32 2048 bytes
    %scratch = exec.buffer "scratch" temporary f32 256 bytes
    exec.attention_grad %q, %k, %k, %o, %lse, %o to %dq, %dk, %dv scratch %scratch
      batch 2 queries 8 keys 8 heads 4 kv_heads 2 head_dim 16 causal scale 0.25
    ```
  }];
  let assemblyFormat = [{$q `,` $k `,` $v `,` $out `,` $lse `,` $dout (`dlse` $dlse^)?
    (`lengths` $lengths^)? (`bias` $bias^ $bias_sizes)? (`slopes` $slopes^)?
    (`documents` $documents^)? (`starts` $starts^)? `to` $dq `,` $dk `,` $dv (`dbias` $dbias^)? `scratch` $scratch
    `batch` $batch `queries` $queries `keys` $keys `heads` $heads `kv_heads` $kv_heads
    `head_dim` $head_dim (`value_dim` $value_dim^)? (`rows` $q_row^ `,` $k_row `,` $v_row)?
    (`grad_rows` $dq_row^ `,` $dk_row `,` $dv_row)? (`causal` $causal^)? (`window` $window^)? (`prefix` $prefix^)?
    (`soft_cap` $soft_cap^)? `scale` $scale
    (`dropout` $dropout^ `id` $dropout_id `key` `(` $seed `,` $step `)` `first` `(` $first_batch `,` $first_head `)`
    `of` $total_heads)?
    (`stream` $stream^)? (`last` $last^)? attr-dict}];
}

defvar rowFields = (ins I64Attr:$rows, I64Attr:$columns, I64Attr:$tokens, Exec_RankScalarAttr:$first_row);

def Exec_EmbeddingOp : Exec_Instruction<"embedding", (ins Exec_Buffer:$table, Exec_Buffer:$ids),
    (ins Exec_Buffer:$out), rowFields> {
  let summary = "Looks up rows: out[t, :] = table[ids[t] - first_row, :], or 0 outside the table";
  let description = [{
    Constraints:
    - (C1) table has rows * columns, ids tokens i32, out tokens * columns; table and out have one type of f32, bf16 and
      f16.

    Example:
    ```mlir
    %table = exec.buffer "wte" parameter f32 4096 bytes persistent
    %ids = exec.buffer "tokens" input i32 32 bytes
    %out = exec.buffer "x" temporary f32 512 bytes
    exec.embedding %table, %ids to %out rows 64 columns 16 tokens 8 first_row <0 + 64 * axis 1>
    ```
  }];
  let assemblyFormat = [{$table `,` $ids `to` $out `rows` $rows `columns` $columns `tokens` $tokens
      `first_row` $first_row
    (`stream` $stream^)? (`last` $last^)? attr-dict}];
}

def Exec_EmbeddingGradOp : Exec_Instruction<"embedding_grad", (ins Exec_Buffer:$ids, Exec_Buffer:$dout),
    (ins Exec_Buffer:$grad),
    !con(rowFields, (ins DefaultValuedAttr<I64Attr, "-1">:$padding, UnitAttr:$accumulate))> {
  let summary = "Adds rows: grad[ids[t] - first_row, :] += dout[t, :]";
  let description = [{
    grad is zeroed first unless `accumulate` is set; with `starts_sum` it is also zeroed in the first run of the task in
    a step. Tokens whose id is `padding` are skipped; -1 means no padding.

    Constraints:
    - (C1) grad has rows * columns f32, ids tokens i32, dout tokens * columns of f32, bf16 or f16.
    - (C2) only an accumulating instruction starts a sum.
    - (C3) padding is -1 or an id.

    Example:
    ```mlir
    %ids = exec.buffer "tokens" input i32 32 bytes
    %dout = exec.buffer "dx" temporary f32 512 bytes
    %grad = exec.buffer "grad wte" gradient f32 4096 bytes
    exec.embedding_grad %ids, %dout to %grad rows 64 columns 16 tokens 8 first_row <0 + 64 * axis 1> accumulate
    ```
  }];
  let addsUp = 1;
  let startsSums = 1;
  let assemblyFormat = [{$ids `,` $dout `to` $grad `rows` $rows `columns` $columns `tokens` $tokens
      `first_row` $first_row
    (`padding` $padding^)? (`accumulate` $accumulate^)? (`starts_sum` $starts_sum^)? (`stream` $stream^)?
    (`last` $last^)? attr-dict}];
}

// The sizes of image and kernel, stride, padding and dilation, as in Conv2dShape of dte.fbs, where
// they are checked against the buffers.
defvar conv2dFields = (ins I64Attr:$batch, I64Attr:$channels, I64Attr:$filters, I64Attr:$groups, I64Attr:$height,
    I64Attr:$width,
    I64Attr:$kernel_height, I64Attr:$kernel_width, I64Attr:$stride_height, I64Attr:$stride_width,
    I64Attr:$padding_height,
    I64Attr:$padding_width, I64Attr:$dilation_height, I64Attr:$dilation_width);
defvar conv2dFormat = [{ `batch` $batch `channels` $channels `filters` $filters `groups` $groups `image` $height $width
    `kernel` $kernel_height $kernel_width `stride` $stride_height $stride_width `padding` $padding_height $padding_width
    `dilation` $dilation_height $dilation_width}];

def Exec_Conv2dOp : Exec_Instruction<"conv2d", (ins Exec_Buffer:$x, Exec_Buffer:$weight), (ins Exec_Buffer:$y),
    conv2dFields> {
  let summary = "Convolves images";
  let description = [{
    y[batch, filters, ...] = x[batch, channels, height, width] * weight[filters, channels / groups, kernel], as
    graph.conv2d.

    Example:
    ```mlir
    %x = exec.buffer "x" temporary f32 1024 bytes
    %w = exec.buffer "w" parameter f32 576 bytes persistent
    %y = exec.buffer "y" temporary f32 2048 bytes
    exec.conv2d %x, %w to %y batch 2 channels 2 filters 8 groups 1 image 8 8 kernel 3 3 stride 1 1 padding 0 0
      dilation 1 1
    ```
  }];
  let assemblyFormat = !strconcat("$x `,` $weight `to` $y", conv2dFormat, "(`stream` $stream^)? attr-dict");
  let hasVerifier = 0;
}

def Exec_Conv2dInputGradOp :
    Exec_Instruction<"conv2d_input_grad", (ins Exec_Buffer:$dy, Exec_Buffer:$weight), (ins Exec_Buffer:$dx),
    conv2dFields> {
  let summary = "Gradient of exec.conv2d with respect to x";
  let description = [{
    Buffers and sizes are those of exec.conv2d.

    Example:
    ```mlir
    %dy = exec.buffer "dy" temporary f32 2304 bytes
    %w = exec.buffer "w" parameter f32 576 bytes persistent
    %dx = exec.buffer "dx" temporary f32 1024 bytes
    exec.conv2d_input_grad %dy, %w to %dx batch 2 channels 2 filters 8 groups 1 image 8 8 kernel 3 3
      stride 1 1 padding 0 0 dilation 1 1
    ```
  }];
  let assemblyFormat = !strconcat("$dy `,` $weight `to` $dx", conv2dFormat, "(`stream` $stream^)? attr-dict");
  let hasVerifier = 0;
}

def Exec_Conv2dWeightGradOp : Exec_Instruction<"conv2d_weight_grad", (ins Exec_Buffer:$x, Exec_Buffer:$dy),
    (ins Exec_Buffer:$dweight, Exec_Buffer:$scratch), !con(conv2dFields, (ins I64Attr:$pieces, UnitAttr:$accumulate))> {
  let summary = "Gradient of exec.conv2d with respect to its weight";
  let description = [{
    Buffers and sizes are those of exec.conv2d. The batch is summed in `pieces`, each in its part of scratch, f32
    [pieces, size of the weight]. dweight is zeroed first unless `accumulate` is set.

    Example:
    ```mlir
    %x = exec.buffer "x" temporary f32 1024 bytes
    %dy = exec.buffer "dy" temporary f32 2304 bytes
    %dw = exec.buffer "dw" gradient f32 576 bytes
    %scratch = exec.buffer "scratch" temporary f32 1152 bytes
    exec.conv2d_weight_grad %x, %dy to %dw scratch %scratch batch 2 channels 2 filters 8 groups 1 image 8 8 kernel 3 3
      stride 1 1 padding 0 0 dilation 1 1 pieces 2 accumulate
    ```
  }];
  let assemblyFormat = !strconcat("$x `,` $dy `to` $dweight `scratch` $scratch", conv2dFormat,
    " `pieces` $pieces (`accumulate` $accumulate^)? (`stream` $stream^)? attr-dict");
  let addsUp = 1;
  let hasVerifier = 0;
}

// The fields of Pool2dShape of dte.fbs.
defvar pool2dFields = (ins I64Attr:$batch, I64Attr:$channels, I64Attr:$height, I64Attr:$width, I64Attr:$kernel_height,
    I64Attr:$kernel_width, I64Attr:$stride_height, I64Attr:$stride_width, I64Attr:$padding_height,
    I64Attr:$padding_width,
    UnitAttr:$max);
defvar pool2dFormat = [{ (`max` $max^)? `batch` $batch `channels` $channels `image` $height $width
    `kernel` $kernel_height $kernel_width
    `stride` $stride_height $stride_width `padding` $padding_height $padding_width (`stream` $stream^)? attr-dict}];

def Exec_Pool2dOp : Exec_Instruction<"pool2d", (ins Exec_Buffer:$x), (ins Exec_Buffer:$y), pool2dFields> {
  let summary = "Takes the mean or the maximum of windows of images";
  let description = [{
    Computes graph.avg_pool2d, or with `max` graph.max_pool2d, of x[batch, channels, height, width].

    Example:
    ```mlir
    %x = exec.buffer "x" temporary f32 1024 bytes
    %y = exec.buffer "y" temporary f32 256 bytes
    exec.pool2d %x to %y max batch 2 channels 2 image 8 8 kernel 2 2 stride 2 2 padding 0 0
    ```
  }];
  let assemblyFormat = !strconcat("$x `to` $y", pool2dFormat);
  let hasVerifier = 0;
}

def Exec_Pool2dGradOp : Exec_Instruction<"pool2d_grad", (ins Optional<Exec_Buffer>:$x, Exec_Buffer:$dy),
    (ins Exec_Buffer:$dx),
    pool2dFields> {
  let summary = "Gradient of exec.pool2d";
  let description = [{
    Sizes are those of exec.pool2d. The gradient of a maximum finds the largest pixels in x again; a mean does not read
    x.

    Example:
    ```mlir
    %x = exec.buffer "x" temporary f32 1024 bytes
    %dy = exec.buffer "dy" temporary f32 256 bytes
    %dx = exec.buffer "dx" temporary f32 1024 bytes
    exec.pool2d_grad %dy of %x to %dx max batch 2 channels 2 image 8 8 kernel 2 2 stride 2 2 padding 0 0
    exec.pool2d_grad %dy to %dx batch 2 channels 2 image 8 8 kernel 2 2 stride 2 2 padding 0 0
    ```
  }];
  let assemblyFormat = !strconcat("$dy (`of` $x^)? `to` $dx", pool2dFormat);
  let hasVerifier = 0;
}

def Exec_CopyOp : Exec_Instruction<"copy", (ins Exec_Buffer:$src), (ins Exec_Buffer:$dst),
    (ins DenseI64ArrayAttr:$sizes, DenseI64ArrayAttr:$src_strides, Exec_RankScalarAttr:$src_offset,
    DenseI64ArrayAttr:$dst_strides,
      Exec_RankScalarAttr:$dst_offset, UnitAttr:$accumulate), ["getWrittenRange"]> {
  let summary = "Copies, or adds, a box of elements";
  let description = [{
    dst[dst_offset + sum of i * dst_strides] = (or +=) src[src_offset + sum of i * src_strides] for all indices i of a
    box of `sizes`; strides and offsets are in elements of the buffers' type. With `starts_sum` the first run of the
    task in a step copies and later ones add. The two buffers may be in two memories, unless the instruction adds.

    Constraints:
    - (C1) as many strides as sizes, all sizes positive.
    - (C2) both buffers have the same element type; f32 to accumulate.
    - (C3) the box stays within both buffers on every rank.
    - (C4) only an accumulating instruction starts a sum.

    Example:
    ```mlir
    %qkv = exec.buffer "qkv" temporary f32 6144 bytes
    %k = exec.buffer "k" temporary f32 2048 bytes
    exec.copy %qkv to %k sizes [32, 16] from [48, 1] at <16> into [16, 1] at <0>
    ```
  }];
  let startsSums = 1;
  let assemblyFormat = [{$src `to` $dst `sizes` $sizes `from` $src_strides `at` $src_offset `into` $dst_strides
      `at` $dst_offset
    (`accumulate` $accumulate^)? (`starts_sum` $starts_sum^)? (`stream` $stream^)? (`last` $last^)? attr-dict}];
  // Copies all of one buffer to another of the same size.
  let builders = [OpBuilder<(ins "::mlir::Value":$src, "::mlir::Value":$dst, CArg<"bool", "false">:$accumulate,
    CArg<"bool", "false">:$startsSum)>];
  let extraClassDeclaration = bufferDeclarations # [{
    // True if all of src goes to all of dst, in order.
    bool isWhole();
  }];
}

def Exec_ZeroOp : Exec_Instruction<"zero", (ins), (ins Exec_Buffer:$dst), (ins)> {
  let summary = "Writes zeros to all of a buffer";
  let description = [{
    Example:
    ```mlir
    %grad = exec.buffer "grad" gradient f32 64 bytes
    exec.zero %grad
    ```
  }];
  let assemblyFormat = "$dst (`stream` $stream^)? (`last` $last^)? attr-dict";
  let hasVerifier = 0;
}

def Exec_CollectiveOp : Exec_Instruction<"collective", (ins Exec_Buffer:$src), (ins Exec_Buffer:$dst), (ins),
    ["getInPlacePairs"]> {
  let summary = "Moves data between the ranks of a list";
  let description = [{
    n ranks take part: those that differ only on mesh axes `axes`, in order of coordinate, first axis outermost; or with
    `over` those of a list that the rank is in, in its order. `role` names the kind of data; with `async` compute may
    continue beside it, on another stream.
    - all_reduce: src and dst have `count` elements and may be one buffer.
    - all_gather: src has `count`, dst n * count.
    - reduce_scatter: src has n * count, dst count.
    - all_to_all: both have n * count.

    Constraints:
    - (C1) axes are on the mesh, ascending and distinct.
    - (C2) src and dst have the element type and the bytes that kind and count require.
    - (C3) src and dst do not overlap, except that all_reduce may use one buffer.
    - (C4) a collective that is not on stream 0 is `async`.
    - (C5) it is over axes or over lists, not both.

    Example:
    ```mlir
    %g = exec.buffer "grad" gradient f32 4096 bytes
    exec.collective all_reduce sum %g to %g axes [0] count 1024 "grad wte" gradient async
    exec.collective all_reduce sum %g to %g over <"ends", 1, [0]> count 1024 "grad wte" gradient
    ```
  }];
  let arguments = (ins Exec_CollectiveKindAttr:$kind, Exec_ReduceKindAttr:$reduce, Exec_Buffer:$src, Exec_Buffer:$dst,
    DenseI64ArrayAttr:$axes, I64Attr:$count, StrAttr:$name, Exec_CollectiveRoleAttr:$role, UnitAttr:$async,
    OptionalAttr<Exec_RanksAttr>:$over, DefaultValuedAttr<I64Attr, "0">:$stream, UnitAttr:$last);
  let assemblyFormat = [{$kind $reduce $src `to` $dst custom<Members>($axes, $over) `count` $count $name $role
    (`async` $async^)? (`stream` $stream^)? (`last` $last^)? attr-dict}];
}

class Exec_Transfer<string mnemonic, string what, dag reads, dag writes> : Exec_Instruction<mnemonic, reads, writes,
    (ins Exec_RanksAttr:$over, I64Attr:$shift, StrAttr:$name, Exec_CollectiveRoleAttr:$role)> {
  let summary = what;
  let description = [{
    The other rank is `shift` positions after this one in its list of `over`, cyclically: in a list 0, 1, 2 rank 2 with
    shift 1 sends to rank 0, which receives with shift 2. The k-th send of a rank to another matches the k-th receive of
    that rank from it, with as many elements of one type; neither completes before the other has started (`dtc verify`).

    Constraints:
    - (C1) the other rank is another one of the list.

    Example:
    ```mlir
    exec.program @first mesh ["pp"] sizes [2] ranks [0] {
      %y = exec.buffer "y" activation f32 4096 bytes
      exec.task @forward per_micro_batch {
        exec.}] # mnemonic # [{ %y over <"pp", 2, [0, 1]> shift 1 "y" pipeline
      }
    }
    ```
  }];
  let assemblyFormat = [{$buffer `over` $over `shift` $shift $name $role (`stream` $stream^)?
      (`last` $last^)? attr-dict}];
}
def Exec_SendOp : Exec_Transfer<"send", "Sends a buffer to another rank", (ins Exec_Buffer:$buffer), (ins)>;
def Exec_ReceiveOp : Exec_Transfer<"receive", "Receives a buffer from another rank", (ins), (ins Exec_Buffer:$buffer)>;

class Exec_EventOp<string mnemonic, string what> : Exec_Instruction<mnemonic, (ins), (ins), (ins)> {
  let summary = what;
  let description = [{
    In an exec.repeat the event of each layer is `layer_stride` after that of the previous one. With `slots` n, a run
    for micro-batch m uses the event m mod n further.

    Constraints:
    - (C1) the event is one of the program's, in all layers and slots.
    - (C2) there is at least one slot, and only one if the task is not per micro-batch.

    Example:
    ```mlir
    exec.}] # mnemonic # [{ 0 stream 1
    ```
  }];
  let arguments = (ins I64Attr:$event, DefaultValuedAttr<I64Attr, "0">:$layer_stride,
      DefaultValuedAttr<I64Attr, "0">:$stream,
    UnitAttr:$last, DefaultValuedAttr<I64Attr, "1">:$slots);
  let assemblyFormat = "$event (`+` $layer_stride^ `*` `layer`)? (`slots` $slots^)? (`stream` $stream^)? "
      "(`last` $last^)? attr-dict";
}
def Exec_RecordOp : Exec_EventOp<"record", "Marks a point of its stream">;
def Exec_WaitOp : Exec_EventOp<"wait", "Makes its stream wait until the point was passed">;
